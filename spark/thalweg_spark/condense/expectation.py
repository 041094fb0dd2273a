"""What ought to be measured, as the operator says it: the measure of how much was."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg_spark.errors import InvalidInput

Key = tuple[str, str]
"""Namespace and name of a topology."""

_YOUNG_S = 15.0
"""A task younger than this need not have been scraped twice yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedTopology:
    """One topology's tasks by vertex, and its edges."""

    key: Key
    tasks: Mapping[str, tuple[tuple[str, float], ...]]
    """Vertex to (task, since when its pod has been there)."""
    edges: tuple[tuple[str, str], ...]

    def settled(self, at_s: float) -> set[str]:
        """The tasks that have been there long enough to be measured."""
        return {
            task
            for tasks in self.tasks.values()
            for task, since_s in tasks
            if at_s - since_s >= _YOUNG_S
        }

    def senders(self, at_s: float) -> set[tuple[str, str]]:
        """Each settled task with each vertex it should be sending to."""
        settled = self.settled(at_s)
        return {
            (task, target)
            for source, target in self.edges
            for task, _ in self.tasks.get(source, ())
            if task in settled
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """All topologies that are measured by one source, and the nodes."""

    topologies: tuple[ExpectedTopology, ...]
    nodes: frozenset[str]
    pod_nodes: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """(Namespace, pod) to node, of the pods that are there."""
    allocatable: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What each node has for pods: `cpu` in cores, `memory` in bytes."""

    owners: Mapping[tuple[str, str], frozenset[str]] = field(default_factory=dict)
    """(Namespace, pod) to its topologies, of the pods that are there."""


def parse_expectation(document: Any) -> Expectation:  # noqa: ANN401
    """The expectation from its JSON document."""
    try:
        return Expectation(
            topologies=tuple(_topology(one) for one in document["topologies"]),
            nodes=frozenset(str(node) for node in document["nodes"]),
            pod_nodes=_pod_nodes(document["topologies"]),
            owners=_owners(document["topologies"]),
            allocatable={
                str(node): {str(name): float(amount) for name, amount in amounts.items()}
                for node, amounts in document.get("allocatable", {}).items()
            },
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise InvalidInput(f"the expectation cannot be read: {error!r}") from error


def _pod_nodes(topologies: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], str]:
    return {
        (str(one["namespace"]), str(task["pod"])): str(task["node"])
        for one in topologies
        for vertex in one["vertices"]
        for task in vertex["tasks"]
        if task.get("pod") and task.get("node")
    }


def _owners(topologies: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for one in topologies:
        for vertex in one["vertices"]:
            for task in vertex["tasks"]:
                if task.get("pod"):
                    pod = (str(one["namespace"]), str(task["pod"]))
                    found.setdefault(pod, set()).add(str(one["name"]))
    return {pod: frozenset(names) for pod, names in found.items()}


def _topology(one: Mapping[str, Any]) -> ExpectedTopology:
    return ExpectedTopology(
        key=(str(one["namespace"]), str(one["name"])),
        tasks={
            str(vertex["name"]): tuple(
                (str(task["name"]), float(task["since_s"])) for task in vertex["tasks"]
            )
            for vertex in one["vertices"]
        },
        edges=tuple((str(edge["from"]), str(edge["to"])) for edge in one["edges"]),
    )
