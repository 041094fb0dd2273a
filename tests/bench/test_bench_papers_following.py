"""What strategies do while a run goes on: their occasions, their processes and their shares."""

from dataclasses import replace

import numpy as np
import pytest

from bench.papers import hd, ns, ra, sgp
from bench.papers.contest import CONTESTS
from bench.papers.following import Following
from bench.papers.over_time import first_layout, grouped_setting
from bench.papers.setting import NOW_S, OBSERVED, Setting
from bench.papers.systems import EVEN, System, lay_out, strategy
from bench.papers.trial import Layout, measured
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Permits
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate.changing import carried_out


class Stage:
    """A system that is asked again and again, and whose plans are carried out."""

    def __init__(self, system: System, setting: Setting) -> None:
        self.following = Following(system, setting)
        self.setting, self.now_s = setting, NOW_S
        self.layout = first_layout(system, setting, 1000.0)
        self.snapshot: Snapshot | None = None

    def look(self, rate_per_s: float) -> Plan:
        """Thirty seconds later, at this rate."""
        rng = np.random.default_rng(1)
        self.now_s += 30.0
        seen = measured(self.layout, rate_per_s, rng, now_s=self.now_s, noise=0.0)
        before = self.snapshot
        seen = replace(
            seen,
            memory=None if before is None else before.memory,
            last_moved_at_s=None if before is None else before.last_moved_at_s,
            limits=replace(seen.limits, permits=Permits(move=True, regroup=True)),
            latency=replace(seen.latency, observed=replace(OBSERVED, at_s=self.now_s)),
        )
        plan = self.following(seen, self.now_s, rng)
        after = carried_out(seen, plan)
        if plan.moves:
            after = replace(after, last_moved_at_s=self.now_s)
        self.snapshot = after
        assert after.process is not None
        self.layout = Layout(setting=self.setting, node=after.placement, process=after.process)
        return plan


def contestant(word: str, name: str) -> System:
    return next(each for each in CONTESTS[word].over_time if each.name == name)


def test_hd_stream_places_anew_on_its_own_occasion() -> None:
    stage = Stage(contestant("hd", "HdStream"), hd.YSB)
    assert stage.look(1000.0).moves
    # More than a tenth, less than the paper's psi as we take it.
    assert not stage.look(1200.0).moves
    assert not stage.look(1250.0).moves
    after = stage.snapshot
    assert after is not None
    assert after.memory is not None
    before = after.memory.placed_by
    stage.look(1400.0)
    stage.look(1400.0)
    assert stage.snapshot is not None
    assert stage.snapshot.memory is not None
    assert stage.snapshot.memory.placed_by is not before


def test_a_strategy_without_an_occasion_places_anew_at_a_tenth() -> None:
    stage = Stage(contestant("ra", "RaStream"), ra.WORD_COUNT)
    assert stage.look(3000.0).moves
    assert not stage.look(3100.0).moves
    assert stage.look(6000.0).moves


def test_hd_streams_tasks_take_slots_in_turn_over_time_too() -> None:
    assert contestant("hd", "HdStream").in_turn
    stage = Stage(contestant("hd", "HdStream"), hd.YSB)
    stage.look(1000.0)
    assert slots_in_turn(stage.layout)


def slots_in_turn(layout: Layout) -> bool:
    """Whether every node fills as many slots as it has tasks, up to all."""
    most = layout.setting.processes_per_node
    return all(
        len(np.unique(layout.process[layout.node == at])) == min(most, int(count))
        for at, count in zip(*np.unique(layout.node, return_counts=True), strict=True)
    )


def test_ns_stream_is_deployed_once_and_only_groups_anew() -> None:
    system = contestant("ns", "NsStream")
    setting = grouped_setting(ns.TOPOLOGY_1, GroupingType.NEAR_SOURCE)
    stage = Stage(system, setting)
    even: Ints = lay_out(EVEN, setting, 1000.0).node
    assert stage.layout.node.tolist() != even.tolist()
    first = stage.look(1000.0)
    assert first.weights
    for rate in (2000.0, 4000.0, 7000.0):
        assert not stage.look(rate).moves


@pytest.mark.parametrize(
    ("word", "grouping"), [("sgp", GroupingType.WEIGHTED), ("ns", GroupingType.NEAR_SOURCE)]
)
def test_the_paper_and_auto_group_alike_in_the_runs(word: str, grouping: GroupingType) -> None:
    contest = CONTESTS[word]
    found = {each.name: each.grouping for each in contest.over_time if each.grouping is not None}
    assert found == {contest.strategy: grouping, "Auto": grouping}


def test_shares_go_along_with_the_moves() -> None:
    setting = grouped_setting(sgp.STEADY.with_replicas({"split": 4}), GroupingType.WEIGHTED)
    stage = Stage(replace(strategy("SgpStream"), grouping=GroupingType.WEIGHTED), setting)
    plan = stage.look(30_000.0)
    assert plan.moves
    assert [(each.source, each.target) for each in plan.weights] == [("spout", "split")]
