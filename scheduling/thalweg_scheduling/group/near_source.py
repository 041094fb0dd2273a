"""NearSource: to the nearest receivers first, as far as they can take it (Ns-Stream, Algorithm 2).

    Eq 14  PC, the busy share of a window            processing_capability
    Eq 15  ρ̄, the rate at which PC would be α        cap_per_s
    Eq 16–18  weights by nearness                    near_source_shares
    Eq 19  cumulative pick                           drawing.Draw

Deviations, as ruled. Eq 15 is divided by the window, since it is compared with rates. A cap in the
sender's own process is shared by the senders there (Eq 16). A sender's own tuples do not count as
load of the receiver that it wants to send to (Eq 17–18). What a circle takes is what is left over,
not a product of two shares, so that the weights sum to 1; when all caps are full, what is left goes
to the least PC. Between the node and everywhere there is one more circle, the domain; with one
domain it is the paper's.
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

ALPHA = 0.6
"""The paper advises .5 to .7."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What one sender has to know of a receiver."""

    near: Nearness
    cap_per_s: float
    input_per_s: float = 0.0
    """io: what it gets now, from everybody."""
    own_per_s: float = 0.0
    """The part of it that comes from this sender."""
    busy_share: float = 0.0
    """PC."""
    senders: int = 1
    """How many senders share its process, this one included."""


def processing_capability(busy_s: float, window_s: float) -> float:
    """PC: the share of the window in which the task was busy (Eq 14)."""
    return busy_s / window_s


def cap_per_s(processed_per_s: float, busy_share: float, alpha: float = ALPHA) -> float:
    """ρ̄: the rate at which the task would be busy for the share α of the time (Eq 15)."""
    return alpha * processed_per_s / busy_share if busy_share > 0 else float("inf")


def near_source_shares(sends_per_s: float, receivers: Sequence[Measured]) -> tuple[float, ...]:
    """The share of one sender's stream that each receiver gets; they sum to 1."""
    shares = [0.0] * len(receivers)
    left = 1.0
    for circle in Nearness:
        spare = [_spare(one) / sends_per_s if one.near is circle else 0.0 for one in receivers]
        whole = sum(spare)
        if whole <= 0 or left <= 0:
            continue
        taken = min(left, whole)
        # A receiver that was never busy has no cap: those share evenly.
        endless = [share == float("inf") for share in spare]
        for place, share in enumerate(spare):
            part = endless[place] / sum(endless) if any(endless) else share / whole
            shares[place] += taken * part
        left -= taken
    if left > 0 and receivers:
        idlest = min(range(len(receivers)), key=lambda place: receivers[place].busy_share)
        shares[idlest] += left
    return tuple(shares)


def _spare(one: Measured) -> float:
    if one.near is Nearness.PROCESS:
        return one.cap_per_s / one.senders
    return max(0.0, one.cap_per_s - max(0.0, one.input_per_s - one.own_per_s))


class NearSource:
    """Draws by shares that a sender works out from routes: weights, nodes and its own place.

    A weight is the part of the edge's whole stream that the receiver should get. A sender does not
    know the others; it takes it that senders are spread as receivers are. So its node keeps its
    receivers' part times the number of nodes, at most everything; then its domain likewise.
    """

    __slots__ = ("_draw", "_origin")

    def __init__(
        self,
        receivers: Sequence[Receiver],
        origin: Origin = NOWHERE,
        *,
        seed: int = 0,
        shares: Sequence[float] | None = None,
    ) -> None:
        """Give `shares` where somebody who knows all senders has worked them out."""
        self._origin = origin
        wanted = routed_shares(receivers, origin) if shares is None else shares
        self._draw = Draw(wanted, at=started(seed))

    @property
    def shares(self) -> list[tuple[int, float]]:
        """Each receiver's place and share, of those that get anything."""
        return self._draw.shares

    def pick(self, key: bytes | None = None) -> int:  # noqa: ARG002
        """Return the place of the receiver that is drawn."""
        return self._draw.next()

    def update(self, receivers: Sequence[Receiver]) -> "NearSource":
        """Go on drawing from where this one is."""
        after = NearSource(receivers, self._origin)
        after._draw.at = self._draw.at
        return after


def routed_shares(receivers: Sequence[Receiver], origin: Origin) -> list[float]:
    """The share of each receiver by the rule of NearSource."""
    places = serving(receivers)
    total = sum(receivers[place].weight for place in places)
    near = {place: nearness(origin, receivers[place]) for place in places}
    shares = [0.0] * len(receivers)
    kept = 0.0
    for circle in Nearness:
        ring = [place for place in places if near[place] is circle]
        weight = sum(receivers[place].weight for place in ring)
        if weight <= 0:
            continue
        inside = sum(receivers[place].weight for place in places if near[place] <= circle)
        spots = _spots([receivers[place] for place in places], circle)
        keeps = 1.0 if circle is Nearness.ELSEWHERE else min(1.0, spots * inside / total)
        for place in ring:
            shares[place] = max(0.0, keeps - kept) * receivers[place].weight / weight
        kept = max(kept, keeps)
    return shares


def _spots(receivers: Sequence[Receiver], circle: Nearness) -> int:
    """In how many processes, nodes or domains the receivers are."""
    names = {
        Nearness.PROCESS: {one.process for one in receivers},
        Nearness.NODE: {one.node for one in receivers},
        Nearness.DOMAIN: {one.domain for one in receivers},
        Nearness.ELSEWHERE: {""},
    }
    return len(names[circle])
