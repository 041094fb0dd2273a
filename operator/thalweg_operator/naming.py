"""Names and labels of everything that the operator makes; the one place that knows them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

GROUP = "thalweg.dev"
FIELD_MANAGER = "thalweg"

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "thalweg"
TOPOLOGY = f"{GROUP}/topology"
VERTEX = f"{GROUP}/vertex"
TASK = f"{GROUP}/task"
PROCESS = f"{GROUP}/process"
HOSTS = f"{GROUP}/hosts-"
"""With a vertex's name behind it: on shared pods, how many of its tasks they run."""
INCARNATION = f"{GROUP}/incarnation"
STATE = f"{GROUP}/state"
TEMPLATE_HASH = f"{GROUP}/template-hash"

ACTIVE = "active"
RETIRING = "retiring"

PLANNED_NODE = f"{GROUP}/planned-node"
RETIRED_AT = f"{GROUP}/retired-at"
RETIRED_ROUTES = f"{GROUP}/retired-routes"
"""For each vertex that sends to a retiring pod, the last version of its routes that named it."""
ROUTES_VERSION = f"{GROUP}/routes-version"
TASKS = f"{GROUP}/tasks"
"""The tasks of a shared pod; a list like this is too long for a label."""
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

    @property
    def tasks(self) -> tuple["TaskKey", ...]:
        """What runs in the pod of a task that shares it with nobody."""
        return (self,)


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Process:
    """Tasks that share a pod. Its number stays the same over all its incarnations."""

    index: int
    tasks: tuple[TaskKey, ...]

    @property
    def name(self) -> str:
        """As pods and events spell it; no task is called so."""
        return f"p{self.index}"


Unit = TaskKey | Process
"""What a pod is made for: one task, or a process that several share."""


def vertex_object(topology: str, vertex: str) -> str:
    """The StreamVertex and the PodDisruptionBudget of a vertex."""
    return f"{topology}-{vertex}"


def routes_object(topology: str, vertex: str) -> str:
    """The ConfigMap with the routes that a vertex sends by."""
    return f"{topology}-{vertex}-routes"


def processes_object(topology: str) -> str:
    """The PodDisruptionBudget of a topology whose tasks share pods."""
    return f"{topology}-processes"


def last_valid_object(topology: str) -> str:
    """The ConfigMap that holds the last valid spec while the present one is not."""
    return f"{topology}-last-valid"


def pod_name(topology: str, unit: Unit, incarnation: int) -> str:
    """Deterministic, so that a write that comes late meets the pod that is already there.

    >>> pod_name("word-count", TaskKey(vertex="split", index=0), 3)
    'word-count-split-0-3'
    >>> pod_name("word-count", Process(index=2, tasks=()), 3)
    'word-count-p2-3'
    """
    return f"{topology}-{unit.name}-{incarnation}"


def common_labels(topology: str) -> dict[str, str]:
    """On everything that belongs to a topology."""
    return {MANAGED_BY: MANAGER, TOPOLOGY: topology}


def active_selector(topology: str, vertex: str) -> dict[str, str]:
    """The pods that count for scale and for the disruption budget: not those that retire."""
    return {TOPOLOGY: topology, VERTEX: vertex, STATE: ACTIVE}


def hosting_selector(topology: str, vertex: str) -> str:
    """The shared pods that run tasks of a vertex, for the scale subresource."""
    active = {TOPOLOGY: topology, STATE: ACTIVE}
    words = [f"{key}={value}" for key, value in active.items()]
    return ",".join(sorted((*words, f"{HOSTS}{vertex}")))


def task_of(labels: Mapping[str, str]) -> TaskKey | None:
    """The task that a pod's labels name; None for labels that somebody has spoilt."""
    vertex, index = labels.get(VERTEX, ""), labels.get(TASK, "")
    if not vertex or not index.isdecimal():
        return None
    return TaskKey(vertex=vertex, index=int(index))


def process_index_of(labels: Mapping[str, str]) -> int | None:
    """The number of the process that a shared pod is; None for any other pod."""
    index = labels.get(PROCESS, "")
    return int(index) if index.isdecimal() else None


def tasks_of(labels: Mapping[str, str], annotations: Mapping[str, str]) -> tuple[TaskKey, ...]:
    """The tasks that a pod runs: one by its labels, or those of a shared process."""
    if process_index_of(labels) is None:
        task = task_of(labels)
        return () if task is None else (task,)
    return tasks_named(annotations.get(TASKS, "").split(","))


def tasks_named(names: Iterable[str]) -> tuple[TaskKey, ...]:
    """The tasks of these names; what is no such name is left out."""
    parted = (name.rpartition("-") for name in names)
    return tuple(
        TaskKey(vertex=vertex, index=int(index))
        for vertex, _, index in parted
        if vertex and index.isdecimal()
    )


def unit_name_of(labels: Mapping[str, str]) -> str | None:
    """The task or the process that a pod is an incarnation of."""
    index = process_index_of(labels)
    if index is not None:
        return Process(index=index, tasks=()).name
    task = task_of(labels)
    return None if task is None else task.name


def incarnation_of(labels: Mapping[str, str]) -> int:
    """The pod's incarnation; 0 for labels that somebody has spoilt."""
    text = labels.get(INCARNATION, "")
    return int(text) if text.isdecimal() else 0
