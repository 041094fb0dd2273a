"""Top-N: source → count → rank → merge (Md, Hd): which words come most often."""

import heapq
from typing import Any

from thalweg_runtime.steps.seeded import Skewed, drawn

N = 10
_WORDS = Skewed(5000)

Record = dict[str, Any]


def source(sequence: int) -> Record:
    """Make a word."""
    return {"word": f"word{_WORDS.place(drawn(sequence))}"}


def count(record: Record, state: Record) -> Record:
    """Count it."""
    word = record["word"]
    state[word] = state.get(word, 0) + 1
    return {"word": word, "count": state[word]}


class Ranking:
    """Keeps the largest counts, and says when they change."""

    def __init__(self) -> None:
        """Nobody leads."""
        self._counts: dict[str, int] = {}

    def __call__(self, record: Record) -> Record | None:
        """Take a count in; return the ranking if this word is in it."""
        word = record["word"]
        self._counts[word] = max(record["count"], self._counts.get(word, 0))
        if len(self._counts) > 4 * N:
            self._counts = dict(_leading(self._counts))
        leading = _leading(self._counts)
        if word not in dict(leading):
            return None
        return {"ranking": leading}


class Merging:
    """One ranking out of those of all tasks before it."""

    def __init__(self) -> None:
        """Nobody leads."""
        self.counts: dict[str, int] = {}

    def __call__(self, record: Record) -> None:
        """Take a ranking in."""
        for word, number in record["ranking"]:
            self.counts[word] = max(number, self.counts.get(word, 0))
        self.counts = dict(_leading(self.counts))


def _leading(counts: dict[str, int]) -> list[tuple[str, int]]:
    return heapq.nlargest(N, counts.items(), key=lambda one: (one[1], one[0]))


rank = Ranking
merge = Merging
