"""W-Choices (Nasir et al., "When two choices are not enough", ICDE 2016): heavy keys go anywhere.

With many receivers two choices are not enough for a key that alone fills more than two of them.
Each sender counts keys in small space. A key with more than a share θ of the sender's tuples goes
to whichever of the n receivers has got least from this sender; every other key keeps the two
candidates of partial key grouping. So a heavy key has a part of its state in every receiver, and
what comes after has to add up to n parts.

    θ                   1/(5n), the authors' value      HeavyKeys.threshold / n
    counters            10n + 1 with that θ             2n / threshold + 1
    before any is heavy 1000 tuples                     HeavyKeys.warm_up

Deviations. The authors count by SpaceSaving, which may count too much; here it is by Misra and
Gries, which may count too little, in as much space. With these counters it is less than θ/2 of what
was seen, as long as the receivers stay the same: no key up to θ is called heavy, none above 3θ/2 is
missed. The warm-up is ours: of the first few tuples every key would be a large share. The two
candidates of a key are always different ones. Nothing is forgotten with time, as with the authors.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace

from thalweg_scheduling.group.partial_key import carried, two_of
from thalweg_scheduling.group.receivers import Receiver, serving
from thalweg_scheduling.model.errors import InvalidParameters


@dataclass(frozen=True, slots=True, kw_only=True)
class HeavyKeys:
    """When a key is heavy."""

    threshold: float = 0.2
    """θ times n: a key is heavy above this part of one receiver's fair share of the tuples."""
    warm_up: int = 1000
    """Tuples to be seen before any key is called heavy."""

    def __post_init__(self) -> None:
        if not 0 < self.threshold <= 2:
            raise InvalidParameters(f"threshold must be above 0 and at most 2: {self.threshold}")
        if self.warm_up < 0:
            raise InvalidParameters(f"warm_up must be at least 0: {self.warm_up}")


DEFAULTS = HeavyKeys()


class WChoices:
    """Two choices for most keys, all for the heaviest."""

    __slots__ = ("_counts", "_heap", "_names", "_parameters", "_places", "_room", "_seen", "_sent")

    def __init__(self, receivers: Sequence[Receiver], *, parameters: HeavyKeys = DEFAULTS) -> None:
        """Start with nothing seen."""
        self._parameters = parameters
        self._places = serving(receivers)
        self._names = [receivers[place].name for place in self._places]
        self._sent = [0] * len(self._places)
        self._heap = [(0, number) for number in range(len(self._places))]
        self._counts: dict[bytes, int] = {}
        self._seen = 0
        # Twice as many as can be heavy at a time, so that counts are short by half of θ at most.
        self._room = int(2 * len(self._places) / parameters.threshold) + 1

    def pick(self, key: bytes | None) -> int:
        """Return the place of the least laden candidate."""
        key = key or b""
        self._count(key)
        if self.is_heavy(key):
            chosen = self._least()
        else:
            first, second = two_of(key, len(self._places))
            chosen = first if self._sent[first] <= self._sent[second] else second
        self._sent[chosen] += 1
        return self._places[chosen]

    def is_heavy(self, key: bytes) -> bool:
        """Whether the key has had more than θ of what was seen, as far as it was counted."""
        if self._seen < self._parameters.warm_up:
            return False
        share = self._parameters.threshold / len(self._places)
        return self._counts.get(key, 0) > share * self._seen

    def update(self, receivers: Sequence[Receiver]) -> "WChoices":
        """Keep what was sent and which keys are heavy."""
        after = WChoices(receivers, parameters=self._parameters)
        after._sent = carried(self._names, self._sent, after._names)
        after._heap = [(sent, number) for number, sent in enumerate(after._sent)]
        heapify(after._heap)
        after._counts, after._seen = dict(self._counts), self._seen
        return after

    def _least(self) -> int:
        # Counts only rise, so an entry that is too low is put right when it comes up.
        sent, number = self._heap[0]
        while sent != self._sent[number]:
            heapreplace(self._heap, (self._sent[number], number))
            sent, number = self._heap[0]
        return number

    def _count(self, key: bytes) -> None:
        self._seen += 1
        counts = self._counts
        if key in counts or len(counts) < self._room:
            counts[key] = counts.get(key, 0) + 1
            return
        # Each such round takes one from every key: it cannot come more often than once in `room`.
        self._counts = {other: count - 1 for other, count in counts.items() if count > 1}
