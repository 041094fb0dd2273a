"""The graph that partitioners divide: how strongly tasks depend on each other, what each weighs."""

from dataclasses import dataclass

import numpy as np
import scipy  # Its parts are loaded when they are first used, which takes a while.

from thalweg_scheduling.measure.rates import Rates
from thalweg_scheduling.model.arrays import Bools, Floats, Ints, frozen_floats, frozen_ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Dependencies:
    """A weighted graph over tasks, each pair at most once, and no task with itself."""

    source: Ints
    target: Ints
    strength: Floats
    """Md-Stream's ds (Eq 3): tuples/s, as shares of the largest; 0 where none have flowed yet."""
    weight: Floats
    """Shape (tasks,): Md-Stream's vr (Eq 9)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", frozen_ints(self.source))
        object.__setattr__(self, "target", frozen_ints(self.target))
        object.__setattr__(self, "strength", frozen_floats(self.strength))
        object.__setattr__(self, "weight", frozen_floats(self.weight))

    @property
    def tasks(self) -> int:
        """How many tasks there are."""
        return len(self.weight)

    def cut(self, block: Ints) -> float:
        """What flows between blocks (Eq 4 and 5)."""
        apart = block[self.source] != block[self.target]
        return float(self.strength[apart].sum())


def dependencies(rates: Rates, weight: Floats, among: Bools) -> Dependencies:
    """The graph of the chosen tasks alone, numbered by their order among the chosen."""
    number = np.cumsum(among) - 1
    inside = among[rates.source] & among[rates.target] & (rates.source != rates.target)
    source, target = number[rates.source[inside]], number[rates.target[inside]]
    tasks = int(among.sum())
    # Shares, so that sums of the largest rates do not overflow.
    largest = max(float(rates.per_s.max(initial=0.0)), 1e-300)
    once = scipy.sparse.csr_array(
        (rates.per_s[inside] / largest, (source, target)), shape=(tasks, tasks), dtype=np.float64
    )
    once.sum_duplicates()
    return Dependencies(
        source=np.repeat(np.arange(tasks), np.diff(once.indptr)),
        target=once.indices,
        strength=once.data,
        weight=weight[among],
    )
