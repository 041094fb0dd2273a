"""Quantiles of a Prometheus histogram, from the rises of its buckets."""

import math
from collections.abc import Sequence

from thalweg_spark.condense.rates import together
from thalweg_spark.condense.series import Series


def histogram_quantile(buckets: Sequence[Series], quantile: float) -> float:
    """The value below which that share of the observations in the window lies; NaN without any.

    Within a bucket observations count as evenly spread, as in PromQL. What lies in the last,
    unbounded bucket is at least its lower bound, and that is what is said.
    """
    rises = _rises(buckets)
    if not rises or rises[-1][0] != math.inf or rises[-1][1] <= 0:
        return math.nan
    wanted = quantile * rises[-1][1]
    lower, below = 0.0, 0.0
    for upper, count in rises:
        if count >= wanted:
            if upper == math.inf:
                return lower
            share = (wanted - below) / (count - below) if count > below else 1.0
            return lower + (upper - lower) * share
        lower, below = upper, count
    return math.nan


def _rises(buckets: Sequence[Series]) -> list[tuple[float, float]]:
    """(upper bound, observations up to it), ascending, over all series of the histogram."""
    by_bound: dict[float, list[Series]] = {}
    for series in buckets:
        bound = bound_of(series)
        if bound is not None:
            by_bound.setdefault(bound, []).append(series)
    counts = [(bound, float(together(by_bound[bound]).amount.sum())) for bound in sorted(by_bound)]
    # Buckets are scraped one after the other; make the counts rise again where that shows.
    rising, most = [], 0.0
    for bound, count in counts:
        most = max(most, count)
        rising.append((bound, most))
    return rising


def bound_of(series: Series) -> float | None:
    """The upper bound of a bucket; None where its label is no number."""
    try:
        bound = float(series.labels.get("le", ""))
    except ValueError:
        return None
    return None if math.isnan(bound) else bound
