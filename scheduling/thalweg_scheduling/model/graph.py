"""The graph that a user applies: vertices, their tasks, and the edges between them."""

from dataclasses import dataclass
from enum import StrEnum


class GroupingType(StrEnum):
    """How an edge picks the receiving task."""

    SHUFFLE = "Shuffle"
    FIELDS = "Fields"
    PARTIAL_KEY = "PartialKey"
    W_CHOICES = "WChoices"
    WEIGHTED = "Weighted"
    NEAR_SOURCE = "NearSource"
    LOAD_AWARE_LOCAL = "LoadAwareLocal"
    BROADCAST = "Broadcast"
    GLOBAL = "Global"


@dataclass(frozen=True, slots=True, kw_only=True)
class Vertex:
    """One step of a topology, run by `replicas` tasks."""

    name: str
    replicas: int
    min_replicas: int = 1
    max_replicas: int = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """A stream from one vertex to another, by their positions in the snapshot."""

    source: int
    target: int
    grouping: GroupingType = GroupingType.SHUFFLE


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """One replica of a vertex. `index` is its number within the vertex."""

    vertex: int
    index: int
    name: str


def task_name(vertex: str, index: int) -> str:
    """The name by which metrics, files and plans know a task.

    >>> task_name("split", 0)
    'split-0'
    """
    return f"{vertex}-{index}"


def task_names(vertex: str, replicas: int) -> list[str]:
    """The names of all tasks of a vertex.

    >>> task_names("split", 2)
    ['split-0', 'split-1']
    """
    return [f"{vertex}-{index}" for index in range(replicas)]


def tasks_of(vertices: tuple[Vertex, ...]) -> tuple[Task, ...]:
    """All tasks, vertex by vertex in snapshot order."""
    return tuple(
        Task(vertex=position, index=index, name=task_name(vertex.name, index))
        for position, vertex in enumerate(vertices)
        for index in range(vertex.replicas)
    )
