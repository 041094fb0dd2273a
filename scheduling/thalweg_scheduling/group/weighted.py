"""Weighted: smooth weighted round robin, and how Sgp-Stream (Algorithm 2) sets the weights.

    Eq 13–16  whose turn it is           Weighted.pick
    Eq 17     time for a tuple, T_u      wait + service, an argument of `updated_weights`
    15–27     halve or add λ             updated_weights

Deviations. The turn is kept as a time for each receiver, the next at (k + ½)/weight, in a heap:
the same shares after every whole cycle as by Eq 13–15, as evenly mixed, in O(log n) instead of
O(n). The first pick is the largest weight. As printed, the algorithm halves the weight of the task
that processes more; here that of the one in which a tuple spends longer. Weights stay within
bounds, and a task within a band around the average keeps its weight: else noise alone would halve
the weights of half of the tasks at every turn.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from math import isfinite

from thalweg_scheduling.group.receivers import Receiver, serving
from thalweg_scheduling.model.errors import InvalidParameters


class Weighted:
    """Every receiver as often as its weight says, as evenly mixed as can be."""

    __slots__ = ("_heap", "_names", "_now", "_steps")

    def __init__(self, receivers: Sequence[Receiver]) -> None:
        """Everybody is half a step away from the first turn."""
        places = serving(receivers)
        total = sum(receivers[place].weight for place in places)
        self._names = [receiver.name for receiver in receivers]
        self._steps = [total / one.weight if one.weight > 0 else 0.0 for one in receivers]
        self._now = 0.0
        self._heap = [(self._steps[place] / 2, place) for place in places]
        heapify(self._heap)

    def pick(self, key: bytes | None = None) -> int:  # noqa: ARG002
        """Return the place of the one whose time has come."""
        due, place = self._heap[0]
        self._now = due
        heapreplace(self._heap, (due + self._steps[place], place))
        return place

    def update(self, receivers: Sequence[Receiver]) -> "Weighted":
        """Keep for everybody the part of the way to the next turn that is still to go."""
        to_go = {
            self._names[place]: (due - self._now) / self._steps[place] for due, place in self._heap
        }
        after = Weighted(receivers)
        after._heap = [
            (to_go.get(after._names[place], 0.5) * after._steps[place], place)
            for _, place in after._heap
        ]
        heapify(after._heap)
        return after


@dataclass(frozen=True, slots=True, kw_only=True)
class WeightSteps:
    """How weights follow the load."""

    initial: float = 10.0
    rise: float = 1.0
    """λ, added where tuples are through sooner than on average."""
    least: float = 1.0
    most: float = 100.0
    band: float = 0.1
    """Within this share of the average, nothing changes."""

    def __post_init__(self) -> None:
        if not 0 < self.least <= self.initial <= self.most:
            raise InvalidParameters("weights must be above 0, with least ≤ initial ≤ most")
        if self.rise <= 0 or not 0 <= self.band < 1:
            raise InvalidParameters("rise must be above 0 and band from 0 to below 1")


WEIGHT_STEPS = WeightSteps()


def updated_weights(
    weights: Sequence[float], tuple_s: Sequence[float], *, steps: WeightSteps = WEIGHT_STEPS
) -> tuple[float, ...]:
    """The next weights, from the seconds that a tuple waits and is processed in each task.

    A task of which nothing is known keeps its weight.
    """
    known = [seconds for seconds in tuple_s if isfinite(seconds) and seconds >= 0]
    if not known:
        return tuple(weights)
    average = sum(known) / len(known)

    def stepped(weight: float, seconds: float) -> float:
        if seconds > average * (1 + steps.band):
            return max(steps.least, weight / 2)
        if 0 <= seconds < average * (1 - steps.band):
            return min(steps.most, weight + steps.rise)
        return weight

    return tuple(map(stepped, weights, tuple_s))
