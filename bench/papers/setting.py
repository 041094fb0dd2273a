"""What an experiment of a paper was run on: topology, cluster, and the constants that fit it.

Everything that a paper does not state is a constant here, with a name, so that it can be halved and
doubled. Constants are fitted to the numbers of a paper's baseline only.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.graph import Edge, GroupingType, Vertex
from thalweg_scheduling.model.limits import Limits, Permits, PlacementLimits
from thalweg_scheduling.model.matrices import LatencyClasses, NodeLatency, Observed
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile

NOW_S = 10_000.0
OBSERVED = Observed(at_s=NOW_S, window_s=60.0, samples=12, coverage=1.0)
MIB = 2.0**20
ANY = 1000
"""Tasks in a process where nobody limits them."""
DECLARED = (0.1, 128 * MIB)
"""What Storm takes a task to need that declares nothing."""
DECLARED_NODE = (4.0, 4096 * MIB)
"""What Storm takes a node to have that declares nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A vertex; `cost` is its CPU for a tuple in units of `Constants.cpu_s`."""

    name: str
    tasks: int
    cost: float = 1.0
    most: int = 64
    """Tasks that a scaler may give it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """An edge, by the names of its ends."""

    source: str
    target: str
    grouping: GroupingType = GroupingType.SHUFFLE
    fans_out: bool = False
    """Whether one tuple becomes `Constants.fan_out` of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """One node."""

    cores: float = 2.0
    memory_bytes: float = 2048 * MIB
    domain: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Constants:
    """What no paper states."""

    cpu_s: float
    """CPU seconds for a tuple in a vertex of cost 1, without sending and receiving."""
    fixed_s: float = 0.0
    """The part of the latency that no placement changes: source, acker, timers."""
    transfer: float = 0.9
    """CPU of sending and receiving a tuple over the CPU of processing it, (s + r)/D."""
    same_node_s: float = 0.0010
    same_domain_s: float = 0.0014
    cross_domain_s: float = 0.0014
    fan_out: float = 1.0
    burst: float = 1.0
    """Squared coefficient of variation of the times between arrivals; a source that fetches
    batches of n tuples makes it about n."""
    tuple_bytes: float = 200.0
    process_bytes: float = 200 * MIB
    task_bytes: float = 50 * MIB

    def scaled(self, name: str, factor: float) -> "Constants":
        """The same with one of them multiplied."""
        return replace(self, **{name: factor * getattr(self, name)})


VARIED = (
    "cpu_s",
    "fixed_s",
    "transfer",
    "same_node_s",
    "same_domain_s",
    "cross_domain_s",
    "fan_out",
    "burst",
    "tuple_bytes",
    "process_bytes",
    "task_bytes",
)


def _as_stated() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One topology on one cluster."""

    name: str
    steps: tuple[Step, ...]
    streams: tuple[Stream, ...]
    machines: tuple[Machine, ...]
    constants: Constants
    processes_per_node: int = 2
    tasks_per_process: int = ANY
    bandwidth_bytes_per_s: float = 12.5e6
    """100 Mbps, as in all five papers that say so."""
    replicas: Mapping[str, int] = field(default_factory=_as_stated)
    """Other numbers of tasks than the paper's, by vertex."""

    def tasks_of(self, step: Step) -> int:
        """How many tasks the vertex has now."""
        return self.replicas.get(step.name, step.tasks)

    def with_replicas(self, replicas: Mapping[str, int]) -> "Setting":
        """The same with other numbers of tasks."""
        return replace(self, replicas=MappingProxyType({**self.replicas, **replicas}))

    def with_constants(self, constants: Constants) -> "Setting":
        """The same with other constants."""
        return replace(self, constants=constants)

    @property
    def parameters(self) -> Parameters:
        """For the simulator. A Storm process has threads: it may use all cores of its node."""
        each = self.constants.cpu_s * self.constants.transfer / 2
        return Parameters(
            serialise_s=each,
            deserialise_s=each,
            process_cores=max(machine.cores for machine in self.machines),
            bandwidth_bytes_per_s=self.bandwidth_bytes_per_s,
            arrival_cv2=self.constants.burst,
            # Storm holds a source back by what is pending, not by queues of tasks.
            credit_tuples=1e5,
        )

    def vertex_profiles(self, rate_per_s: float) -> dict[str, VertexProfile]:
        """CPU of every vertex, and the load on the sources."""
        fed = {stream.target for stream in self.streams}
        return {
            step.name: VertexProfile(
                cpu_s=self.constants.cpu_s * step.cost,
                offered_per_s=0.0 if step.name in fed else rate_per_s,
            )
            for step in self.steps
        }

    @property
    def edge_profiles(self) -> dict[tuple[str, str], EdgeProfile]:
        """What flows on every edge."""
        return {
            (stream.source, stream.target): EdgeProfile(
                selectivity=self.constants.fan_out if stream.fans_out else 1.0,
                tuple_bytes=self.constants.tuple_bytes,
            )
            for stream in self.streams
        }

    def snapshot(self) -> Snapshot:
        """The cluster as it is, nothing placed, nothing measured."""
        names = [step.name for step in self.steps]
        tasks = sum(self.tasks_of(step) for step in self.steps)
        return Snapshot(
            topology=self.name.lower(),
            vertices=tuple(
                Vertex(name=step.name, replicas=self.tasks_of(step), max_replicas=step.most)
                for step in self.steps
            ),
            edges=tuple(
                Edge(
                    source=names.index(stream.source),
                    target=names.index(stream.target),
                    grouping=stream.grouping,
                )
                for stream in self.streams
            ),
            nodes=tuple(f"n{place:02}" for place in range(len(self.machines))),
            domains=tuple(f"d{place}" for place in range(self._domains)),
            domain_of=np.array([machine.domain for machine in self.machines]),
            resources=("cpu", "memory", "slots"),
            demand=np.tile([*DECLARED, 1.0], (tasks, 1)),
            capacity=self._capacity(declared=False),
            eligible=np.ones((tasks, len(self.machines)), dtype=np.bool_),
            placement=np.full(tasks, UNPLACED),
            latency=NodeLatency(classes=self._latency, observed=OBSERVED),
            limits=Limits(
                permits=Permits(move=True, scale=True, regroup=True),
                placement=PlacementLimits(shared_processes=True),
            ),
        )

    def as_declared(self) -> Snapshot:
        """What a scheduler sees that is told nothing: Storm's defaults."""
        return replace(self.snapshot(), capacity=self._capacity(declared=True))

    @property
    def _domains(self) -> int:
        return 1 + max(machine.domain for machine in self.machines)

    @property
    def _latency(self) -> LatencyClasses:
        return LatencyClasses(
            same_node_s=self.constants.same_node_s,
            same_domain_s=self.constants.same_domain_s,
            cross_domain_s=self.constants.cross_domain_s,
        )

    def _capacity(self, *, declared: bool) -> Floats:
        slots = float(self.processes_per_node * self.tasks_per_process)
        return np.array(
            [
                [*(DECLARED_NODE if declared else (machine.cores, machine.memory_bytes)), slots]
                for machine in self.machines
            ]
        )
