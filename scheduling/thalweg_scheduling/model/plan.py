"""Everything that a decision says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.reasons import Reason, ReasonCode

_EMPTY: Mapping[str, str] = MappingProxyType({})


def _empty_words() -> Mapping[str, str]:
    return _EMPTY


def _empty_counts() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One task leaves a node for another, made before broken."""

    task: str
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A task that fits nowhere, and the resource of which there is too little."""

    task: str
    resource: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeWeights:
    """The share of an edge's stream that each receiving task gets; shares sum to 1."""

    source: str
    target: str
    shares: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Prediction:
    """What the simulator expects of a plan; NaN where it cannot know."""

    latency_s: float
    throughput_per_s: float
    cross_domain_share: float
    busiest_node: float
    """Utilisation of the busiest node, 1 = full."""
    nodes_used: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Where each task runs, what changes, in which order, and why."""

    strategy: str
    assignments: Mapping[str, str]
    """Task to node, for every task that has or gets a node."""
    placed: Mapping[str, str] = field(default_factory=_empty_words)
    """The part of `assignments` that is new: tasks that had no node."""
    processes: Mapping[str, int] = field(default_factory=_empty_counts)
    moves: tuple[Move, ...] = ()
    """In the order in which they are feasible."""
    missing: tuple[Missing, ...] = ()
    replicas: Mapping[str, int] = field(default_factory=_empty_counts)
    """Vertex to tasks, for vertices whose number of tasks should change."""
    weights: tuple[EdgeWeights, ...] = ()
    asleep: tuple[str, ...] = ()
    objective: float = float("nan")
    """J of `assignments`; NaN where traffic is unknown."""
    prediction: Prediction | None = None
    reasons: tuple[Reason, ...] = ()
    memory: Memory | None = None
    """What the next decision should be given."""

    @property
    def changes_nothing(self) -> bool:
        """Whether there is nothing to carry out."""
        return not (
            self.placed
            or self.moves
            or self.replicas
            or self.weights
            or self.asleep
            or self.missing
        )

    @staticmethod
    def nothing(strategy: str, reason: Reason, assignments: Mapping[str, str] = _EMPTY) -> "Plan":
        """Leave everything as it is, and say why."""
        return Plan(strategy=strategy, assignments=assignments, reasons=(reason,))


NOTHING_TO_DO = Reason(code=ReasonCode.NOTHING_TO_DO, message="everything is where it should be")
NOTHING_TO_MOVE = Reason(
    code=ReasonCode.WITHIN_TOLERANCE, message="every task is where it would be placed now"
)
