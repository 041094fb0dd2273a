"""The cluster as the simulation needs it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from thalweg_scheduling.model.graph import GroupingType, task_name


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFact:
    """A node, its labels and the cores that pods may use."""

    name: str
    labels: Mapping[str, str]
    cores: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFact:
    """A pod that does a task's work."""

    name: str
    uid: str
    vertex: str
    index: int
    incarnation: int
    node: str

    @property
    def task(self) -> str:
        """The task's name in metrics and plans."""
        return task_name(self.vertex, self.index)


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """A task that the routes of an edge name."""

    incarnation: int
    weight: float
    key_groups: tuple[tuple[int, int], ...]
    """Ranges of key groups, both ends included."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeFact:
    """An edge and who receives on it."""

    source: str
    target: str
    grouping: GroupingType
    receivers: Mapping[str, Receiver] | None = None
    """By task; None where nobody has written routes, and then every task receives."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyFact:
    """A topology and the pods that serve its tasks, at most one a task."""

    namespace: str
    name: str
    domain_label: str
    vertices: tuple[str, ...]
    edges: tuple[EdgeFact, ...]
    pods: tuple[PodFact, ...]
    traits: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """What annotations declare of each vertex."""
    routes_versions: Mapping[str, int] = field(default_factory=dict)
    """By sending vertex."""

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def sources(self) -> tuple[str, ...]:
        """The vertices that nothing is sent to."""
        targets = {edge.target for edge in self.edges}
        return tuple(vertex for vertex in self.vertices if vertex not in targets)

    @property
    def sinks(self) -> tuple[str, ...]:
        """The vertices that send nothing."""
        senders = {edge.source for edge in self.edges}
        return tuple(vertex for vertex in self.vertices if vertex not in senders)


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """All that was read from the API server at one time."""

    nodes: tuple[NodeFact, ...] = ()
    topologies: tuple[TopologyFact, ...] = ()
