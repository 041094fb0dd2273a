"""Raw samples of one series."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Series:
    """Samples in the order of time; what is not a number has been left out."""

    labels: Mapping[str, str]
    times_s: Floats
    values: Floats

    @property
    def last_s(self) -> float:
        """The time of the newest sample."""
        return float(self.times_s[-1])


def since(series: Series, begin_s: float) -> Series:
    """The samples from a moment on; the last one before it stays, for the rise that spans it."""
    first = max(0, int(np.searchsorted(series.times_s, begin_s)) - 1)
    return Series(
        labels=series.labels, times_s=series.times_s[first:], values=series.values[first:]
    )


def clean_series(labels: Mapping[str, str], samples: list[tuple[float, float]]) -> Series | None:
    """A series without NaN, Inf, negatives and repeated times; None if nothing is left.

    Every fact that we read is a count, a duration or an amount: below zero is a sentinel for
    "unknown", and unknown is never a number.
    """
    pairs = np.array(samples, dtype=np.float64).reshape(-1, 2)
    pairs = pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 1] >= 0)]
    # Of two values at one time the lower counts: the order in which they came says nothing.
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    times_s, first = np.unique(pairs[:, 0], return_index=True)
    if times_s.size == 0:
        return None
    return Series(labels=dict(labels), times_s=times_s, values=pairs[first, 1])
