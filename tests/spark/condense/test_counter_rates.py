"""Counters become rates whatever happens to the pods that export them."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_spark.condense.rates import covered_s, increments, mean_rate, together, trimmed_rate
from thalweg_spark.condense.series import Series, clean_series


def series(*samples: tuple[float, float]) -> Series:
    found = clean_series({}, list(samples))
    assert found is not None
    return found


def steady(start_s: float, end_s: float, rate: float, *, begin: float = 0.0) -> Series:
    times = np.arange(start_s, end_s + 0.5)
    return series(*((float(at), begin + rate * (at - start_s)) for at in times))


@pytest.mark.parametrize(
    ("samples", "amounts"),
    [
        pytest.param([(0, 5), (1, 7), (2, 7)], [2, 0], id="rises"),
        pytest.param([(0, 100), (1, 3), (2, 5)], [2], id="over a reset nobody knows"),
        pytest.param([(0, 5), (1, math.nan), (2, 9)], [4], id="NaN is no sample"),
        pytest.param([(0, 5), (1, math.inf), (2, 9)], [4], id="Inf is no sample"),
        pytest.param([(0, 5), (1, -1), (2, 9)], [4], id="-1 stands for unknown"),
        pytest.param([(2, 9), (0, 5)], [4], id="out of order"),
        pytest.param([(0, 5), (0, 6), (1, 9)], [4], id="twice at one time"),
    ],
)
def test_increments(samples: list[tuple[float, float]], amounts: list[float]) -> None:
    assert increments(series(*samples)).amount.tolist() == amounts


def test_nothing_left_is_no_series() -> None:
    assert clean_series({}, [(0.0, math.nan), (1.0, -1.0)]) is None


def test_one_sample_tells_no_rate() -> None:
    assert math.isnan(mean_rate([series((0, 5))]))
    assert math.isnan(trimmed_rate([series((0, 5))]))
    assert math.isnan(mean_rate([]))


def test_a_task_that_moved_is_counted_once() -> None:
    before, after = steady(0, 15, 100), steady(15, 30, 100)
    assert mean_rate([before, after]) == pytest.approx(100)
    assert trimmed_rate([before, after]) == pytest.approx(100)


def test_pods_that_overlap_add_up() -> None:
    assert mean_rate([steady(0, 30, 60), steady(0, 30, 40)]) == pytest.approx(100)
    assert trimmed_rate([steady(0, 30, 60), steady(0, 30, 40)]) == pytest.approx(100)


def test_a_gap_is_no_lull() -> None:
    gap = series(*((at, 100 * at) for at in (0, 1, 2, 3, 20, 21, 22, 23)))
    assert mean_rate([gap]) == pytest.approx(100)


def test_the_largest_and_the_smallest_reading_do_not_count() -> None:
    """A burst in one slice of many is left out, as Ra-Stream's Eq 1 wants it."""
    values = np.cumsum([0] + [10] * 10 + [1000, 1000] + [10] * 10)
    burst = series(*((float(at), float(value)) for at, value in enumerate(values)))
    assert trimmed_rate([burst]) == pytest.approx(10)
    assert mean_rate([burst]) > 90


@settings(max_examples=40)
@given(
    st.lists(st.tuples(st.floats(0, 100), st.floats(0.5, 30)), min_size=1, max_size=6),
)
def test_covered_time_is_the_union(spans: list[tuple[float, float]]) -> None:
    parts = [series((start, 0.0), (start + length, 1.0)) for start, length in spans]
    slow = np.zeros(1400, dtype=bool)
    for start, length in spans:
        slow[int(np.ceil(start * 10)) : int(np.floor((start + length) * 10))] = True
    assert covered_s(together(parts)) == pytest.approx(slow.sum() / 10, abs=0.2 * len(spans))


def cut(parts: list[Series], low: float, high: float) -> tuple[float, float]:
    """What all rose in one slice, and how much of the slice is covered: rise by rise."""
    amount, spans = 0.0, []
    for one in parts:
        rises = increments(one)
        for start, end, rise in zip(rises.start_s, rises.end_s, rises.amount, strict=True):
            if min(end, high) > max(start, low):
                spans.append((max(start, low), min(end, high)))
                amount += rise * (spans[-1][1] - spans[-1][0]) / (end - start)
    covered, reach = 0.0, -math.inf
    for start, end in sorted(spans):
        covered += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return amount, covered


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_the_trimmed_rate_is_that_of_slices_cut_one_by_one(seed: int) -> None:
    """Of one to three pods that overlap or not, with resets and scrapes missed."""
    rng = np.random.default_rng(seed)
    parts = []
    for _ in range(rng.integers(1, 4)):
        times = np.flatnonzero(rng.random(60) < 0.7) + rng.choice([0.0, rng.uniform(0, 90)])
        values = np.cumsum(rng.integers(0, 50, times.size)).astype(float)
        restart = int(rng.integers(0, max(1, times.size)))
        values[restart:] -= values[restart] if times.size else 0.0
        found = clean_series({}, list(zip(times, values, strict=True)))
        parts += [] if found is None else [found]
    rises = together(parts)
    begin, end = rises.start_s.min(), rises.end_s.max()
    scrape_s = np.median(rises.end_s - rises.start_s)
    slices = int(np.clip(np.floor((end - begin) / (2 * scrape_s) + 1e-6), 1, 64))
    each = [cut(parts, low, high) for low, high in pairwise(np.linspace(begin, end, slices + 1))]
    readings = [amount / covered for amount, covered in each if covered > 1e-6 * scrape_s]
    assert len(readings) >= 3
    expected = (sum(readings) - max(readings) - min(readings)) / (len(readings) - 2)
    assert trimmed_rate(parts) == pytest.approx(expected, rel=1e-6)


@settings(max_examples=40)
@given(st.integers(0, 2**32 - 1))
def test_resets_and_missed_scrapes_change_little(seed: int) -> None:
    """A steady counter with scrapes missed and one restart keeps its rate."""
    rng = np.random.default_rng(seed)
    times = np.flatnonzero(rng.random(60) < 0.8).astype(float)
    values = 50.0 * times
    restart = rng.integers(times.size // 2, times.size - 1)
    values[restart:] -= values[restart - 1]
    found = clean_series({}, list(zip(times, values, strict=True)))
    assert found is not None
    assert mean_rate([found]) == pytest.approx(50.0)
