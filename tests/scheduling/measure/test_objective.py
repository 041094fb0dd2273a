"""J by hand, and what has no J."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_generators import Cluster, make_snapshot, snapshots
from thalweg_scheduling.kernels import summing
from thalweg_scheduling.measure.distance import dense_s, distances, seconds_between, ways_of
from thalweg_scheduling.measure.objective import (
    cross_domain_share,
    move_delta,
    objective,
    objective_of,
)
from thalweg_scheduling.measure.rates import flow_of, measured_rates, search_rates
from thalweg_scheduling.model.matrices import LatencyClasses, NodeLatency
from thalweg_scheduling.model.snapshot import Snapshot

PAIR = make_snapshot({"a": 1, "b": 1}, cluster=Cluster(nodes=4, domains=2))


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        pytest.param([0, 0], 100 * 0.0001, id="one node"),
        pytest.param([0, 2], 100 * 0.0005, id="one domain"),
        pytest.param([0, 1], 100 * 0.01, id="two domains"),
        pytest.param([0, -1], 0.0, id="one without a node"),
    ],
)
def test_j_is_rate_times_seconds(node: list[int], expected: float) -> None:
    assert objective(PAIR, np.array(node)) == pytest.approx(expected)


def test_tasks_of_one_process_cost_what_the_user_says() -> None:
    node, process = np.array([0, 0]), np.array([0, 0])
    assert objective(PAIR, node, process) == 0.0
    classes = LatencyClasses(same_process_s=0.00002)
    dear = replace(PAIR, latency=replace(PAIR.latency, classes=classes))
    assert objective(dear, node, process) == pytest.approx(100 * 0.00002)


def test_a_measured_pair_counts_more_than_its_class() -> None:
    pairs = np.full((4, 4), np.nan)
    pairs[0, 1] = 0.5
    snapshot = replace(PAIR, latency=NodeLatency(pairs_s=pairs))
    assert objective(snapshot, np.array([0, 1])) == pytest.approx(50.0)
    assert objective(snapshot, np.array([1, 0])) == pytest.approx(1.0)


def test_unknown_traffic_has_no_j() -> None:
    assert np.isnan(objective(replace(PAIR, traffic=None), np.array([0, 0])))
    assert PAIR.traffic is not None
    gap = replace(PAIR.traffic, tuples_per_s=np.array([np.nan]))
    assert np.isnan(objective(replace(PAIR, traffic=gap), np.array([0, 0])))


@pytest.mark.parametrize(("node", "share"), [([0, 1], 1.0), ([0, 2], 0.0), ([0, 0], 0.0)])
def test_the_share_that_leaves_its_domain(node: list[int], share: float) -> None:
    assert cross_domain_share(PAIR, np.array(node)) == share


def test_where_nothing_flows_there_is_no_share() -> None:
    still = make_snapshot({"a": 1, "b": 1}, rates={("a", "b"): 0.0})
    assert np.isnan(cross_domain_share(still, np.array([0, 1])))


@settings(max_examples=20, derandomize=True, deadline=None)
@given(snapshot=snapshots(placed=True), data=st.data())
def test_what_a_move_changes_is_the_difference_of_j(
    snapshot: Snapshot, data: st.DataObject
) -> None:
    if not snapshot.tasks:
        return
    rates, far = search_rates(snapshot), distances(snapshot)
    task = data.draw(st.integers(0, len(snapshot.tasks) - 1))
    target = data.draw(st.integers(0, len(snapshot.nodes) - 1))
    after = np.array(snapshot.placement)
    after[task] = target
    change = move_delta(rates, far, snapshot.placement, task=task, target=target)
    whole = objective_of(rates, far, after) - objective_of(rates, far, snapshot.placement)
    scale = abs(objective_of(rates, far, snapshot.placement)) + 1.0
    assert change == pytest.approx(whole, abs=1e-9 * scale)


@settings(max_examples=20, derandomize=True, deadline=None)
@given(snapshot=snapshots())
def test_the_short_table_of_distances_says_what_the_long_one_says(snapshot: Snapshot) -> None:
    far = distances(snapshot)
    assert np.array_equal(dense_s(far), snapshot.node_cost_s)
    nodes = np.arange(len(snapshot.nodes))
    assert np.array_equal(seconds_between(far, nodes[:, None], nodes[None, :]), dense_s(far))


@settings(max_examples=20, derandomize=True, deadline=None)
@given(snapshot=snapshots())
def test_the_kernel_adds_up_the_same(snapshot: Snapshot) -> None:
    rates, far = search_rates(snapshot), distances(snapshot)
    node = np.array(snapshot.placement)
    kernel = summing.total(flow_of(rates), ways_of(far), node)
    assert kernel == pytest.approx(objective_of(rates, far, node), rel=1e-9, abs=1e-12)


def test_distances_by_domain_are_recognised_in_a_matrix() -> None:
    snapshot = make_snapshot(cluster=Cluster(nodes=6, domains=2))
    measured = replace(snapshot, latency=NodeLatency(pairs_s=snapshot.node_cost_s))
    assert len(distances(measured).between) == 2
    uneven = np.array(snapshot.node_cost_s)
    uneven[0, 3] = 0.02
    assert len(distances(replace(measured, latency=NodeLatency(pairs_s=uneven))).between) == 6


def test_measured_rates_are_all_or_nothing() -> None:
    rates = measured_rates(PAIR)
    assert rates is not None
    assert rates.per_s.tolist() == [100.0]
