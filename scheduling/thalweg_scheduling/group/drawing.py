"""Drawing receivers by their shares without a random generator.

Numbers of the golden ratio's sequence fill the unit interval more evenly than random ones: after n
draws every share is met within about log(n)/n instead of 1/√n, and the same seed draws the same.
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from thalweg_scheduling.group.receivers import NoReceiver

GOLDEN = 0.6180339887498949


def started(seed: int) -> float:
    """Where the wheel of a sender stands at first; those of different seeds are spread out."""
    return (0.5 + seed * GOLDEN * GOLDEN) % 1.0


class Draw:
    """A wheel with one sector for each share (Ns-Stream's Eq 19 and Algorithm 2)."""

    __slots__ = ("_ends", "_sectors", "at")

    def __init__(self, shares: Sequence[float], *, at: float) -> None:
        """Shares need not sum to 1; `at` is where the wheel stands, from 0 to 1."""
        self._sectors = [place for place, share in enumerate(shares) if share > 0]
        if not self._sectors:
            raise NoReceiver(f"none of {len(shares)} receivers has a share")
        total = sum(shares[place] for place in self._sectors)
        self._ends = list(accumulate(shares[place] / total for place in self._sectors))
        # Rounding must not leave a gap at the end of the wheel.
        self._ends[-1] = 1.0
        self.at = at

    @property
    def shares(self) -> list[tuple[int, float]]:
        """Each receiver's place and share, of those that have one."""
        starts = [0.0, *self._ends[:-1]]
        return [
            (place, end - start)
            for place, start, end in zip(self._sectors, starts, self._ends, strict=True)
        ]

    def next(self) -> int:
        """Turn the wheel and return the place it points at."""
        at = self.at + GOLDEN
        self.at = at = at - 1.0 if at >= 1.0 else at
        return self._sectors[bisect_right(self._ends, at)]
