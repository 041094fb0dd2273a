"""Records from nothing but numbers."""

import os
import random
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate

_SEED = int(os.environ.get("STEPS_SEED", "7"))


def task_index() -> int:
    """The number of this task, from the name that the operator gave it."""
    number = os.environ.get("THALWEG_TASK", "0").rpartition("-")[2]
    return int(number) if number.isdecimal() else 0


def drawn(sequence: int) -> random.Random:
    """Chance for one record: the same each time for the same task and number."""
    return random.Random(f"{_SEED}/{task_index()}/{sequence}")  # noqa: S311 - data, no secret


class Skewed:
    """Draws places from 0 with the frequencies of natural language: the n-th as often as 1/n."""

    def __init__(self, size: int) -> None:
        """So many places."""
        self._bounds: Sequence[float] = list(accumulate(1 / (n + 1) for n in range(size)))

    def place(self, chance: random.Random) -> int:
        """One place."""
        return bisect_left(self._bounds, chance.random() * self._bounds[-1])
