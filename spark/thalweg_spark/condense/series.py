"""Raw samples of one series."""

from collections.abc import Mapping, Sequence
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


def identity(labels: Mapping[str, str]) -> frozenset[tuple[str, str]]:
    """What tells a series from others.

    Where a pod is follows from its name, and not everybody who scrapes it says so.
    """
    if labels.get("pod") and labels.get("task"):
        return frozenset(item for item in labels.items() if item[0] != "node")
    return frozenset(labels.items())


def joined(pieces: Sequence[Series]) -> Series | None:
    """A series whose pieces of time were read one after the other; None if nothing is left."""
    labels = {name: value for one in pieces for name, value in one.labels.items() if value}
    times_s = np.concatenate([one.times_s for one in pieces])
    values = np.concatenate([one.values for one in pieces])
    return clean_series(labels, np.stack((times_s, values), axis=1))


def since(series: Series, begin_s: float) -> Series:
    """The samples from a moment on; the last one before it stays, for the rise that spans it."""
    first = max(0, int(np.searchsorted(series.times_s, begin_s)) - 1)
    return Series(
        labels=series.labels, times_s=series.times_s[first:], values=series.values[first:]
    )


def clean_series(
    labels: Mapping[str, str], samples: Sequence[tuple[float, float]] | Floats
) -> Series | None:
    """A series without NaN, Inf, negatives and repeated times; None if nothing is left.

    Every fact that we read is a count, a duration or an amount: below zero is a sentinel for
    "unknown", and unknown is never a number.
    """
    pairs = np.asarray(samples, dtype=np.float64).reshape(-1, 2)
    if _is_clean(pairs):
        return Series(labels=dict(labels), times_s=pairs[:, 0].copy(), values=pairs[:, 1].copy())
    pairs = pairs[np.isfinite(pairs).all(axis=1) & (pairs[:, 1] >= 0)]
    # Of two values at one time the lower counts: the order in which they came says nothing.
    pairs = pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]
    times_s, first = np.unique(pairs[:, 0], return_index=True)
    if times_s.size == 0:
        return None
    return Series(labels=dict(labels), times_s=times_s, values=pairs[first, 1])


def _is_clean(pairs: Floats) -> bool:
    """Whether nothing is to be done, as with most series: a look is far cheaper than sorting."""
    times_s, values = pairs[:, 0], pairs[:, 1]
    return bool(
        times_s.size
        and np.isfinite(pairs).all()
        and (values >= 0).all()
        and (np.diff(times_s) > 0).all()
    )
