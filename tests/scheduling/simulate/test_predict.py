"""From measurements of one placement to the prediction of another."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_scheduling.model.matrices import (
    DependencyMatrix,
    LatencyClasses,
    NodeLatency,
    TaskLoad,
)
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate import (
    DEFAULTS,
    Analysis,
    EdgeProfile,
    Parameters,
    VertexProfile,
    Workload,
    declared_workload,
    predict,
    simulate_analytically,
)
from thalweg_trials import cluster

LATENCY = NodeLatency(
    classes=LatencyClasses(same_node_s=0.0002, same_domain_s=0.001, cross_domain_s=0.01)
)
PROFILES = {
    "read": VertexProfile(cpu_s=0.0002, offered_per_s=800),
    "split": VertexProfile(cpu_s=0.001, held_s=0.0005),
    "count": VertexProfile(cpu_s=0.0003),
}
EDGES = {
    ("read", "split"): EdgeProfile(tuple_bytes=500),
    ("split", "count"): EdgeProfile(selectivity=3, tuple_bytes=50),
}
FAR = np.array([0, 1, 2, 3, 0, 1, 2, 3])
NEAR = np.array([0, 0, 0, 1, 1, 0, 0, 1])
APART = np.arange(8)
SHARED = np.array([0, 0, 0, 1, 1, 2, 2, 3])


def bare() -> Snapshot:
    return cluster(
        {"read": 2, "split": 3, "count": 3},
        list(EDGES),
        cores=[4.0] * 4,
        domains=[0, 0, 1, 1],
        latency=LATENCY,
    )


def workload_on(node: np.typing.NDArray[np.int64]) -> Workload:
    return declared_workload(bare(), PROFILES, EDGES, node)


def measured(node: np.typing.NDArray[np.int64], analysis: Analysis) -> Snapshot:
    """What Prometheus would show of it."""
    workload = workload_on(node)
    sent = analysis.rate_per_s[workload.sources] * workload.sent_per_tuple
    unknown = np.full(8, np.nan)
    return replace(
        bare(),
        placement=node,
        process=APART,
        traffic=DependencyMatrix(
            indptr=workload.indptr,
            targets=workload.targets,
            tuples_per_s=sent,
            bytes_per_s=sent * workload.tuple_bytes,
        ),
        loads=TaskLoad(
            cpu_cores=analysis.cpu_cores,
            memory_bytes=unknown,
            busy_share=analysis.utilization,
            backpressured_share=unknown,
            wait_s=analysis.wait_s,
            processed_per_s=analysis.rate_per_s,
            true_rate_per_s=1 / analysis.service_s,
            queue_tuples=unknown,
        ),
    )


@pytest.mark.parametrize("node", [FAR, NEAR], ids=["far", "near"])
@pytest.mark.parametrize("process", [APART, SHARED], ids=["apart", "shared"])
@pytest.mark.parametrize(
    "parameters", [DEFAULTS, Parameters(bandwidth_bytes_per_s=1e7)], ids=["free", "wire"]
)
def test_a_prediction_is_what_the_program_would_do(
    node: np.typing.NDArray[np.int64],
    process: np.typing.NDArray[np.int64],
    parameters: Parameters,
) -> None:
    now = simulate_analytically(bare(), workload_on(FAR), FAR, APART, parameters=parameters)
    if process is SHARED:
        node = NEAR
    truth = simulate_analytically(bare(), workload_on(node), node, process, parameters=parameters)
    prediction = predict(measured(FAR, now), node, process, parameters=parameters)
    assert prediction.latency_s == pytest.approx(truth.latency_s, rel=0.02)
    assert prediction.throughput_per_s == pytest.approx(800)
    assert prediction.cross_domain_share == pytest.approx(truth.cross_domain_share)
    assert prediction.busiest_node == pytest.approx(truth.node_utilization.max(), rel=0.02)
    assert prediction.nodes_used == len(set(node.tolist()))


def test_nearer_is_faster() -> None:
    now = simulate_analytically(bare(), workload_on(FAR), FAR, APART)
    snapshot = measured(FAR, now)
    assert predict(snapshot, NEAR, APART).latency_s < predict(snapshot, FAR, APART).latency_s / 2


def test_nothing_known_is_not_zero() -> None:
    prediction = predict(bare(), FAR, APART)
    assert np.isnan(prediction.latency_s)
    assert np.isnan(prediction.throughput_per_s)
    assert np.isnan(prediction.cross_domain_share)
    assert np.isnan(prediction.busiest_node)
    assert prediction.nodes_used == 4


@pytest.mark.parametrize("value", [np.nan, -1.0])
def test_one_unknown_rate_makes_the_latency_unknown(value: float) -> None:
    snapshot = measured(FAR, simulate_analytically(bare(), workload_on(FAR), FAR, APART))
    assert snapshot.traffic is not None
    rates = np.array(snapshot.traffic.tuples_per_s)
    rates[3] = value
    holed = replace(snapshot, traffic=replace(snapshot.traffic, tuples_per_s=rates))
    prediction = predict(holed, NEAR, APART)
    assert np.isnan(prediction.latency_s)
    assert np.isnan(prediction.cross_domain_share)


def test_rates_without_loads_tell_where_they_go_but_not_how_fast() -> None:
    snapshot = measured(FAR, simulate_analytically(bare(), workload_on(FAR), FAR, APART))
    assert snapshot.loads is not None
    loads = replace(TaskLoad.unknown(8), processed_per_s=snapshot.loads.processed_per_s)
    prediction = predict(replace(snapshot, loads=loads), NEAR, APART)
    assert prediction.cross_domain_share == 0
    assert np.isnan(prediction.latency_s)
    assert np.isnan(prediction.busiest_node)


def test_a_stream_that_stands_still_is_known_to_do_nothing() -> None:
    nothing = np.zeros(8)
    snapshot = measured(FAR, simulate_analytically(bare(), workload_on(FAR), FAR, APART))
    assert snapshot.traffic is not None
    entries = len(snapshot.traffic.targets)
    still = replace(
        snapshot,
        traffic=replace(
            snapshot.traffic, tuples_per_s=np.zeros(entries), bytes_per_s=np.zeros(entries)
        ),
        loads=replace(TaskLoad.unknown(8), processed_per_s=nothing, cpu_cores=nothing),
    )
    prediction = predict(still, FAR, APART)
    assert prediction.throughput_per_s == 0
    assert prediction.busiest_node == 0
    assert np.isnan(prediction.latency_s)


@pytest.mark.parametrize("replicas", [{"only": 0}, {"only": 1}])
def test_hardly_anything_to_predict(replicas: dict[str, int]) -> None:
    snapshot = cluster(replicas, cores=[1.0])
    tasks = replicas["only"]
    prediction = predict(snapshot, np.zeros(tasks, dtype=np.int64), np.arange(tasks))
    assert prediction.nodes_used == tasks
