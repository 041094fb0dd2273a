"""Shares that the planner gives to edges with weights."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_scheduling.decide import decide
from thalweg_scheduling.group import WeightSteps, updated_weights
from thalweg_scheduling.group.weighing import (
    fill_nearest,
    near_source_flows,
    weigh_by_load,
    weigh_near_source,
)
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Limits, Permits
from thalweg_scheduling.model.matrices import DependencyMatrix, Observed, TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_trials import cluster

NAN = float("nan")


def flowing(grouping: GroupingType, true_rate: float = 400.0) -> Snapshot:
    """Two senders of 100 tuples/s to three receivers, two nodes of one domain and one of another.

    Tasks are read-0, read-1, work-0, work-1, work-2.
    """
    snapshot = cluster(
        {"read": 2, "work": 3},
        [("read", "work")],
        cores=[4.0] * 3,
        domains=[0, 0, 1],
        groupings={("read", "work"): grouping},
    )
    pairs = {(s, r): (100 / 3, 1.0) for s in (0, 1) for r in (2, 3, 4)}
    return replace(
        snapshot,
        placement=np.array([0, 1, 0, 1, 2]),
        traffic=DependencyMatrix.from_pairs(5, pairs),
        loads=replace(
            TaskLoad.unknown(5),
            wait_s=np.array([0.0, 0.0, 0.001, 0.001, 0.02]),
            true_rate_per_s=np.full(5, true_rate),
        ),
    )


def test_a_slow_task_gets_less_and_the_others_more() -> None:
    (found,) = weigh_by_load(snapshot := flowing(GroupingType.WEIGHTED), snapshot.placement)
    assert (found.source, found.target) == ("read", "work")
    assert dict(found.shares) == pytest.approx(
        {"work-0": 11 / 27, "work-1": 11 / 27, "work-2": 5 / 27}
    )


def test_near_senders_keep_to_their_own_node() -> None:
    snapshot = flowing(GroupingType.NEAR_SOURCE)
    (found,) = weigh_near_source(snapshot, snapshot.placement)
    assert dict(found.shares) == pytest.approx({"work-0": 0.5, "work-1": 0.5, "work-2": 0.0})


def test_what_is_over_the_cap_goes_farther() -> None:
    snapshot = flowing(GroupingType.NEAR_SOURCE, true_rate=100.0)
    flows = near_source_flows(snapshot, snapshot.edges[0], snapshot.placement, alpha=0.75)
    assert flows is not None
    assert flows == pytest.approx(np.array([[75, 0, 25], [0, 75, 25]]))


def test_who_was_left_out_is_taken_to_be_as_fast_as_the_others() -> None:
    snapshot = flowing(GroupingType.NEAR_SOURCE, true_rate=100.0)
    loads = snapshot.loads
    assert loads is not None
    idle = replace(loads, true_rate_per_s=np.array([100.0, 100.0, 100.0, 100.0, NAN]))
    (known,) = weigh_near_source(snapshot, snapshot.placement)
    (found,) = weigh_near_source(replace(snapshot, loads=idle), snapshot.placement)
    assert found == known
    assert found.shares["work-2"] > 0
    nobody = replace(loads, true_rate_per_s=np.full(5, NAN))
    assert weigh_near_source(replace(snapshot, loads=nobody), snapshot.placement) == ()


def test_senders_keep_to_their_own_process_first() -> None:
    # Both senders and all receivers are on one node; the second sender is in a process with one.
    snapshot = flowing(GroupingType.NEAR_SOURCE)
    together = np.zeros(5, dtype=np.int64)
    process = np.array([0, 1, 2, 1, 3])
    (alike,) = weigh_near_source(snapshot, together)
    (nearer,) = weigh_near_source(snapshot, together, process)
    assert alike.shares["work-1"] == pytest.approx(1 / 3)
    # All of the second sender's, and of the first one's by what is left of the caps of 240.
    assert nearer.shares["work-1"] == pytest.approx((100 + 100 * 140 / 620) / 200)


def test_decide_weighs_by_the_processes_that_there_are() -> None:
    snapshot = flowing(GroupingType.NEAR_SOURCE)
    observed = Observed(at_s=100.0, window_s=30.0, samples=5, coverage=1.0)
    assert snapshot.traffic is not None
    assert snapshot.loads is not None
    shared = replace(
        snapshot,
        placement=np.zeros(5, dtype=np.int64),
        process=np.array([0, 1, 2, 1, 3]),
        traffic=replace(snapshot.traffic, observed=observed),
        loads=replace(snapshot.loads, observed=observed),
        latency=replace(snapshot.latency, observed=observed),
        limits=Limits(permits=Permits(regroup=True)),
    )
    plan = decide(shared, "NsStream", now_s=100.0, rng=np.random.default_rng(1))
    assert plan.weights[0].shares["work-1"] == pytest.approx((100 + 100 * 140 / 620) / 200)


@pytest.mark.parametrize("weigh", [weigh_by_load, weigh_near_source])
def test_unknown_is_no_reason_to_change_weights(weigh: object) -> None:
    assert callable(weigh)
    for grouping in (GroupingType.WEIGHTED, GroupingType.NEAR_SOURCE):
        snapshot = flowing(grouping)
        assert weigh(replace(snapshot, traffic=None), snapshot.placement) == ()
        assert weigh(replace(snapshot, loads=None), snapshot.placement) == ()
        half = DependencyMatrix.from_pairs(5, {(0, 2): (NAN, NAN), (1, 3): (1.0, 1.0)})
        assert weigh(replace(snapshot, traffic=half), snapshot.placement) == ()
    shuffled = flowing(GroupingType.SHUFFLE)
    assert weigh(shuffled, shuffled.placement) == ()


@st.composite
def markets(
    draw: st.DrawFn,
) -> tuple[Floats, Floats, Ints]:
    senders, receivers = draw(st.integers(1, 8)), draw(st.integers(1, 8))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    return (
        rng.uniform(1, 100, senders),
        rng.uniform(1, 300, receivers),
        rng.integers(0, 4, (senders, receivers)),
    )


@settings(max_examples=50)
@given(markets())
def test_all_is_sent_and_caps_are_exceeded_by_what_is_left_at_most(
    market: tuple[Floats, Floats, Ints],
) -> None:
    sends, cap, near = market
    flows = fill_nearest(sends, cap, near)
    assert flows.sum(axis=1) == pytest.approx(sends)
    assert np.all(flows >= 0)
    over = float((flows.sum(axis=0) / cap).max())
    # Circles may leave a sender without a free receiver; only what is left then goes over a cap.
    assert over <= 1.0 + float(sends.sum() / cap.sum()) + 1e-6


def test_all_caps_are_kept_where_everybody_reaches_everybody() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        sends, cap = rng.uniform(1, 100, 6), rng.uniform(1, 100, 6)
        flows = fill_nearest(sends * 0.95 * cap.sum() / sends.sum(), cap, np.zeros((6, 6), int))
        assert np.all(flows.sum(axis=0) <= cap * (1 + 1e-3))


@pytest.mark.parametrize(
    ("weights", "tuple_s", "after"),
    [
        ([10, 10], [0.03, 0.01], [5, 11]),
        ([10, 10], [0.02, 0.02], [10, 10]),
        ([10, 10, 10], [0.0205, 0.02, 0.0195], [10, 10, 10]),
        ([1.5, 100], [0.03, 0.01], [1, 100]),
        ([10, 7], [NAN, 0.01], [10, 7]),
        ([10, 7], [NAN, NAN], [10, 7]),
    ],
)
def test_weights_halve_and_rise_within_bounds(
    weights: list[float], tuple_s: list[float], after: list[float]
) -> None:
    assert updated_weights(weights, tuple_s) == pytest.approx(after)


def test_weights_find_the_speeds_of_unequal_tasks() -> None:
    speed = np.array([1.0, 2.0, 4.0])
    weights: tuple[float, ...] = (10.0, 10.0, 10.0)
    worst_at_first, worst = 0.0, 0.0
    for _ in range(200):
        busy = 4.9 * np.array(weights) / sum(weights) / speed
        seconds = 1 / speed / np.maximum(0.01, 1 - busy)
        worst = float(busy.max())
        worst_at_first = worst_at_first or worst
        weights = updated_weights(weights, seconds.tolist())
    assert worst_at_first > 1
    assert worst < 0.95


def test_steps_that_make_no_sense_are_refused() -> None:
    with pytest.raises(InvalidParameters):
        WeightSteps(least=0.0)
    with pytest.raises(InvalidParameters):
        WeightSteps(rise=0.0)
