"""Md-Stream as a whole: what it is for, its deviations, its declared ranges."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_generators import NOW_S, Cluster, make_snapshot
from thalweg_scheduling.measure.objective import cross_domain_share
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.limits import Limits, Permits, PlacementLimits
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.acyclic import Refinement
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.scale.parallelism_update import Elasticity
from thalweg_scheduling.strategies.even import place_evenly
from thalweg_scheduling.strategies.md_stream import (
    MD_STREAM,
    PUBLISHED,
    MdParameters,
    blocks_needed,
    place_md,
)


def word_count(*, cpu: float = 0.3, shared: bool = False) -> Snapshot:
    """The paper's cluster: four domains of three nodes with two cores each; WordCount 4-8-8."""
    limits = Limits(placement=PlacementLimits(shared_processes=shared), permits=Permits(move=True))
    return make_snapshot(
        {"read": 4, "split": 8, "count": 8},
        cluster=Cluster(nodes=12, domains=4, cpu=2.0),
        rates={("read", "split"): 1000.0, ("split", "count"): 8000.0},
        cpu=cpu,
        limits=limits,
    )


def placed(snapshot: Snapshot, parameters: MdParameters = PUBLISHED) -> Proposal:
    movable = snapshot.placement == UNPLACED
    return place_md(snapshot, movable=movable, rng=np.random.default_rng(7), parameters=parameters)


def test_less_crosses_domains_than_with_storms_default() -> None:
    snapshot = word_count()
    everyone = snapshot.placement == UNPLACED
    even = place_evenly(snapshot, movable=everyone, rng=np.random.default_rng(7))
    mine = placed(snapshot)
    assert cross_domain_share(snapshot, mine.node) < 0.8 * cross_domain_share(snapshot, even.node)
    assert len(np.unique(snapshot.domain_of[mine.node])) < 4


def test_a_load_that_one_domain_can_take_stays_in_it() -> None:
    snapshot = word_count(cpu=0.2)
    assert cross_domain_share(snapshot, placed(snapshot).node) == 0


def test_nodes_are_filled_to_the_margin() -> None:
    snapshot = word_count(cpu=0.1)
    node = placed(snapshot).node
    assert 0.1 * np.bincount(node).max() <= PUBLISHED.margin * 2.0 + 1e-9
    tighter = placed(snapshot, MdParameters(margin=0.4)).node
    assert 0.1 * np.bincount(tighter).max() <= 0.4 * 2.0 + 1e-9


def test_what_no_node_takes_within_the_margin_is_placed_all_the_same() -> None:
    proposal = placed(word_count(cpu=1.6)).node
    assert np.count_nonzero(proposal != UNPLACED) == 12


@pytest.mark.parametrize(
    ("weights", "expected"),
    [
        pytest.param([0.1] * 9, 3, id="0.9 in slots of 0.7 / 2"),
        pytest.param([0.1] * 7, 2, id="exactly two slots"),
        pytest.param([5.0, 5.0], 2, id="never more than tasks"),
        pytest.param([0.0], 1, id="nothing to do is one block"),
    ],
)
def test_equation_16_counts_the_slots_that_hold_everything(
    weights: list[float], expected: int
) -> None:
    assert blocks_needed(np.array(weights), np.array([0.5, 1.0]), PUBLISHED) == expected


def test_blocks_are_processes_where_they_may_be_shared() -> None:
    shared = placed(word_count(cpu=0.1, shared=True))
    assert len(np.unique(shared.process)) < 20
    for process in np.unique(shared.process):
        assert 0.1 * np.count_nonzero(shared.process == process) <= 1.0
    separate = placed(word_count(cpu=0.1))
    assert len(np.unique(separate.process)) == 20


def test_it_scales_by_algorithm_4_with_the_published_thresholds() -> None:
    scaling = MD_STREAM.scale(word_count(), now_s=NOW_S)
    assert scaling.reasons[0].code is ReasonCode.STABILISING
    assert (PUBLISHED.elasticity.most_busy, PUBLISHED.elasticity.least_busy) == (0.875, 0.30)
    assert PUBLISHED.elasticity.settling_s == 700
    assert PUBLISHED.margin == 0.7


@pytest.mark.parametrize(
    "wrong",
    [
        {"margin": 0.0},
        {"margin": float("nan")},
        {"cpu_weight": 1.1},
        {"slots_per_node": 0},
        {"refinement": Refinement(imbalance=-0.1)},
        {"refinement": Refinement(restarts=0)},
        {"refinement": Refinement(rounds=-1)},
        {"elasticity": Elasticity(most_busy=1.2)},
        {"elasticity": Elasticity(least_busy=0.9)},
        {"elasticity": Elasticity(most_latency_s=-1.0)},
        {"elasticity": Elasticity(settling_s=-1.0)},
        {"elasticity": Elasticity(damping=-1.0)},
    ],
)
def test_parameters_outside_their_ranges_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameters):
        replace(PUBLISHED, **wrong)
