"""Names and labels of everything that the operator makes; the one place that knows them."""

from collections.abc import Mapping
from dataclasses import dataclass

GROUP = "thalweg.dev"
FIELD_MANAGER = "thalweg"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "thalweg"
TOPOLOGY = f"{GROUP}/topology"
VERTEX = f"{GROUP}/vertex"
TASK = f"{GROUP}/task"
INCARNATION = f"{GROUP}/incarnation"
STATE = f"{GROUP}/state"
TEMPLATE_HASH = f"{GROUP}/template-hash"

ACTIVE = "active"
RETIRING = "retiring"

PLANNED_NODE = f"{GROUP}/planned-node"
RETIRED_AT = f"{GROUP}/retired-at"
ROUTES_VERSION = f"{GROUP}/routes-version"
MEASURED_BEFORE = f"{GROUP}/measured-before"

MANAGED = f"{MANAGED_BY}={MANAGER}"
"""Selects what the operator made."""


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class TaskKey:
    """A task of one topology: the vertex and the number within it."""

    vertex: str
    index: int

    @property
    def name(self) -> str:
        """As metrics and plans spell it."""
        return f"{self.vertex}-{self.index}"


def vertex_object(topology: str, vertex: str) -> str:
    """The StreamVertex and the PodDisruptionBudget of a vertex."""
    return f"{topology}-{vertex}"


def routes_object(topology: str, vertex: str) -> str:
    """The ConfigMap with the routes that a vertex sends by."""
    return f"{topology}-{vertex}-routes"


def last_valid_object(topology: str) -> str:
    """The ConfigMap that holds the last valid spec while the present one is not."""
    return f"{topology}-last-valid"


def pod_name(topology: str, task: TaskKey, incarnation: int) -> str:
    """Deterministic, so that a write that comes late meets the pod that is already there.

    >>> pod_name("word-count", TaskKey(vertex="split", index=0), 3)
    'word-count-split-0-3'
    """
    return f"{topology}-{task.vertex}-{task.index}-{incarnation}"


def common_labels(topology: str) -> dict[str, str]:
    """On everything that belongs to a topology."""
    return {MANAGED_BY: MANAGER, TOPOLOGY: topology}


def active_selector(topology: str, vertex: str) -> dict[str, str]:
    """The pods that count for scale and for the disruption budget: not those that retire."""
    return {TOPOLOGY: topology, VERTEX: vertex, STATE: ACTIVE}


def task_of(labels: Mapping[str, str]) -> TaskKey | None:
    """The task that a pod's labels name; None for labels that somebody has spoilt."""
    vertex, index = labels.get(VERTEX, ""), labels.get(TASK, "")
    if not vertex or not index.isdecimal():
        return None
    return TaskKey(vertex=vertex, index=int(index))


def incarnation_of(labels: Mapping[str, str]) -> int:
    """The pod's incarnation; 0 for labels that somebody has spoilt."""
    text = labels.get(INCARNATION, "")
    return int(text) if text.isdecimal() else 0
