"""Hd-Stream as a whole: groups by measured latency, tasks over boundaries, and when."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_generators import NOW_S, OBSERVED, Cluster, applied, make_snapshot
from thalweg_scheduling.decide import decide
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.limits import Permits
from thalweg_scheduling.model.matrices import NodeLatency, TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import NOTHING_TO_MOVE, Plan
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.strategies.hd_stream import CHOSEN, place_hd, virtual_nodes

GROUP = np.array([0, 1, 2] * 4)


def far(across_s: float = 2e-3) -> Floats:
    seconds = np.where(GROUP[:, None] == GROUP[None, :], 2e-4, across_s)
    np.fill_diagonal(seconds, 1e-4)
    return seconds


def measured(*, placed: bool = True, seconds: Floats | None = None) -> Snapshot:
    """YSB's six vertices on twelve nodes that no label tells apart, but measurements do."""
    names = {"spout": 2, "parse": 4, "filter": 4, "project": 4, "join": 4, "add": 2}
    snapshot = make_snapshot(names, cluster=Cluster(nodes=12, domains=1, cpu=4.0), cpu=0.5)
    latency = NodeLatency(pairs_s=far() if seconds is None else seconds, observed=OBSERVED)
    placement = np.arange(20) % 12 if placed else np.full(20, UNPLACED)
    return replace(snapshot, latency=latency, placement=placement)


def decided(snapshot: Snapshot) -> Plan:
    return decide(snapshot, "HdStream", now_s=NOW_S, rng=np.random.default_rng(1))


def moved(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot once the plan was carried out, and could be followed by another."""
    restless = replace(snapshot.limits.placement, cool_down_s=0.0)
    after = applied(snapshot, plan, NOW_S)
    return replace(after, memory=plan.memory, limits=replace(after.limits, placement=restless))


def everyone(snapshot: Snapshot) -> np.ndarray:
    return np.ones(len(snapshot.tasks), dtype=np.bool_)


def test_groups_are_those_of_the_measured_latency() -> None:
    snapshot = measured()
    found = virtual_nodes(
        problem_of(snapshot, everyone(snapshot)), np.random.default_rng(1), CHOSEN
    )
    assert found.of.tolist() == GROUP.tolist()
    assert sorted(found.sequence) == [0, 1, 2]


def test_a_first_placement_fills_the_wealthiest_group() -> None:
    snapshot = measured(placed=False)
    capacity = np.array(snapshot.capacity)
    capacity[GROUP == 2] *= 1.5
    snapshot = replace(snapshot, capacity=capacity)
    proposal = place_hd(snapshot, movable=everyone(snapshot), rng=np.random.default_rng(1))
    assert set(GROUP[proposal.node].tolist()) == {2}
    # Inside of it nodes are used alike.
    assert np.bincount(proposal.node, minlength=12)[GROUP == 2].tolist() == [5, 5, 5, 5]


def test_tasks_that_are_spread_over_groups_draw_together() -> None:
    snapshot = measured()
    proposal = place_hd(snapshot, movable=everyone(snapshot), rng=np.random.default_rng(1))
    assert objective(snapshot, proposal.node) < 0.5 * objective(snapshot, snapshot.placement)
    assert decided(snapshot).moves


def test_nothing_moves_until_something_has_changed() -> None:
    first = decided(measured())
    assert first.moves
    waits = decided(moved(measured(), first))
    assert not waits.moves
    assert waits.reasons[0].code is ReasonCode.WITHIN_TOLERANCE
    assert waits.memory is not None
    assert waits.memory.placed_by is not None
    # They are elsewhere again, so that there would be something to move.
    known = replace(moved(measured(), first), memory=waits.memory)
    back = replace(known, placement=measured().placement)
    again = decided(back)
    assert not again.moves
    assert again.reasons[0].code is ReasonCode.WITHIN_TOLERANCE
    assert again.memory is not None
    assert again.memory.placed_by is waits.memory.placed_by
    little = replace(back, latency=measured(seconds=far(2.4e-3)).latency)
    assert not decided(little).moves
    latency = measured(seconds=far(4e-3)).latency
    much = replace(back, latency=latency, last_moved_at_s=NOW_S - 1)
    much_moved = decided(much)
    assert much_moved.moves
    settled = decided(moved(much, much_moved))
    assert not settled.moves
    assert settled.memory is not None
    assert settled.memory.placed_by is not waits.memory.placed_by


def test_moves_that_were_only_proposed_are_proposed_again() -> None:
    first = decided(measured())
    assert first.moves
    assert decided(replace(measured(), memory=first.memory)).moves == first.moves


def test_what_j_refused_is_asked_again() -> None:
    snapshot = measured()
    greedy = replace(snapshot.limits.placement, min_gain_percent=99.0)
    refused = decided(replace(snapshot, limits=replace(snapshot.limits, placement=greedy)))
    assert not refused.moves
    assert "would gain" in refused.reasons[0].message
    assert decided(replace(snapshot, memory=refused.memory)).moves


def test_who_has_nothing_to_move_remembers_that_too() -> None:
    once = decided(measured())
    there = replace(applied(measured(), once, NOW_S), last_moved_at_s=None)
    settled = decided(replace(there, memory=Memory(at_s=NOW_S)))
    assert settled.reasons[0] is NOTHING_TO_MOVE
    assert settled.memory is not None
    assert settled.memory.placed_by is not None


def loaded(snapshot: Snapshot) -> Snapshot:
    """The same with loads that ask for no other number of tasks, and scaling permitted."""
    tasks = len(snapshot.tasks)
    loads = TaskLoad(
        cpu_cores=np.full(tasks, 0.35),
        memory_bytes=np.full(tasks, 1e6),
        busy_share=np.full(tasks, 0.7),
        backpressured_share=np.zeros(tasks),
        wait_s=np.zeros(tasks),
        processed_per_s=np.full(tasks, 25.0),
        true_rate_per_s=np.full(tasks, 25.0 / 0.7),
        queue_tuples=np.zeros(tasks),
        observed=OBSERVED,
    )
    fixed = tuple(replace(each, max_replicas=each.replicas) for each in snapshot.vertices)
    permits = Permits(move=True, scale=True)
    limits = replace(snapshot.limits, permits=permits)
    return replace(snapshot, vertices=fixed, loads=loads, limits=limits)


def test_a_scaler_beside_it_forgets_nothing_of_what_tasks_were_placed_by() -> None:
    first = decided(replace(loaded(measured()), memory=Memory(at_s=NOW_S)))
    assert first.moves
    second = decided(moved(loaded(measured()), first))
    assert not second.moves
    assert "network and stream changed by 0 %" in second.reasons[0].message
    assert second.memory is not None
    assert second.memory.placed_by is not None


def test_a_risen_stream_is_an_occasion_too() -> None:
    snapshot = measured()
    first = decided(snapshot)
    assert snapshot.traffic is not None
    more = replace(snapshot.traffic, tuples_per_s=2.5 * snapshot.traffic.tuples_per_s)
    known = replace(moved(snapshot, first), placement=snapshot.placement)
    assert not decided(known).moves
    assert decided(replace(known, traffic=more)).moves


def test_an_overloaded_node_does_not_wait() -> None:
    first = decided(measured())
    crowded = replace(moved(measured(), first), placement=np.zeros(20, dtype=np.int64))
    assert decided(crowded).moves


@pytest.mark.parametrize("hindered", ["cooling", "stale"])
def test_who_could_not_look_remembers_nothing(hindered: str) -> None:
    snapshot = measured()
    if hindered == "cooling":
        snapshot = replace(snapshot, last_moved_at_s=NOW_S - 1)
    else:
        old = replace(OBSERVED, at_s=NOW_S - 1e4)
        snapshot = replace(snapshot, latency=replace(snapshot.latency, observed=old))
    plan = decided(replace(snapshot, memory=Memory(at_s=NOW_S)))
    assert plan.changes_nothing
    assert plan.memory is not None
    assert plan.memory.placed_by is None


@pytest.mark.parametrize(
    "wrong",
    [
        {"most_groups": 0},
        {"tolerated": -0.1},
        {"tolerated": float("nan")},
        {"cpu_weight": 1.2},
    ],
)
def test_parameters_outside_their_ranges_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameters):
        replace(CHOSEN, **wrong)
