"""Ra-Stream: fewer nodes for less load, and what talks much in one process."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_generators import OBSERVED, Cluster, make_snapshot
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.strategies.even import place_evenly
from thalweg_scheduling.strategies.ra_stream import RaParameters, place_ra

# The paper's cluster: 14 nodes of 2 cores; its WordCount, twice, so that 14 nodes can be used.
CLUSTER = Cluster(nodes=14, domains=1, cpu=2.0)
WORD_COUNT = {"read": 4, "split": 6, "count": 6, "out": 4}


def word_count(cores_used: float) -> Snapshot:
    """All tasks together use so many cores, and ask for next to nothing."""
    snapshot = make_snapshot(WORD_COUNT, cluster=CLUSTER, cpu=0.01)
    tasks = len(snapshot.tasks)
    loads = replace(
        TaskLoad.unknown(tasks), cpu_cores=np.full(tasks, cores_used / tasks), observed=OBSERVED
    )
    return replace(snapshot, loads=loads)


def placed(snapshot: Snapshot, **changes: Any) -> Proposal:
    return place_ra(
        snapshot,
        movable=np.ones(len(snapshot.tasks), dtype=np.bool_),
        rng=np.random.default_rng(1),
        parameters=RaParameters(**changes),
    )


@pytest.mark.parametrize(
    ("cores_used", "nodes"), [(1.0, 1), (4.0, 3), (7.0, 5), (10.0, 7), (15.0, 10)]
)
def test_nodes_follow_the_load(cores_used: float, nodes: int) -> None:
    """Each node is used up to 75 % and no further: the paper's 5, 7 and 10 nodes."""
    proposal = placed(word_count(cores_used))
    used = np.bincount(proposal.node, minlength=14) * cores_used / 20 / 2.0
    assert np.count_nonzero(used) == nodes
    assert used.max() <= 0.75 + 1e-9


def test_less_is_under_way_than_with_even() -> None:
    snapshot = word_count(10.0)
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    even = place_evenly(snapshot, movable=everyone, rng=np.random.default_rng(1))
    ours = objective(snapshot, placed(snapshot).node)
    assert ours < 0.9 * objective(snapshot, even.node)


def test_pairs_share_a_process_where_that_is_allowed() -> None:
    limits = Limits(placement=PlacementLimits(shared_processes=True))
    shared = replace(word_count(4.0), limits=limits)
    proposal = placed(shared)
    assert np.bincount(proposal.process).max() == 2
    separate = placed(word_count(4.0))
    assert len(np.unique(separate.process)) == 20
    process = objective(shared, proposal.node, proposal.process)
    assert process < objective(shared, proposal.node)


def test_it_says_how_many_subgraphs_it_made() -> None:
    assert placed(word_count(10.0)).notes == ("7 subgraphs for 14 nodes",)


@pytest.mark.parametrize(
    "wrong",
    [
        {"cpu_weight": -0.1},
        {"cpu_weight": 0.8, "memory_weight": 0.3},
        {"spare_cpu_weight": 0.8, "spare_memory_weight": 0.3},
        {"cut_weight": 1.1},
        {"cooling": 1.0},
        {"underload": 0.8},
        {"overload": 1.1},
        {"first_heat": 0.0},
        {"last_heat": 2.0},
        {"tries_per_task": 0},
        {"tasks_per_process": 0},
        {"cut_weight": float("nan")},
    ],
)
def test_a_parameter_outside_its_range_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameters, match=next(iter(wrong))):
        RaParameters(**wrong)
