"""Processes move as a whole, where J gets less and all of it has room."""

from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from thalweg_generators import MAY_MOVE, NOW_S, Cluster, make_snapshot, snapshots
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.limits import PlacementLimits
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.together import steps_together, value_of
from thalweg_scheduling.scale import resized
from thalweg_scheduling.simulate.changing import carried_out

SHARED = PlacementLimits(shared_processes=True, whole_processes=True)


def shared(snapshot: Snapshot, process: list[int], **limits: object) -> Snapshot:
    placement = replace(SHARED, **limits)  # type: ignore[arg-type]
    return replace(
        snapshot, process=np.array(process), limits=replace(MAY_MOVE, placement=placement)
    )


def decided(snapshot: Snapshot) -> Plan:
    return decide(snapshot, "Auto", now_s=NOW_S, rng=np.random.default_rng(0))


# Two processes of two tasks each on two nodes: a-0 with b-0, and a-1 with b-1.
APART = make_snapshot({"a": 2, "b": 2}, placement=[0, 1, 0, 1])
PAIRS = [0, 1, 0, 1]


def test_a_process_moves_with_all_its_tasks() -> None:
    plan = decided(shared(APART, PAIRS))
    assert {move.task for move in plan.moves} in ({"a-0", "b-0"}, {"a-1", "b-1"})
    assert len({(move.source, move.target) for move in plan.moves}) == 1
    assert plan.reasons[0].code is ReasonCode.MOVED


def test_newcomers_join_no_process_that_there_is() -> None:
    snapshot = shared(APART, PAIRS)
    one_more = replace(resized(snapshot, {"b": 3}), traffic=None)
    plan = decided(one_more)
    assert set(plan.placed) == {"b-2"}
    together = [plan.processes[name] for name in ("a-0", "a-1", "b-0", "b-1")]
    assert together == PAIRS
    assert plan.processes["b-2"] not in PAIRS
    after = carried_out(one_more, plan)
    assert after.process is not None
    assert after.process[:4].tolist() == PAIRS


def test_j_is_counted_for_the_processes_as_they_are() -> None:
    snapshot = shared(APART, PAIRS)
    plan = decided(snapshot)
    together = np.full(4, 0)
    problem = problem_of(snapshot, np.ones(4, dtype=np.bool_))
    assert plan.objective == value_of(problem, together)
    assert plan.objective > 0, "two processes on one node do not hand over in memory"
    assert dict(plan.processes) == {"a-0": 0, "a-1": 1, "b-0": 0, "b-1": 1}


def test_nothing_moves_where_all_of_a_process_does_not_fit() -> None:
    # Room for three tasks: one alone could go over, two cannot.
    cluster = Cluster(nodes=2, domains=2, cpu=1.5, pods=10.0)
    snapshot = make_snapshot({"a": 2, "b": 2}, cluster=cluster, placement=[0, 1, 0, 1])
    plan = decided(shared(snapshot, PAIRS))
    assert not plan.moves


def test_no_more_moves_than_allowed() -> None:
    assert not decided(shared(APART, PAIRS, max_moves=1)).moves
    assert len(decided(shared(APART, PAIRS, max_moves=2)).moves) == 2


def test_a_node_that_may_not_run_a_task_is_left_by_all_that_share_with_it() -> None:
    eligible = np.ones((4, APART.capacity.shape[0]), dtype=np.bool_)
    eligible[0, 0] = False
    plan = decided(shared(replace(APART, eligible=eligible), PAIRS))
    assert {"a-0", "b-0"} <= {move.task for move in plan.moves}
    assert plan.assignments["a-0"] == plan.assignments["b-0"] != "n0000"


@given(st.data())
def test_processes_are_never_torn(data: st.DataObject) -> None:
    snapshot = data.draw(snapshots(placed=True))
    placed = snapshot.placement
    tasks = len(placed)
    # Who is on a node is in one of its two processes.
    side = data.draw(st.lists(st.integers(0, 1), min_size=tasks, max_size=tasks))
    first: dict[tuple[int, int], int] = {}
    process = [first.setdefault((int(placed[t]), side[t]), t) for t in range(tasks)]
    whole = shared(snapshot, process)
    problem = problem_of(whole, np.ones(tasks, dtype=np.bool_))
    wanted = np.array(
        data.draw(
            st.lists(st.integers(UNPLACED, len(snapshot.nodes) - 1), min_size=tasks, max_size=tasks)
        ),
        dtype=np.int64,
    )
    steps = steps_together(problem, wanted, np.zeros(tasks, dtype=np.bool_))
    node = np.array(placed)
    for step in steps:
        assert node[step.task] == step.source != step.target
        node[step.task] = step.target
    for number in set(process):
        assert len({int(node[t]) for t in range(tasks) if process[t] == number}) == 1
    if steps:
        assert value_of(problem, node) == steps[-1].value < value_of(problem, placed)
