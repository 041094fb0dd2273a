"""From what the rates ask for to what is done now: bounds, steps, delays, doubts."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.limits import ScalingLimits
from thalweg_scheduling.model.memory import Lull, Raise
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot

# A raise that brought less than this share of what it promised did not help.
LEAST_EFFECT = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """The number of tasks that a vertex gets now, and why not the number that it wants."""

    replicas: int
    limited: ReasonCode | None = None


def bounded(wanted: int, least: int, most: int) -> Step:
    """Keep to the user's bounds."""
    replicas = min(max(wanted, least), most)
    return Step(replicas=replicas, limited=ReasonCode.AT_LIMIT if wanted > most else None)


def one_step(present: int, wanted: int, limits: ScalingLimits) -> Step:
    """Keep to what one decision may change."""
    highest = max(present + 1, int(np.floor(present * limits.max_step_up)))
    lowest = present - max(1, int(np.floor(present * limits.max_down_share)))
    replicas = min(max(wanted, lowest), highest)
    return Step(replicas=replicas, limited=ReasonCode.STEP_LIMITED if replicas != wanted else None)


def next_lulls(
    snapshot: Snapshot, wanted: Mapping[str, int], lulls: Mapping[str, Lull], now_s: float
) -> Mapping[str, Lull]:
    """Begin, carry on or end the lull of each vertex; what is unknown ends it."""
    carried = {}
    for vertex in snapshot.vertices:
        number = wanted.get(vertex.name, vertex.replicas)
        if number >= vertex.replicas:
            continue
        lull = lulls.get(vertex.name, Lull(since_s=now_s, most_wanted=number))
        if lull.most_wanted >= vertex.replicas:
            lull = Lull(since_s=now_s, most_wanted=number)
        carried[vertex.name] = Lull(since_s=lull.since_s, most_wanted=max(lull.most_wanted, number))
    return MappingProxyType(carried)


def lull_is_over(lull: Lull, *, after_s: float, now_s: float) -> bool:
    """Whether it lasted long enough to believe in it."""
    return now_s - lull.since_s >= after_s


def is_ineffective(
    earlier: Raise | None, *, replicas: int, capacity_per_s: float, now_s: float, forget_s: float
) -> bool:
    """Whether the last raise brought next to nothing, so that another would not help either."""
    if earlier is None or replicas != earlier.to_replicas or now_s - earlier.at_s > forget_s:
        return False
    promised = earlier.capacity_per_s * (earlier.to_replicas / earlier.from_replicas - 1)
    return capacity_per_s - earlier.capacity_per_s < LEAST_EFFECT * promised


def is_struggling(
    processed_per_s: Floats, growth_per_s: Floats, queue_tuples: Floats, held_up: Floats
) -> Bools:
    """Whether queues grow or someone is held up: no time to take tasks away.

    A queue of less than a second's work is no queue: it rises and falls by chance.
    """
    is_queue = ~(queue_tuples < processed_per_s)
    grows = is_queue & (growth_per_s > 0.05 * processed_per_s)
    return grows | (held_up > 0.05)


def cooling_down(snapshot: Snapshot, now_s: float) -> Reason | None:
    """Why nothing is done so soon after the last change."""
    if snapshot.last_scaled_at_s is None:
        return None
    left_s = snapshot.limits.scaling.cool_down_s - (now_s - snapshot.last_scaled_at_s)
    if left_s <= 0:
        return None
    return Reason(
        code=ReasonCode.COOLING_DOWN, message=f"scaled a moment ago; {left_s:.0f} s to wait"
    )
