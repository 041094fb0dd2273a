"""Rows over time, the comparison of groupings, and what a place in Auto's portfolio is worth."""

from itertools import islice

import numpy as np
import pytest

from bench.instances import small_instances
from bench.papers import locality, ns, portfolio, ra
from bench.papers.contest import CONTESTS
from bench.papers.over_time import Run, Span, cpu_percent, nodes, run_over_time, try_over_time
from bench.papers.systems import EVEN, strategy
from bench.papers.telling import told_over_time
from thalweg_scheduling.simulate.profiles import step

SHORT = Run(
    name="short",
    setting=ra.WORD_COUNT,
    profile=step(100, (300, 60)),
    duration_s=120,
    spans=(
        Span(
            name="at the end",
            unit="nodes",
            read=nodes,
            begin_s=100,
            end_s=120,
            paper={"Even": 14, "RaStream": 5},
        ),
        Span(
            name="all",
            unit="CPU, %",
            read=cpu_percent,
            begin_s=0,
            end_s=120,
            paper={},
            more_is_better=True,
            ranks=("RaStream", "Even"),
        ),
    ),
)


@pytest.mark.slow
def test_a_strategy_follows_the_stream_and_a_baseline_does_not() -> None:
    found = run_over_time(SHORT, [EVEN, strategy("RaStream")])
    used = found[0].values
    assert used["Even"] == 14
    # Slots for 20 tasks, four on a node.
    assert used["RaStream"] == 5
    assert found[1].values["RaStream"] > found[1].values["Even"]
    page = told_over_time(found, "RaStream")
    assert "14 (paper 14)" in page
    first = [cell.strip() for cell in page.splitlines()[2].split("|")]
    second = [cell.strip() for cell in page.splitlines()[3].split("|")]
    assert (second[6], second[9]) == ("–", "1 of 1")
    # Paper's gain, ours, Auto's, and the order of the one pair.
    assert first[6:10] == ["+64.3 %", "+64.3 %", "–", "1 of 1"]
    assert "| at the end" in page


@pytest.mark.slow
def test_processes_keep_to_the_slots_of_the_setting() -> None:
    trial = try_over_time(SHORT, strategy("Auto"), seed=1)
    assert trial.windows[-1].nodes_used <= 14
    assert trial.mean("throughput_per_s", 70, 120) == pytest.approx(300, rel=0.1)


def test_every_run_has_numbers_of_its_paper_and_ends_in_time() -> None:
    for contest in CONTESTS.values():
        for run in contest.runs:
            assert any(span.paper for span in run.spans)
            assert run.base in {system.name for system in contest.over_time}
            assert all(0 <= span.begin_s < span.end_s <= run.duration_s for span in run.spans)


def test_near_source_is_compared_at_the_load_of_storms_busiest() -> None:
    found = locality.compare(ns.TOPOLOGY_2, EVEN, 2700.0)
    assert 0 < found.near_remote <= 1
    assert 0 < found.storm_remote <= 1
    assert found.near_busiest <= found.storm_busiest * 1.05
    assert "COMMCount 2" in locality.told([found])


@pytest.mark.slow
def test_papers_are_measured_by_the_same_objective_as_auto() -> None:
    found = portfolio.run(list(islice(small_instances(), 2)))
    assert [one.name for one in found] == list(portfolio.PAPERS)
    assert all(len(one.ratios) == 2 for one in found)
    # Auto proves these, so nobody is better.
    assert all(one.wins == 0 for one in found)
    assert "SgpStream" in portfolio.told(found)
    tally = portfolio.Tally(name="x", ratios=(0.9, 1.0, 1.5, float("inf")))
    assert (tally.wins, tally.draws) == (1, 1)
    assert np.isfinite(tally.ratios[0])
