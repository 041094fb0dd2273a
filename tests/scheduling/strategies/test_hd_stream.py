"""Hd-Stream as a whole: groups by measured latency, tasks over boundaries, and when."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_generators import NOW_S, OBSERVED, Cluster, make_snapshot
from thalweg_scheduling.decide import decide
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.matrices import NodeLatency
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import Plan
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
    assert first.memory is not None
    assert first.memory.placed_by is not None
    before = replace(measured(), memory=first.memory)
    waits = decided(before)
    assert not waits.moves
    assert waits.reasons[0].code is ReasonCode.WITHIN_TOLERANCE
    assert waits.memory is not None
    assert waits.memory.placed_by is first.memory.placed_by
    little = replace(measured(seconds=far(2.4e-3)), memory=first.memory)
    assert not decided(little).moves
    much = decided(replace(measured(seconds=far(4e-3)), memory=first.memory))
    assert much.moves
    assert much.memory is not None
    assert much.memory.placed_by is not first.memory.placed_by


def test_a_risen_stream_is_an_occasion_too() -> None:
    snapshot = measured()
    first = decided(snapshot)
    assert snapshot.traffic is not None
    more = replace(snapshot.traffic, tuples_per_s=2.5 * snapshot.traffic.tuples_per_s)
    assert decided(replace(snapshot, traffic=more, memory=first.memory)).moves


def test_an_overloaded_node_does_not_wait() -> None:
    first = decided(measured())
    crowded = replace(measured(), placement=np.zeros(20, dtype=np.int64), memory=first.memory)
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
