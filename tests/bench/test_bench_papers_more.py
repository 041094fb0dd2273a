"""Rows at equal nodes, the sweep of α, and the papers' small experiments."""

from dataclasses import replace

import numpy as np
import pytest

from bench.papers import alphas, checks, md, ns, preliminary, ra
from bench.papers.equal_nodes import at_equal_nodes, told_at_equal_nodes
from bench.papers.over_time import grouped_setting, try_over_time
from bench.papers.rows import Measure, Row
from bench.papers.running import Result, is_hopeless, run_row, value_of
from bench.papers.systems import EVEN, System, lay_out, strategy
from bench.papers.trial import Layout
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.simulate.profiles import constant

ROW = Row(
    name="row",
    setting=ra.WORD_COUNT,
    measure=Measure.LATENCY,
    rate_per_s=1000,
    base="Even",
    paper={"RaStream": 6.0, "Even": 12.0},
)


def contenders() -> list[System]:
    return [EVEN, strategy("RaStream"), strategy("Auto")]


def once(row: Row) -> Result:
    return run_row(row, contenders(), seeds=(1,), tries=0)


@pytest.mark.slow
def test_at_equal_nodes_nobody_has_more_than_the_most_frugal() -> None:
    first = once(ROW)
    assert first.nodes["Even"] == 14
    again = at_equal_nodes(first, contenders(), "RaStream", seeds=(1,), tries=0)
    assert again is not None
    assert len(again.row.setting.machines) == min(first.nodes["RaStream"], first.nodes["Auto"])
    assert again.nodes["Even"] == len(again.row.setting.machines)
    page = told_at_equal_nodes([again], contenders(), "RaStream")
    assert "Auto over RaStream" in page
    # Who has the same nodes already is not run again.
    assert at_equal_nodes(again, contenders(), "RaStream", seeds=(1,), tries=0) is None


@pytest.mark.parametrize(
    "row", [replace(ROW, measure=Measure.NODES), replace(ROW, contradicts="it cannot be")]
)
def test_rows_about_nodes_and_rows_that_do_not_count_are_not_run_again(row: Row) -> None:
    assert at_equal_nodes(once(row), contenders(), "RaStream") is None


@pytest.mark.slow
def test_a_small_alpha_sends_away_what_could_stay() -> None:
    found = alphas.run((0.1, 0.3), (ns.TOPOLOGY_2,), (1,))
    assert [one.alpha for one in found] == [0.1, 0.3]
    assert found[0].latency_ms > found[1].latency_ms
    assert all(one.bottleneck_per_s >= 5000 for one in found)
    assert "COMMCount 2" in alphas.told(found)


def test_more_tasks_lower_the_capacity_until_it_no_longer_pays() -> None:
    lines = checks.more_tasks().splitlines()[2:]
    latency_ms = [float(line.split("|")[3]) for line in lines]
    assert latency_ms == sorted(latency_ms, reverse=True)
    first, last = latency_ms[0] - latency_ms[1], latency_ms[-2] - latency_ms[-1]
    assert first > 10 * last
    placed = [line.split("|") for line in checks.placed_by_anyone().splitlines()[2:]]
    assert len(placed) == 12
    # By whomever tasks are placed, the bolt is as busy as in the paper.
    assert all(0.25 <= float(line[6]) <= 0.3 for line in placed[4:])


def test_what_near_source_began_with_comes_out() -> None:
    rises = [
        [float(cell) for cell in (line.split("|")[3], line.split("|")[5])]
        for line in preliminary.before_near_source().splitlines()[2:]
    ]
    # From one node to four, and a worker that fills up; the other two count no acknowledgement.
    for ours, paper in (rises[0], rises[3]):
        assert ours == pytest.approx(paper, rel=0.1)
    assert all(ours > 0 for ours, _ in rises)


def test_a_rising_rate_gets_through_until_a_task_is_full() -> None:
    lines = preliminary.more_and_more().splitlines()[2:]
    offered, got = zip(
        *((line.split("|")[1].strip(), line.split("|")[2].strip()) for line in lines), strict=True
    )
    assert offered[:-1] == got[:-1]
    assert offered[-1] != got[-1]


def test_three_domains_are_slower_than_one() -> None:
    for line in checks.near_and_far().splitlines()[2:]:
        near, far = (float(cell) for cell in line.split("|")[2:4])
        assert near + 10 < far


def test_a_layout_is_hopeless_only_if_it_is_no_better() -> None:
    row = next(row for row in md.ROWS if row.measure is Measure.PENDING)
    layout = lay_out(EVEN, row.setting, row.rate_per_s)
    value = value_of(row, layout)
    assert not is_hopeless(row, layout, 0.99 * value)
    assert is_hopeless(row, layout, 1.01 * value)


@pytest.mark.slow
def test_near_source_runs_over_time_as_it_does_in_a_topology() -> None:
    setting = grouped_setting(ns.TOPOLOGY_2, GroupingType.NEAR_SOURCE)
    assert setting.streams[0].grouping is GroupingType.NEAR_SOURCE
    day = next(run for run in ns.RUNS if run.setting is ns.TOPOLOGY_2)
    run = replace(day, profile=constant(500), duration_s=120)
    near_source = strategy("NsStream", regroup=_unused, grouping=GroupingType.NEAR_SOURCE)
    systems = (strategy("NsStream"), near_source)
    shuffled, near = (try_over_time(run, system, seed=1) for system in systems)
    assert near.mean("complete_latency_s", 60, 120) < shuffled.mean("complete_latency_s", 60, 120)
    assert np.isfinite(near.mean("throughput_per_s", 60, 120))


def _unused(layout: Layout, rate_per_s: float, rng: np.random.Generator) -> Layout:
    raise AssertionError("over time, the runtime's own rule groups")
