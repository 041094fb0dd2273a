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

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass

from thalweg_scheduling.group.drawing import Draw, started
from thalweg_scheduling.group.receivers import (
    NOBODY,
    NOWHERE,
    Nearness,
    Origin,
    Receiver,
    Senders,
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

    A weight is the part of the edge's whole stream that the receiver should get, and gets if all
    senders send alike. Every sender works out the same: what the senders on each node can keep
    there, then in each domain, then what is left for whom.
    """

    __slots__ = ("_draw", "_origin", "_senders")

    def __init__(
        self,
        receivers: Sequence[Receiver],
        origin: Origin = NOWHERE,
        *,
        senders: Senders = NOBODY,
        seed: int = 0,
        shares: Sequence[float] | None = None,
    ) -> None:
        """Give `shares` where somebody who knows all rates has worked them out."""
        self._origin = origin
        self._senders = senders
        wanted = routed_shares(receivers, origin, senders) if shares is None else shares
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
        after = NearSource(receivers, self._origin, senders=self._senders)
        after._draw.at = self._draw.at
        return after


def routed_shares(
    receivers: Sequence[Receiver], origin: Origin, senders: Senders = NOBODY
) -> list[float]:
    """The share of each receiver by the rule of NearSource."""
    places = serving(receivers)
    total = sum(receivers[place].weight for place in places)
    spare = {place: receivers[place].weight / total for place in places}
    left = _parts(senders, origin) or _spread_as(receivers, places, origin)
    shares, mine = [0.0] * len(receivers), 1.0
    for circle in Nearness:
        room = _by_spot(circle, ((receivers[place], part) for place, part in spare.items()))
        asked = _by_spot(circle, left.items())
        kept = {
            spot: min(room[spot], asked[spot])
            for spot in room
            if room[spot] > 0 and asked.get(spot, 0.0) > 0
        }
        here = _spot(circle, origin)
        for place, part in spare.items():
            spot = _spot(circle, receivers[place])
            if spot is None or spot not in kept:
                continue
            if spot == here:
                shares[place] += mine * (kept[spot] / asked[spot]) * (part / room[spot])
            spare[place] = part * (1 - kept[spot] / room[spot])
        if here is not None and here in kept:
            mine *= 1 - kept[here] / asked[here]
        left = {
            one: part * (1 - kept[spot] / asked[spot])
            if (spot := _spot(circle, one)) is not None and spot in kept
            else part
            for one, part in left.items()
        }
    return shares


def _spot(circle: Nearness, one: Origin | Receiver) -> tuple[str, ...] | None:
    """What of a place has to be the same for two to be so near; nothing where it is not known."""
    if circle is Nearness.ELSEWHERE:
        return ()
    names = {
        Nearness.PROCESS: one.process,
        Nearness.NODE: one.node,
        Nearness.DOMAIN: one.domain,
    }
    return (names[circle],) if names[circle] else None


def _by_spot(
    circle: Nearness, parts: Iterable[tuple[Origin | Receiver, float]]
) -> dict[tuple[str, ...], float]:
    found: dict[tuple[str, ...], float] = {}
    for one, part in parts:
        spot = _spot(circle, one)
        if spot is not None:
            found[spot] = found.get(spot, 0.0) + part
    return found


def _parts(senders: Senders, origin: Origin) -> dict[Origin, float]:
    """The part of the stream that comes from each place, whoever asks being among them."""
    counts = {place: count for place, count in senders.items() if count > 0}
    if counts:
        counts.setdefault(origin, 1)
    whole = sum(counts.values())
    return {place: count / whole for place, count in counts.items()}


def _spread_as(
    receivers: Sequence[Receiver], places: Sequence[int], origin: Origin
) -> dict[Origin, float]:
    """Where nobody says where senders are: as many on this node as on each that has receivers."""
    homes = {
        Origin(node=one.node, domain=one.domain, process=one.process)
        for one in (receivers[place] for place in places)
    }
    if not any(_is_home(home, origin) for home in homes):
        homes.add(origin)
    nodes = Counter(home.node for home in homes)
    return {home: 1 / len(nodes) / nodes[home.node] for home in sorted(homes, key=astuple)}


def _is_home(home: Origin, origin: Origin) -> bool:
    """Whether senders there stand for this one."""
    return home.node == origin.node and home.process in ("", origin.process)
