"""Partial key grouping (Nasir et al., ICDE 2015): each key has two receivers.

Of the two, a tuple goes to the one to which this sender has sent less. What a receiver knows of a
key is then half of it, so what comes after has to add two halves.
"""

from collections.abc import Sequence
from zlib import crc32

from thalweg_scheduling.group.receivers import Receiver, serving

_OTHER_SEED = 0x9E3779B9


class PartialKey:
    """Two choices for each key."""

    __slots__ = ("_names", "_places", "_sent")

    def __init__(self, receivers: Sequence[Receiver]) -> None:
        """Start with nothing sent."""
        self._places = serving(receivers)
        self._names = [receivers[place].name for place in self._places]
        self._sent = [0] * len(self._places)

    def candidates(self, key: bytes) -> tuple[int, int]:
        """The places of the two receivers of a key; the same one twice if there is only one."""
        first, second = two_of(key, len(self._places))
        return self._places[first], self._places[second]

    def pick(self, key: bytes | None) -> int:
        """Return the place of the candidate that has got less from here."""
        first, second = two_of(key or b"", len(self._places))
        chosen = first if self._sent[first] <= self._sent[second] else second
        self._sent[chosen] += 1
        return self._places[chosen]

    def update(self, receivers: Sequence[Receiver]) -> "PartialKey":
        """Keep the counts; a newcomer starts level with the least, or it would get everything."""
        after = PartialKey(receivers)
        after._sent = carried(self._names, self._sent, after._names)
        return after


def carried(before: Sequence[str], sent: Sequence[int], after: Sequence[str]) -> list[int]:
    """Counts by name for other receivers, counted from the least on."""
    known = dict(zip(before, sent, strict=True))
    least = min((known[name] for name in after if name in known), default=0)
    return [known.get(name, least) - least for name in after]


def two_of(key: bytes, count: int) -> tuple[int, int]:
    """The two candidates of a key among so many, different ones if there are two."""
    first = crc32(key) % count
    second = crc32(key, _OTHER_SEED) % count
    # CRC is linear, so equal lengths differ by a constant: mix, or the pairs would be few.
    second = (second ^ (crc32(key[::-1]) >> 7)) % count
    if second == first:
        second = (first + 1) % count
    return first, second
