"""Counters to rates: resets, gaps, pods that come and go, and Ra-Stream's trimmed mean."""

from collections.abc import Sequence
from dataclasses import dataclass

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
    times_s, rise = series.times_s, np.diff(series.values)
    known = rise >= 0
    if known.all():
        return Increments(start_s=times_s[:-1], end_s=times_s[1:], amount=rise)
    return Increments(start_s=times_s[:-1][known], end_s=times_s[1:][known], amount=rise[known])


def together(parts: Sequence[Series]) -> Increments:
    """What all series of one task rose, such as the pods that a task has had."""
    each = [increments(series) for series in parts]
    if len(each) == 1:
        return each[0]
    nothing = np.empty(0)
    return Increments(
        start_s=np.concatenate([nothing, *(one.start_s for one in each)]),
        end_s=np.concatenate([nothing, *(one.end_s for one in each)]),
        amount=np.concatenate([nothing, *(one.amount for one in each)]),
    )


def spans(found: Increments) -> tuple[Floats, Floats]:
    """The time that at least one rise covers: begins and ends of spans that do not touch."""
    if found.start_s.size == 0:
        return found.start_s, found.end_s
    order = np.argsort(found.start_s, kind="stable")
    start_s, reach_s = found.start_s[order], np.maximum.accumulate(found.end_s[order])
    apart = np.flatnonzero(start_s[1:] > reach_s[:-1])
    begins = start_s[np.concatenate(([0], apart + 1))]
    return begins, reach_s[np.concatenate((apart, [start_s.size - 1]))]


def covered_s(found: Increments) -> float:
    """How long at least one rise covers."""
    begins, ends = spans(found)
    return float((ends - begins).sum())


def rise_of(found: Increments) -> float:
    """How much all of them rose; NaN where nothing is known."""
    return float(found.amount.sum()) if found.amount.size else np.nan


def mean_rate(parts: Sequence[Series]) -> float:
    """Rise per second of covered time; NaN where nothing is covered.

    Pods that follow one another cover different times, so a task that moved is counted once; pods
    that overlap cover the same time, and what they did adds up.
    """
    found = together(parts)
    covered = covered_s(found)
    return rise_of(found) / covered if covered > 0 else np.nan


def trimmed_rate(parts: Sequence[Series]) -> float:
    """Ra-Stream's Eq 1: the mean of the readings without the largest and the smallest.

    A reading is the rate in one slice of the window, two scrapes long, so that a scrape that came
    late does not look like a lull followed by a burst.
    """
    found = together(parts)
    if found.amount.size == 0:
        return np.nan
    readings = _readings(parts, found)
    if readings.size < TRIM_FROM:
        return mean_rate(parts)
    return float((readings.sum() - readings.max() - readings.min()) / (readings.size - 2))


def _readings(parts: Sequence[Series], found: Increments) -> Floats:
    begin, end = float(found.start_s.min()), float(found.end_s.max())
    scrape_s = median(found.end_s - found.start_s)
    slices = int(np.clip(np.floor((end - begin) / (2 * scrape_s) + ROUNDING), 1, MOST_BINS))
    edges = np.linspace(begin, end, slices + 1)
    amount = np.diff(sum(_amount_until(edges, one) for one in parts))
    covered = np.diff(_covered_until(edges, *spans(found)))
    # Where next to nothing of a slice is covered, what is left is rounding.
    told = covered > ROUNDING * (end - begin) / slices
    readings: Floats = amount[told] / covered[told]
    return readings


def _amount_until(moments_s: Floats, series: Series) -> Floats:
    """What a series had risen by each moment, evenly between two samples."""
    rise = np.diff(series.values)
    risen = np.concatenate(([0.0], np.cumsum(np.where(rise >= 0, rise, 0.0))))
    return np.interp(moments_s, series.times_s, risen)


def _covered_until(moments_s: Floats, begins: Floats, ends: Floats) -> Floats:
    """How long spans had lasted by each moment."""
    lasted = np.cumsum(ends - begins)
    corners_s = np.stack((begins, ends), axis=1).ravel()
    return np.interp(moments_s, corners_s, np.stack((lasted - (ends - begins), lasted), 1).ravel())


def median(values: Floats) -> float:
    """The middle of some numbers, or the mean of the two in the middle; NaN without any.

    What numpy's own does, in a fraction of its time where there are few.
    """
    if values.size == 0:
        return np.nan
    ordered = np.sort(values)
    return float(ordered[(values.size - 1) // 2] + ordered[values.size // 2]) / 2
