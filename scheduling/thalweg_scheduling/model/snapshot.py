"""Everything that a decision may look at."""

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from thalweg_scheduling.model.arrays import (
    Bools,
    Floats,
    Ints,
    frozen_bools,
    frozen_floats,
    frozen_ints,
)
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.graph import Edge, Task, Vertex, task_names, tasks_of
from thalweg_scheduling.model.limits import Limits
from thalweg_scheduling.model.matrices import DependencyMatrix, NodeLatency, TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import EdgeWeights

UNPLACED = -1


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One topology and the cluster as it may use it.

    Positions are the names of things inside: task t is `tasks[t]`, node n is `nodes[n]`.
    Ties are broken by position, never by the order of a dict or set.
    """

    topology: str
    vertices: tuple[Vertex, ...]
    edges: tuple[Edge, ...]
    nodes: tuple[str, ...]
    domains: tuple[str, ...]
    domain_of: Ints
    """Shape (nodes,): the position of each node's domain in `domains`."""
    resources: tuple[str, ...]
    demand: Floats
    """Shape (tasks, resources): what each task requests."""
    capacity: Floats
    """Shape (nodes, resources): what this topology may use in all, its present tasks included."""
    eligible: Bools
    """Shape (tasks, nodes): whether taints, selectors, volumes and cordons allow it."""
    placement: Ints
    """Shape (tasks,): the present node of each task, or UNPLACED."""
    process: Ints | None = None
    """Shape (tasks,): the present process of each task; absent where each task has its own."""
    traffic: DependencyMatrix | None = None
    loads: TaskLoad | None = None
    latency: NodeLatency = field(default_factory=NodeLatency)
    limits: Limits = field(default_factory=Limits)
    weights: tuple[EdgeWeights, ...] = ()
    """The present shares of the edges that have weights; an edge that is not here shares evenly."""
    last_scaled_at_s: float | None = None
    last_moved_at_s: float | None = None
    memory: Memory | None = None
    """What the last decision handed over; absent after a restart."""

    def __post_init__(self) -> None:
        for name, freeze in _ARRAYS:
            object.__setattr__(self, name, freeze(getattr(self, name)))
        if self.process is not None:
            object.__setattr__(self, "process", frozen_ints(self.process))
        self._check_shapes()
        self._check_positions()
        self._check_names()

    @cached_property
    def tasks(self) -> tuple[Task, ...]:
        """All tasks, vertex by vertex."""
        return tasks_of(self.vertices)

    @cached_property
    def task_names(self) -> tuple[str, ...]:
        """The names alone, which is all that most need of ten thousand tasks."""
        return tuple(
            name for vertex in self.vertices for name in task_names(vertex.name, vertex.replicas)
        )

    @cached_property
    def vertex_of(self) -> Ints:
        """Shape (tasks,): the vertex of each task."""
        replicas = [vertex.replicas for vertex in self.vertices]
        return frozen_ints(np.repeat(np.arange(len(self.vertices)), replicas))

    @cached_property
    def node_cost_s(self) -> Floats:
        """Shape (nodes, nodes): one-way seconds between tasks in two processes on these nodes."""
        return frozen_floats(self.latency.filled_s(self.domain_of))

    @cached_property
    def remembered(self) -> dict[str, object]:
        """What others have worked out from this snapshot, which never changes; for them alone."""
        return {}

    @property
    def unplaced(self) -> Ints:
        """The tasks that have no node."""
        return np.flatnonzero(self.placement == UNPLACED)

    def _check_shapes(self) -> None:
        tasks = sum(vertex.replicas for vertex in self.vertices)
        nodes, resources = len(self.nodes), len(self.resources)
        wanted = {
            "domain_of": (nodes,),
            "demand": (tasks, resources),
            "capacity": (nodes, resources),
            "eligible": (tasks, nodes),
            "placement": (tasks,),
        }
        for name, shape in wanted.items():
            if getattr(self, name).shape != shape:
                actual = getattr(self, name).shape
                raise InvalidSnapshot(f"{name} has shape {actual}, expected {shape}")
        if self.process is not None and self.process.shape != (tasks,):
            raise InvalidSnapshot(f"process has shape {self.process.shape}, expected {(tasks,)}")
        if self.traffic is not None and self.traffic.tasks != tasks:
            raise InvalidSnapshot(f"traffic is about {self.traffic.tasks} tasks, not {tasks}")
        if self.loads is not None and len(self.loads.cpu_cores) != tasks:
            raise InvalidSnapshot(f"loads are about {len(self.loads.cpu_cores)} tasks, not {tasks}")
        pairs = self.latency.pairs_s
        if pairs is not None and pairs.shape != (nodes, nodes):
            raise InvalidSnapshot(f"latency has shape {pairs.shape}, expected {(nodes, nodes)}")

    def _check_positions(self) -> None:
        for name, values, length in (
            ("domain_of", self.domain_of, len(self.domains)),
            ("placement", self.placement, len(self.nodes)),
        ):
            least = UNPLACED if name == "placement" else 0
            if values.size and (values.min() < least or values.max() >= length):
                raise InvalidSnapshot(f"{name} points outside of 0..{length - 1}")
        for edge in self.edges:
            if not (
                0 <= edge.source < len(self.vertices) and 0 <= edge.target < len(self.vertices)
            ):
                raise InvalidSnapshot(f"an edge names vertex {edge.source} or {edge.target}")
        if not np.all(np.isfinite(self.demand)) or np.any(self.demand < 0):
            raise InvalidSnapshot("demand must be known and at least 0")
        if not np.all(np.isfinite(self.capacity)):
            raise InvalidSnapshot(
                "capacity must be known: leave out nodes of which nothing is known"
            )

    def _check_names(self) -> None:
        for words in (self.nodes, self.domains, tuple(vertex.name for vertex in self.vertices)):
            if len(set(words)) != len(words):
                raise InvalidSnapshot("names of nodes, domains and vertices must be unique")


_ARRAYS = (
    ("domain_of", frozen_ints),
    ("demand", frozen_floats),
    ("capacity", frozen_floats),
    ("eligible", frozen_bools),
    ("placement", frozen_ints),
)
