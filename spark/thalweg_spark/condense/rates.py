"""Counters to rates: resets, gaps, pods that come and go, and Ra-Stream's trimmed mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thalweg_spark.condense.series import Floats, Series

TRIM_FROM = 3
"""Ra-Stream's Eq 1 drops the largest and the smallest reading; that needs one to be left."""
MOST_BINS = 64
ROUNDING = 1e-6
"""Times have seven digits behind the point: a slice more or less must not hang on the last."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Increments:
    """How much a counter rose between each two samples."""

    start_s: Floats
    end_s: Floats
    amount: Floats


def increments(series: Series) -> Increments:
    """Rises between samples, without those over which the counter fell.

    A counter that fell was reset. What it had counted until then is lost, so how much happened
    between those two samples is not known: the time counts as not covered.
    """
    rise = np.diff(series.values)
    known = rise >= 0
    return Increments(
        start_s=series.times_s[:-1][known], end_s=series.times_s[1:][known], amount=rise[known]
    )


def together(parts: Sequence[Series]) -> Increments:
    """The increments of all series of one thing, such as the pods that a task has had."""
    each = [increments(series) for series in parts if series.times_s.size > 1]
    if not each:
        nothing = np.empty(0)
        return Increments(start_s=nothing, end_s=nothing, amount=nothing)
    return Increments(
        start_s=np.concatenate([one.start_s for one in each]),
        end_s=np.concatenate([one.end_s for one in each]),
        amount=np.concatenate([one.amount for one in each]),
    )


def covered_s(found: Increments) -> float:
    """The time that at least one series covers."""
    order = np.argsort(found.start_s, kind="stable")
    total, reach = 0.0, -np.inf
    for start, end in zip(found.start_s[order], found.end_s[order], strict=True):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return float(total)


def mean_rate(parts: Sequence[Series]) -> float:
    """Rise per second of covered time; NaN where nothing is covered.

    Pods that follow one another cover different times, so a task that moved is counted once; pods
    that overlap cover the same time, and what they did adds up.
    """
    found = together(parts)
    covered = covered_s(found)
    return float(found.amount.sum() / covered) if covered > 0 else np.nan


def trimmed_rate(parts: Sequence[Series]) -> float:
    """Ra-Stream's Eq 1: the mean of the readings without the largest and the smallest.

    A reading is the rate in one slice of the window, two scrapes long, so that a scrape that came
    late does not look like a lull followed by a burst.
    """
    found = together(parts)
    if found.amount.size == 0:
        return np.nan
    readings = _readings(found)
    if readings.size < TRIM_FROM:
        return mean_rate(parts)
    return float((readings.sum() - readings.max() - readings.min()) / (readings.size - 2))


def _readings(found: Increments) -> Floats:
    begin, end = float(found.start_s.min()), float(found.end_s.max())
    scrape_s = float(np.median(found.end_s - found.start_s))
    bins = int(np.clip(np.floor((end - begin) / (2 * scrape_s) + ROUNDING), 1, MOST_BINS))
    edges = np.linspace(begin, end, bins + 1)
    readings = []
    for low, high in pairwise(edges):
        start, stop = np.maximum(found.start_s, low), np.minimum(found.end_s, high)
        inside = stop > start
        if not inside.any():
            continue
        share = (stop[inside] - start[inside]) / (found.end_s[inside] - found.start_s[inside])
        part = Increments(
            start_s=start[inside], end_s=stop[inside], amount=found.amount[inside] * share
        )
        readings.append(part.amount.sum() / covered_s(part))
    return np.array(readings)
