"""LoadAwareLocal: what Storm's shuffle does unless it is told otherwise (LoadAwareShuffleGrouping).

A sender looks no farther than it must: process, node, domain, everywhere. When the receivers it
looks at are busier than a bound on average, it looks one circle farther; when they are idler than
another, one circle nearer. Within the circle, who is about as idle as the idlest gains weight, the
others lose it ten times as fast. Storm deals a shuffled ring of 1,000 slots; here they are drawn.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from thalweg_scheduling.group.drawing import Draw, started
from thalweg_scheduling.group.receivers import (
    NOWHERE,
    Nearness,
    Origin,
    Receiver,
    nearness,
    serving,
)
from thalweg_scheduling.model.errors import InvalidParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class Locality:
    """Storm's bounds and steps."""

    farther_above: float = 0.8
    nearer_below: float = 0.2
    even_within: float = 0.05
    most: int = 100
    rise: int = 1
    fall: int = 10

    def __post_init__(self) -> None:
        if not 0 <= self.nearer_below <= self.farther_above <= 1:
            raise InvalidParameters("bounds must be 0 ≤ nearer_below ≤ farther_above ≤ 1")
        if self.rise < 1 or self.fall < 1 or self.most < 1:
            raise InvalidParameters("rise, fall and most must be at least 1")


LOCALITY = Locality()


class LoadAwareLocal:
    """Draws among the receivers of the circle, by weights that follow their load."""

    __slots__ = ("_circle", "_draw", "_near", "_origin", "_parameters", "_receivers", "_weights")

    def __init__(
        self,
        receivers: Sequence[Receiver],
        origin: Origin = NOWHERE,
        *,
        seed: int = 0,
        parameters: Locality = LOCALITY,
    ) -> None:
        """Begin with the nearest circle that has receivers, all of them alike."""
        self._receivers = tuple(receivers)
        self._origin = origin
        self._parameters = parameters
        self._near = {place: nearness(origin, receivers[place]) for place in serving(receivers)}
        self._circle = min(self._near.values())
        self._weights = [parameters.most] * len(self._receivers)
        self._draw = Draw(self._chances(), at=started(seed))

    @property
    def circle(self) -> Nearness:
        """How far the sender looks now."""
        return self._circle

    @property
    def shares(self) -> list[tuple[int, float]]:
        """Each receiver's place and share, of those that get anything."""
        return self._draw.shares

    def pick(self, key: bytes | None = None) -> int:  # noqa: ARG002
        """Return the place of the receiver that is drawn."""
        return self._draw.next()

    def observed(self, loads: Sequence[float]) -> "LoadAwareLocal":
        """Follow the load of each receiver, from 0 to 1: a full queue is 1."""
        after = LoadAwareLocal(self._receivers, self._origin, parameters=self._parameters)
        after._circle = self._next_circle(loads)
        inside = after._inside(after._circle)
        idlest = min(loads[place] for place in inside)
        after._weights = list(self._weights)
        for place in inside:
            idle = loads[place] <= idlest + self._parameters.even_within
            step = self._parameters.rise if idle else -self._parameters.fall
            after._weights[place] = min(self._parameters.most, max(0, self._weights[place] + step))
        after._draw = Draw(after._chances(), at=self._draw.at)
        return after

    def update(self, receivers: Sequence[Receiver]) -> "LoadAwareLocal":
        """Keep the weights and, if anybody is left in it, the circle."""
        before = {one.name: self._weights[place] for place, one in enumerate(self._receivers)}
        after = LoadAwareLocal(receivers, self._origin, parameters=self._parameters)
        after._circle = max(after._circle, self._circle)
        after._weights = [before.get(one.name, self._parameters.most) for one in receivers]
        after._draw = Draw(after._chances(), at=self._draw.at)
        return after

    def _inside(self, circle: Nearness) -> list[int]:
        return [place for place, near in self._near.items() if near <= circle]

    def _chances(self) -> list[float]:
        chances = [0.0] * len(self._receivers)
        inside = self._inside(self._circle)
        for place in inside:
            chances[place] = float(self._weights[place])
        if not any(chances):
            for place in inside:
                chances[place] = 1.0
        return chances

    def _next_circle(self, loads: Sequence[float]) -> Nearness:
        """One farther or nearer, by the mean load of those looked at; empty ones are skipped."""
        known = sorted(set(self._near.values()))
        at = known.index(max(near for near in known if near <= self._circle))
        inside = self._inside(self._circle)
        mean = sum(loads[place] for place in inside) / len(inside)
        if mean > self._parameters.farther_above:
            return known[min(at + 1, len(known) - 1)]
        if mean < self._parameters.nearer_below:
            return known[max(at - 1, 0)]
        return known[at]
