"""What decide does, in which order, and why it does nothing."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import MAY_MOVE, NOW_S, OBSERVED, Cluster, applied, make_snapshot
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.errors import StrategyUnavailable
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Limits, Permits, PlacementLimits
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot

APART = make_snapshot({"a": 1, "b": 1}, placement=[0, 1])


def decided(snapshot: Snapshot, strategy: str = "Auto") -> Plan:
    return decide(snapshot, strategy, now_s=NOW_S, rng=np.random.default_rng(0))


def limited(snapshot: Snapshot, placement: PlacementLimits) -> Snapshot:
    return replace(snapshot, limits=replace(MAY_MOVE, placement=placement))


def busy(snapshot: Snapshot, share: float) -> Snapshot:
    """All tasks measured, busy for this share of the time, at 100 tuples/s."""
    tasks = len(snapshot.tasks)
    loads = TaskLoad(
        cpu_cores=np.full(tasks, 0.1),
        memory_bytes=np.full(tasks, 1e6),
        busy_share=np.full(tasks, share),
        backpressured_share=np.zeros(tasks),
        wait_s=np.zeros(tasks),
        processed_per_s=np.full(tasks, 100.0),
        true_rate_per_s=np.full(tasks, 100.0 / share),
        queue_tuples=np.zeros(tasks),
        observed=OBSERVED,
    )
    return replace(snapshot, loads=loads)


def test_tasks_without_a_node_get_one_and_others_stay() -> None:
    plan = decided(replace(APART, placement=np.array([0, -1])))
    assert plan.assignments["a-0"] == "n0000"
    assert dict(plan.placed) == {"b-0": plan.assignments["b-0"]}
    assert not plan.moves
    assert plan.reasons[0].code is ReasonCode.REPLACED


def test_the_first_placement_says_so_and_what_was_compared() -> None:
    plan = decided(make_snapshot())
    assert plan.reasons[0].code is ReasonCode.FIRST_PLACEMENT
    assert any(reason.code is ReasonCode.COMPARED for reason in plan.reasons)
    assert np.isfinite(plan.objective)


def test_tasks_that_talk_move_together() -> None:
    plan = decided(APART)
    assert len(plan.moves) == 1
    assert len(set(plan.assignments.values())) == 1
    assert plan.reasons[0].code is ReasonCode.MOVED
    assert decided(applied(APART, plan, NOW_S)).reasons[0].code is ReasonCode.COOLING_DOWN


def test_nothing_moves_unless_permitted() -> None:
    plan = decided(replace(APART, limits=Limits()))
    assert plan.changes_nothing
    assert dict(plan.assignments) == {"a-0": "n0000", "b-0": "n0001"}


@pytest.mark.parametrize(
    ("placement", "moves"),
    [
        pytest.param(PlacementLimits(min_gain_percent=98.0), 1, id="gain just enough"),
        pytest.param(PlacementLimits(min_gain_percent=99.5), 0, id="gain too small"),
        pytest.param(PlacementLimits(move_cost=0.5), 1, id="move worth its price"),
        pytest.param(PlacementLimits(move_cost=2.0), 0, id="move too dear"),
        pytest.param(PlacementLimits(max_moves=0), 0, id="no move left"),
    ],
)
def test_a_move_has_to_pay(placement: PlacementLimits, moves: int) -> None:
    plan = decided(limited(APART, placement))
    assert len(plan.moves) == moves
    if not moves:
        assert plan.reasons[0].code is ReasonCode.WITHIN_TOLERANCE


@pytest.mark.parametrize(("ago_s", "moves"), [(59.0, 0), (61.0, 1), (-5.0, 0)])
def test_after_a_change_everything_rests(ago_s: float, moves: int) -> None:
    at_s = NOW_S - ago_s
    for changed in (
        replace(APART, last_moved_at_s=at_s),
        replace(APART, last_scaled_at_s=at_s),
    ):
        plan = decided(changed)
        assert len(plan.moves) == moves
        assert moves or plan.reasons[0].code is ReasonCode.COOLING_DOWN


def test_what_was_learnt_is_handed_on() -> None:
    memory = Memory(at_s=NOW_S)
    for snapshot in (APART, replace(APART, placement=np.array([0, -1]))):
        assert decided(replace(snapshot, memory=memory)).memory is memory


def test_an_overloaded_node_is_relieved_whatever_j_says() -> None:
    """Four tasks of one cpu on a node of two, and what they gain from being together is lost."""
    crowded = make_snapshot(
        {"a": 2, "b": 2}, cluster=Cluster(nodes=2, cpu=2.0), cpu=1.0, placement=[0, 0, 0, 0]
    )
    plan = decided(crowded)
    assert len(plan.moves) == 2
    assert "n0000 is overloaded" in plan.reasons[0].message


def test_a_task_leaves_a_node_that_may_not_run_it() -> None:
    snapshot = make_snapshot({"a": 1, "b": 1}, placement=[0, 0])
    cordoned = np.array(snapshot.eligible)
    cordoned[:, 0] = False
    plan = decided(replace(snapshot, eligible=cordoned))
    assert {move.source for move in plan.moves} == {"n0000"}
    assert len(plan.moves) == 2


def test_measured_use_keeps_a_node_from_being_filled() -> None:
    """Requests would fit on one node of four; what is used would not."""
    snapshot = make_snapshot({"a": 4, "b": 4}, cluster=Cluster(nodes=2, cpu=4.0), cpu=0.5)
    assert len(set(decided(snapshot).assignments.values())) == 1
    unknown = TaskLoad.unknown(8)
    loads = replace(unknown, cpu_cores=np.full(8, 0.5), observed=OBSERVED)
    assert len(set(decided(replace(snapshot, loads=loads)).assignments.values())) == 2
    stale = replace(loads, observed=replace(OBSERVED, at_s=NOW_S - 1000))
    assert len(set(decided(replace(snapshot, loads=stale)).assignments.values())) == 1


def test_scaling_comes_before_moving() -> None:
    limits = Limits(permits=Permits(move=True, scale=True))
    plan = decided(busy(replace(APART, limits=limits), 0.95))
    assert plan.replicas
    assert not plan.moves
    assert plan.reasons[0].code is ReasonCode.SCALED_UP


def test_scaling_beyond_the_room_says_what_is_missing() -> None:
    limits = Limits(permits=Permits(scale=True))
    tight = make_snapshot(
        {"a": 1, "b": 1}, cluster=Cluster(nodes=2, cpu=0.5), placement=[0, 1], limits=limits
    )
    plan = decided(busy(tight, 0.95))
    assert plan.replicas
    assert any(reason.code is ReasonCode.INFEASIBLE for reason in plan.reasons)


def test_moving_goes_on_where_nothing_is_to_be_scaled() -> None:
    limits = Limits(permits=Permits(move=True, scale=True))
    plan = decided(replace(APART, limits=limits))
    assert plan.moves
    assert ReasonCode.METRICS_MISSING in {reason.code for reason in plan.reasons}


def test_a_plan_from_measured_loads_carries_a_prediction() -> None:
    plan = decided(busy(APART, 0.5))
    assert plan.prediction is not None
    assert plan.prediction.nodes_used == 1


def test_the_simulator_keeps_tasks_from_crowding_a_node() -> None:
    """Both fit on one node by the user's limits, but each really needs most of its processor."""
    careless = PlacementLimits(use_headroom=10.0)
    apart = make_snapshot(
        {"a": 1, "b": 1}, cluster=Cluster(nodes=2, cpu=1.0), placement=[0, 1], cpu=0.1
    )
    crowded = busy(limited(apart, careless), 0.9)
    assert crowded.loads is not None
    hungry = replace(crowded.loads, cpu_cores=np.full(2, 0.9))
    plan = decided(replace(crowded, loads=hungry))
    assert not plan.moves
    assert "instead of" in plan.reasons[0].message


def test_a_small_plan_needs_no_compiler_and_no_sparse_matrices() -> None:
    """Loading numba takes longer than all the rest of `thalweg plan`; scipy's parts add to it."""
    script = (
        "import sys, numpy as np\n"
        "from thalweg_generators import make_snapshot\n"
        "from thalweg_scheduling.decide import decide\n"
        "decide(make_snapshot(), 'Auto', now_s=0.0, rng=np.random.default_rng(0))\n"
        "sys.exit(any(each in sys.modules for each in ('numba', 'scipy.sparse')))\n"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


def test_shared_processes_are_one_a_node() -> None:
    shared = limited(make_snapshot(), PlacementLimits(shared_processes=True))
    plan = decided(shared)
    for first, node in plan.assignments.items():
        for second, other in plan.assignments.items():
            together = plan.processes[first] == plan.processes[second]
            assert together == (node == other)


def test_an_unknown_strategy_is_refused_with_the_known_ones() -> None:
    with pytest.raises(StrategyUnavailable, match="choose one of Auto, Even, "):
        decided(APART, "Magic")


def weighted(snapshot: Snapshot, *, regroup: bool = True) -> Snapshot:
    """Two receivers behind a Weighted edge, the second of which takes four times as long."""
    edge = replace(snapshot.edges[0], grouping=GroupingType.WEIGHTED)
    known = busy(replace(snapshot, edges=(edge,)), 0.5)
    assert known.loads is not None
    waits = replace(known.loads, wait_s=np.array([0.0, 0.001, 0.031]))
    limits = replace(snapshot.limits, permits=Permits(regroup=regroup))
    return replace(known, loads=waits, limits=limits)


TWO_RECEIVERS = make_snapshot({"a": 1, "b": 2}, placement=[0, 0, 0])


def test_shares_follow_how_long_tuples_take() -> None:
    snapshot = weighted(TWO_RECEIVERS)
    plan = decided(snapshot)
    (edge,) = plan.weights
    assert (edge.source, edge.target) == ("a", "b")
    assert edge.shares["b-0"] > edge.shares["b-1"] > 0
    assert sum(edge.shares.values()) == pytest.approx(1.0)
    assert plan.reasons[0].code is ReasonCode.REGROUPED
    assert decided(replace(snapshot, weights=plan.weights)).changes_nothing


def test_shares_go_with_the_moves() -> None:
    """Shares of where tasks were would be wrong until the next look."""
    apart = weighted(make_snapshot({"a": 1, "b": 2}, placement=[0, 1, 1]))
    snapshot = replace(
        apart, limits=replace(apart.limits, permits=Permits(move=True, regroup=True))
    )
    plan = decided(snapshot)
    assert plan.moves
    assert plan.weights
    assert [one.code for one in plan.reasons] == [ReasonCode.MOVED, ReasonCode.REGROUPED]


def test_shares_stay_without_permission_or_with_old_metrics() -> None:
    assert decided(weighted(TWO_RECEIVERS, regroup=False)).changes_nothing
    late = decide(weighted(TWO_RECEIVERS), "Auto", now_s=NOW_S + 3600, rng=np.random.default_rng(0))
    assert late.changes_nothing


def test_nodes_that_nothing_needs_may_sleep_if_that_is_permitted() -> None:
    snapshot = busy(make_snapshot({"a": 1, "b": 1}, placement=[0, 0]), 0.5)
    assert decided(snapshot).asleep == ()
    sleepy = decided(
        replace(snapshot, limits=replace(snapshot.limits, permits=Permits(sleep=True)))
    )
    assert sleepy.asleep
    assert set(sleepy.asleep) <= set(snapshot.nodes) - {"n0000"}
    assert sleepy.reasons[0].code is ReasonCode.MAY_SLEEP


def test_a_task_where_it_may_not_be_does_not_wait_for_the_cool_down() -> None:
    eligible = np.array(APART.eligible)
    eligible[0, 0] = False
    cooling = replace(APART, last_moved_at_s=NOW_S - 1)
    assert decided(cooling).reasons[0].code is ReasonCode.COOLING_DOWN
    assert [move.task for move in decided(replace(cooling, eligible=eligible)).moves] == ["a-0"]
