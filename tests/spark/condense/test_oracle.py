"""Both engines share their arithmetic, so it is held against plain Python: loops, no vectors."""

import math
from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_spark.condense.figures import figure
from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import Windows, condense

AT_S = 300.0
RECENT_S = 30.0
Samples = list[tuple[float, float]]
Rise = tuple[float, float, float]
"""From when, until when, by how much."""

NO_NUMBERS = (math.nan, math.inf, -math.inf, -1.0)
SAMPLE = st.tuples(
    st.integers(0, 600).map(lambda half: half / 2),
    st.one_of(st.integers(0, 4000).map(lambda one: one / 8), st.sampled_from(NO_NUMBERS)),
)
BOUNDS = ("0.1", "0.5", "2.5", "+Inf")


@st.composite
def counters(draw: st.DrawFn) -> Samples:
    """Scrapes at some pace, some missed, of a counter that restarts now and then."""
    pace_s = draw(st.sampled_from([1.0, 5.0, 15.0]))
    begin_s = draw(st.integers(0, 250))
    value, found = 0.0, []
    for number in range(draw(st.integers(0, 40))):
        at_s = begin_s + number * pace_s
        value = draw(st.sampled_from([0.0, value, value])) + draw(st.integers(0, 800)) / 8
        if at_s <= AT_S and draw(st.integers(0, 4)):
            found.append((at_s, value))
    return draw(st.permutations(found)) if len(found) < 9 else found


SERIES = st.one_of(counters(), st.lists(SAMPLE, max_size=12))
GROUPS = st.lists(SERIES, min_size=1, max_size=3)


def series(told: Sequence[Samples], **labels: str) -> list[Series]:
    found = [clean_series(labels, samples) for samples in told]
    return [one for one in found if one is not None]


def plain(samples: Samples) -> Samples:
    """Numbers in the order of time; of two at a time the lower."""
    lowest: dict[float, float] = {}
    for at_s, value in samples:
        if math.isfinite(value) and value >= 0:
            lowest[at_s] = min(value, lowest.get(at_s, math.inf))
    return sorted(lowest.items())


def rises(samples: Samples) -> list[Rise]:
    return [
        (start, end, after - before)
        for (start, before), (end, after) in pairwise(samples)
        if after >= before
    ]


def covered(found: list[Rise]) -> float:
    total, reach = 0.0, -math.inf
    for start, end, _ in sorted(found):
        total += max(0.0, end - max(start, reach))
        reach = max(reach, end)
    return total


def rate(found: list[Rise]) -> float:
    lasted = covered(found)
    return sum(rise for _, _, rise in found) / lasted if lasted else math.nan


def lately(samples: Samples) -> Samples:
    """From so long ago on, with the last sample before."""
    before = [one for one in samples if one[0] < AT_S - RECENT_S]
    return before[-1:] + [one for one in samples if one[0] >= AT_S - RECENT_S]


def known(group: list[Samples]) -> list[Samples]:
    return [one for one in map(plain, group) if one]


@settings(max_examples=150, deadline=None)
@given(GROUPS)
def test_counters(group: list[Samples]) -> None:
    parts = series(group)
    found = figure("tuples", (), parts, at_s=AT_S, recent_s=RECENT_S)
    each = known(group)
    all_rises = [rise for samples in each for rise in rises(samples)]
    assert found.samples == sum(map(len, each))
    assert found.covered_s == pytest.approx(covered(all_rises))
    assert found.rate == pytest.approx(rate(all_rises), nan_ok=True)
    risen = sum(rise for _, _, rise in all_rises) if all_rises else math.nan
    assert found.rise == pytest.approx(risen, nan_ok=True)
    recent = [rise for samples in each for rise in rises(lately(samples))]
    assert found.recent_rate == pytest.approx(rate(recent), nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(GROUPS)
def test_gauges(group: list[Samples]) -> None:
    parts = series(group)
    found = figure("queue", (), parts, at_s=AT_S, recent_s=RECENT_S)
    each = known(group)
    gaps = sorted(b - a for samples in each for (a, _), (b, _) in pairwise(samples))
    middle = (gaps[(len(gaps) - 1) // 2] + gaps[len(gaps) // 2]) / 2 if gaps else 0.0
    newest = max((samples[-1][0] for samples in each), default=math.nan)
    read = [samples[-1][1] for samples in each if newest - samples[-1][0] <= 2 * middle]
    expected = sum(read) if each else math.nan
    assert found.latest == pytest.approx(expected, nan_ok=True)


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(BOUNDS), SERIES), max_size=8))
def test_histograms(told: list[tuple[str, Samples]]) -> None:
    parts = [one for bound, samples in told for one in series([samples], le=bound)]
    counts = []
    for bound in sorted({one.labels["le"] for one in parts}, key=float):
        own = [plain(samples) for name, samples in told if name == bound]
        counts.append((float(bound), sum(rise for one in own for _, _, rise in rises(one))))
    found = figure("latency", (), parts, at_s=AT_S, recent_s=RECENT_S)
    assert found.p50 == pytest.approx(quantile(counts, 0.5), nan_ok=True)
    assert found.p99 == pytest.approx(quantile(counts, 0.99), nan_ok=True)
    whole = [plain(samples) for name, samples in told if name == "+Inf"]
    assert found.rate == pytest.approx(rate([r for one in whole for r in rises(one)]), nan_ok=True)


def quantile(counts: list[tuple[float, float]], share: float) -> float:
    """As PromQL does; a bucket that seems to hold less than a smaller one holds as much."""
    if not counts or counts[-1][0] != math.inf:
        return math.nan
    most, rising = 0.0, []
    for bound, count in counts:
        most = max(most, count)
        rising.append((bound, most))
    if most == 0:
        return math.nan
    lower, below = 0.0, 0.0
    for upper, count in rising:
        if count >= share * most:
            if upper == math.inf:
                return lower
            into = (share * most - below) / (count - below) if count > below else 1.0
            return lower + (upper - lower) * into
        lower, below = upper, count
    return math.nan


@settings(max_examples=100, deadline=None)
@given(GROUPS)
def test_shares_and_round_trips(group: list[Samples]) -> None:
    each = known(group)
    if not each:
        return
    values = [value for samples in each for _, value in samples]
    found = figure("busy_share", (), series(group), at_s=AT_S, recent_s=RECENT_S)
    assert found.mean == pytest.approx(sum(values) / len(values))
    fresh = sorted(v for one in each if is_fresh(one) for _, v in one if v <= 10.0)
    middle = (fresh[(len(fresh) - 1) // 2] + fresh[len(fresh) // 2]) / 2 if fresh else math.nan
    rtt = figure("rtt", (), series(group), at_s=AT_S, recent_s=RECENT_S)
    assert rtt.median == pytest.approx(middle, nan_ok=True)


def is_fresh(samples: Samples) -> bool:
    gaps = sorted(b - a for (a, _), (b, _) in pairwise(samples))
    middle = (gaps[(len(gaps) - 1) // 2] + gaps[len(gaps) // 2]) / 2 if gaps else 15.0
    return AT_S - samples[-1][0] <= max(5.0, 3 * middle)


TASK = {"namespace": "n", "topology": "wc", "vertex": "v"}


@settings(max_examples=100, deadline=None)
@given(
    counters(),
    st.lists(st.tuples(st.integers(0, 300), st.integers(0, 60)), min_size=1, max_size=3),
)
def test_moves(sent: Samples, stays: list[tuple[int, int]]) -> None:
    """A receiver that has had several pods, each on a node of its own, seen from when to when."""
    edge = {**TASK, "task": "v-0", "pod": "p", "node": "here", "to_vertex": "w", "to_task": "w-0"}
    seen = [(float(begin), float(begin + length)) for begin, length in stays]
    receivers = [
        one
        for number, (begin, end) in enumerate(seen)
        for one in series(
            [[(begin, 1.0), (end, 2.0)]],
            **{**TASK, "vertex": "w", "task": "w-0", "pod": f"q{number}", "node": f"to{number}"},
        )
    ]
    pulled = {"tuples": series([sent], **edge), "processed": receivers}
    tables = condense(pulled, None, at_s=AT_S, windows=Windows())
    found = {row["target_node"]: row["tuples_per_s"] for row in tables["node_traffic"]}
    all_rises = rises(plain(sent))
    lasted, expected = covered(all_rises), dict[str, float]()
    for node, (since, until) in between(seen).items():
        amount = sum(
            rise * max(0.0, min(end, until) - max(start, since)) / (end - start)
            for start, end, rise in all_rises
        )
        if amount > 0:
            expected[node] = amount / lasted
    assert found == pytest.approx(expected)


def between(seen: list[tuple[float, float]]) -> dict[str, tuple[float, float]]:
    """From when to when the task was on each node: changes are half-way between two pods."""
    order = sorted(range(len(seen)), key=lambda number: (seen[number], f"q{number}"))
    since, found = -math.inf, {}
    for place, number in enumerate(order):
        until = math.inf
        if place + 1 < len(order):
            first, last = seen[order[place + 1]][0], seen[number][1]
            until = max(since, min(first, (first + last) / 2))
        found[f"to{number}"] = (since, until)
        since = until
    return {node: stay for node, stay in found.items() if stay[1] > stay[0]}
