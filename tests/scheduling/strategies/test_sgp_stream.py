"""Sgp-Stream as a whole: processes, nodes, shares and numbers of tasks."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_generators import NOW_S, OBSERVED, Cluster, make_snapshot
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Limits, Permits, PlacementLimits
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.scale.gradient import Descent
from thalweg_scheduling.strategies.sgp_stream import (
    CHOSEN,
    SgpParameters,
    place_sgp,
    process_capacity,
)

SHARED = Limits(placement=PlacementLimits(shared_processes=True), permits=Permits(move=True))


def word_count(cores: float = 0.25, *, limits: Limits | None = None) -> Snapshot:
    return make_snapshot(
        {"read": 4, "split": 4, "count": 4},
        cluster=Cluster(nodes=6, domains=1, cpu=2.0),
        cpu=cores,
        limits=limits,
    )


def placed(snapshot: Snapshot) -> Proposal:
    movable = snapshot.placement == UNPLACED
    return place_sgp(snapshot, movable=movable, rng=np.random.default_rng(1))


def test_a_process_is_worth_a_slot_of_a_mean_node() -> None:
    assert process_capacity(np.array([1.0, 0.5]), 2) == pytest.approx(0.375)


@pytest.mark.parametrize(("cores", "nodes"), [(0.25, 3), (0.5, 6)])
def test_as_many_processes_as_the_load_fills_each_on_the_freest_node(
    cores: float, nodes: int
) -> None:
    """12 tasks of a quarter of a core fill three processes of a core, of half a core six."""
    proposal = placed(word_count(cores, limits=SHARED))
    assert len(np.unique(proposal.process)) == nodes
    assert len(np.unique(proposal.node)) == nodes
    used = np.bincount(proposal.process, np.full(12, cores))
    assert used.max() <= 1.0 + 1e-9


def test_tasks_that_talk_share_a_process() -> None:
    """In each process a part of every vertex: the paper's slices of the stream."""
    snapshot = word_count(limits=SHARED)
    proposal = placed(snapshot)
    for process in np.unique(proposal.process):
        vertices = snapshot.vertex_of[proposal.process == process]
        assert len(np.unique(vertices)) >= 2


def test_each_task_has_its_own_process_unless_the_user_allows_more() -> None:
    assert len(np.unique(placed(word_count()).process)) == 12


def running(busy: float, grouping: GroupingType = GroupingType.SHUFFLE) -> Snapshot:
    """Everything on one node each, measured; the second task of `split` is slow."""
    snapshot = word_count(limits=Limits(permits=Permits(scale=True, regroup=True)))
    tasks = len(snapshot.tasks)
    slow = np.full(tasks, 0.001)
    slow[5] = 0.004
    return replace(
        snapshot,
        placement=np.arange(tasks) % 6,
        edges=tuple(replace(edge, grouping=grouping) for edge in snapshot.edges),
        loads=TaskLoad(
            cpu_cores=np.full(tasks, 0.2),
            memory_bytes=np.full(tasks, np.nan),
            busy_share=np.full(tasks, busy),
            backpressured_share=np.zeros(tasks),
            wait_s=slow,
            processed_per_s=np.full(tasks, 25.0),
            true_rate_per_s=np.full(tasks, 25.0 / busy),
            queue_tuples=np.zeros(tasks),
            observed=OBSERVED,
        ),
    )


def test_it_scales_by_the_gradient_and_weighs_by_the_load() -> None:
    busy = decide(running(0.8), "SgpStream", now_s=NOW_S, rng=np.random.default_rng(1))
    assert busy.replicas["split"] == 8 - 2  # 4 - 4 · (.4 · 125 - 100) / 100
    calm = running(0.3, GroupingType.WEIGHTED)
    plan = decide(calm, "SgpStream", now_s=NOW_S, rng=np.random.default_rng(1))
    assert not plan.replicas
    shares = next(each.shares for each in plan.weights if each.target == "split")
    # All weights are 10. A tuple takes 16 ms in the slow task and 13 in the others: its weight is
    # halved, and the others are within a tenth of the average.
    assert shares["split-1"] == pytest.approx(5 / 35)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cpu_weight": 1.1},
        {"cpu_weight": float("nan")},
        {"slots_per_node": 0},
        {"descent": Descent(most_busy=1.5)},
        {"descent": Descent(least_busy=0.5)},
        {"descent": Descent(step=0.0)},
        {"descent": Descent(cool_time_s=-1.0)},
    ],
)
def test_parameters_outside_their_ranges_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameters):
        replace(CHOSEN, **wrong)
    assert SgpParameters() == CHOSEN
