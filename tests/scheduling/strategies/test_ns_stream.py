"""Ns-Stream as a whole: what it is for, its deviations, its declared ranges."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.measure.rates import measured_rates
from thalweg_scheduling.model.errors import InvalidParameters
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Limits, Permits, PlacementLimits
from thalweg_scheduling.model.matrices import DependencyMatrix, TaskLoad
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.graph_network import Training
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.strategies.even import place_evenly
from thalweg_scheduling.strategies.ns_stream import (
    NS_STREAM,
    PUBLISHED,
    NsParameters,
    communication,
    fair_shares,
    place_ns,
)

SLICES = 4


def sliced(*, shared: bool = False, nodes: int = SLICES) -> Snapshot:
    """Three vertices of eight tasks in four slices of two, which talk mostly with themselves."""
    snapshot = make_snapshot(
        {"read": 8, "split": 8, "count": 8},
        cluster=Cluster(nodes=nodes, domains=1, cpu=4.0),
        cpu=0.5,
        limits=Limits(
            placement=PlacementLimits(shared_processes=shared), permits=Permits(move=True)
        ),
    )
    pairs = {
        (8 * layer + i, 8 * (layer + 1) + j): (100.0 if i // 2 == j // 2 else 1.0, 0.0)
        for layer in range(2)
        for i in range(8)
        for j in range(8)
    }
    assert snapshot.traffic is not None
    traffic = DependencyMatrix.from_pairs(24, pairs, snapshot.traffic.observed)
    return replace(snapshot, traffic=traffic)


def placed(snapshot: Snapshot, parameters: NsParameters = PUBLISHED) -> Proposal:
    movable = snapshot.placement == UNPLACED
    return place_ns(snapshot, movable=movable, rng=np.random.default_rng(7), parameters=parameters)


def between_nodes(snapshot: Snapshot, proposal: Proposal) -> float:
    """The share of all tuples that leave their node."""
    rates = measured_rates(snapshot)
    assert rates is not None
    apart = proposal.node[rates.source] != proposal.node[rates.target]
    return float(rates.per_s[apart].sum() / rates.per_s.sum())


def test_less_leaves_its_node_than_with_storms_default() -> None:
    snapshot = sliced()
    everyone = snapshot.placement == UNPLACED
    even = place_evenly(snapshot, movable=everyone, rng=np.random.default_rng(7))
    assert between_nodes(snapshot, placed(snapshot)) < 0.5 * between_nodes(snapshot, even)


def test_nodes_get_tasks_by_their_capacity() -> None:
    snapshot = sliced()
    larger = np.array(snapshot.capacity)
    larger[0] *= 3
    counts = np.bincount(placed(replace(snapshot, capacity=larger)).node, minlength=SLICES)
    assert counts[0] == counts.max() >= 8


def test_before_the_first_measurement_every_pair_counts_one() -> None:
    snapshot = replace(sliced(), traffic=None)
    problem = problem_of(snapshot, snapshot.placement == UNPLACED)
    assert set(communication(problem).per_s.tolist()) == {1.0}
    assert len(communication(problem).per_s) == 2 * 64
    assert not np.any(placed(snapshot).node == UNPLACED)


def test_a_large_cluster_is_not_spread_over() -> None:
    used = np.unique(placed(sliced(nodes=40), NsParameters(most_nodes=3)).node)
    # Twelve cores with half as much to spare are five nodes of four.
    assert used.max() <= 4


def test_a_node_gets_its_fair_share_in_whole_tasks() -> None:
    shares = fair_shares(np.full(10, 2.0), np.array([1.0, 3.0]), 0.0)
    assert shares == pytest.approx([6.0, 16.0])  # of 5 and 15
    assert fair_shares(np.full(10, 2.0), np.array([1.0, 1.0]), 0.2) == pytest.approx([12.0, 12.0])


def test_tasks_of_a_node_are_divided_over_its_workers() -> None:
    shared = placed(sliced(shared=True))
    for node in np.unique(shared.node):
        processes, sizes = np.unique(shared.process[shared.node == node], return_counts=True)
        assert len(processes) >= 2
        assert sizes.max() <= 2  # one core holds two tasks
    assert len(np.unique(placed(sliced()).process)) == 24


def test_newcomers_go_to_their_partners() -> None:
    snapshot = sliced()
    settled = np.arange(24) % 8 // 2
    settled[[10, 19]] = UNPLACED
    assert placed(replace(snapshot, placement=settled)).node[[10, 19]].tolist() == [1, 1]


def test_it_weighs_near_source_edges() -> None:
    snapshot = sliced()
    edges = tuple(replace(edge, grouping=GroupingType.NEAR_SOURCE) for edge in snapshot.edges)
    loads = replace(TaskLoad.unknown(24), true_rate_per_s=np.full(24, 1000.0))
    assert NS_STREAM.weigh is not None
    weights = NS_STREAM.weigh(
        replace(snapshot, edges=edges, loads=loads), np.arange(24) % SLICES, None
    )
    assert [(each.source, each.target) for each in weights] == [
        ("read", "split"),
        ("split", "count"),
    ]
    assert sum(weights[0].shares.values()) == pytest.approx(1.0)
    assert PUBLISHED.alpha == 0.6


@pytest.mark.parametrize(
    "wrong",
    [
        {"alpha": 0.0},
        {"alpha": float("nan")},
        {"imbalance": -0.1},
        {"workers_per_node": 0},
        {"most_nodes": 0},
        {"training": Training(encoders=0)},
        {"training": Training(hidden=0)},
        {"training": Training(steps=0)},
        {"training": Training(rate=-0.1)},
    ],
)
def test_parameters_outside_their_ranges_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidParameters):
        replace(PUBLISHED, **wrong)
