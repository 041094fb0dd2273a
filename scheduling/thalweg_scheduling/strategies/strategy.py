"""What a strategy is made of: how it places, scales and weighs, and when it leaves things alone."""

from collections.abc import Callable
from dataclasses import dataclass

from thalweg_scheduling.group.weighing import weigh
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import EdgeWeights, Plan
from thalweg_scheduling.model.reasons import Reason
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.proposal import Placer
from thalweg_scheduling.scale import Scaler, decide_replicas

Weigher = Callable[[Snapshot, Ints, Ints | None], tuple[EdgeWeights, ...]]
"""From a snapshot, a node for each task and who shares a process, if anybody does, to the shares
of the edges that have weights."""
Hesitation = Callable[[Snapshot], Reason | None]
"""Why nothing is moved now, for strategies that wait for an occasion; None if it has come."""
Remembering = Callable[[Snapshot, Memory, Plan], Memory]
"""What a strategy adds to the memory that its next decision is given, after such a plan."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    """The parts that `decide` puts together; what a strategy does not say is done our way."""

    place: Placer
    scale: Scaler = decide_replicas
    weigh: Weigher = weigh
    hesitate: Hesitation | None = None
    remember: Remembering | None = None
