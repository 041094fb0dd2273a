"""The event mode against closed forms, and against the analytic mode where that is exact enough."""

from collections.abc import Sequence

import numpy as np
import pytest

from thalweg_runs import complete_s, latency_s, ran, staged
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.matrices import LatencyClasses, NodeLatency
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile
from thalweg_scheduling.simulate.queueing import slowdown
from thalweg_trials import FREE, cluster, tried

pytestmark = pytest.mark.slow

CONSTANT = Parameters(serialise_s=0, deserialise_s=0, service_cv2=0.0)
LATENCY = NodeLatency(
    classes=LatencyClasses(same_node_s=0.001, same_domain_s=0.01, cross_domain_s=0.1)
)


@pytest.mark.parametrize("load", [0.3, 0.6, 0.8])
@pytest.mark.parametrize(("parameters", "cs2"), [(FREE, 1.0), (CONSTANT, 0.0)])
def test_one_task_is_m_g_1(load: float, parameters: Parameters, cs2: float) -> None:
    profiles = {"only": VertexProfile(cpu_s=0.01, offered_per_s=100 * load)}
    counts = ran(
        staged(cluster({"only": 1}), profiles, node=[0], parameters=parameters), seconds=8000
    )
    expected = 0.01 * (1 + (1 + cs2) / 2 * load / (1 - load))
    assert latency_s(counts) == pytest.approx(expected, rel=0.03)
    assert counts.cpu_s[0] / 8000 == pytest.approx(load, rel=0.02)


def test_evenly_spaced_arrivals_and_services_never_wait() -> None:
    parameters = Parameters(serialise_s=0, deserialise_s=0, service_cv2=0.0, arrival_cv2=0.0)
    profiles = {"only": VertexProfile(cpu_s=0.01, offered_per_s=90)}
    counts = ran(
        staged(cluster({"only": 1}), profiles, node=[0], parameters=parameters), seconds=100
    )
    assert latency_s(counts) == pytest.approx(0.01)
    assert counts.processed[0] == pytest.approx(9000, abs=2)


@pytest.mark.parametrize("process", [[0, 1], [0, 0]])
def test_two_tasks_on_one_core_are_processor_sharing(process: list[int]) -> None:
    profiles = {
        "a": VertexProfile(cpu_s=0.01, offered_per_s=40),
        "b": VertexProfile(cpu_s=0.01, offered_per_s=30),
    }
    counts = ran(
        staged(cluster({"a": 1, "b": 1}), profiles, node=[0, 0], process=process), seconds=8000
    )
    assert latency_s(counts) == pytest.approx(0.01 / (1 - 0.7), rel=0.03)


def test_many_small_tasks_on_many_cores_are_erlang_c() -> None:
    tasks, cores, load = 200, 4.0, 0.8
    profiles = {"only": VertexProfile(cpu_s=0.01, offered_per_s=load * cores / 0.01)}
    snapshot = cluster({"only": tasks}, cores=[cores])
    counts = ran(staged(snapshot, profiles, node=[0] * tasks), seconds=1500)
    expected = 0.01 * float(slowdown(np.array(cores), np.array(load * cores)))
    assert latency_s(counts) == pytest.approx(expected, rel=0.04)


def test_a_process_has_one_core_even_if_the_node_has_four() -> None:
    profiles = {"only": VertexProfile(cpu_s=0.01, offered_per_s=70)}
    stage = staged(cluster({"only": 2}, cores=[4.0]), profiles, node=[0, 0], process=[0, 0])
    assert latency_s(ran(stage, seconds=8000)) == pytest.approx(0.01 / (1 - 0.7), rel=0.03)


@pytest.mark.parametrize("process", [[0, 0], [0, 1]])
def test_two_tasks_that_have_two_cores_do_not_wait_for_each_other(process: list[int]) -> None:
    parameters = Parameters(serialise_s=0, deserialise_s=0, process_cores=2.0)
    profiles = {"only": VertexProfile(cpu_s=0.01, offered_per_s=140)}
    snapshot = cluster({"only": 2}, cores=[2.0])
    stage = staged(snapshot, profiles, node=[0, 0], process=process, parameters=parameters)
    expected = 0.01 / (1 - 0.7)
    assert latency_s(ran(stage, seconds=8000)) == pytest.approx(expected, rel=0.03)
    found = tried(snapshot, profiles, node=[0, 0], process=process, parameters=parameters)
    assert found.latency_s == pytest.approx(expected)
    assert found.limit_per_s == pytest.approx(200)


def test_tuples_that_come_in_bunches_wait_for_each_other() -> None:
    snapshot = cluster({"read": 1, "sink": 1}, [("read", "sink")], cores=[1.0, 1.0])
    profiles = {
        "read": VertexProfile(cpu_s=1e-6, offered_per_s=20),
        "sink": VertexProfile(cpu_s=0.01),
    }
    edges = {("read", "sink"): EdgeProfile(selectivity=3)}
    counts = ran(staged(snapshot, profiles, edges, node=[0, 1]), seconds=6000)
    # M[X]/M/1 with bunches of three: two more than alone, half of which are in front.
    load = 0.6
    expected = 0.01 / (1 - load) * (1 + (3 - 1) / 2)
    assert latency_s(counts) == pytest.approx(expected, rel=0.04)


def test_a_pipeline_is_the_sum_of_its_parts() -> None:
    names = ("read", "work", "sink")
    snapshot = cluster(
        dict.fromkeys(names, 1),
        [("read", "work"), ("work", "sink")],
        cores=[1.0] * 3,
        domains=[0, 0, 1],
        latency=LATENCY,
    )
    profiles = {
        "read": VertexProfile(cpu_s=0.001, offered_per_s=100),
        "work": VertexProfile(cpu_s=0.005),
        "sink": VertexProfile(cpu_s=0.002),
    }
    edges = {("read", "work"): EdgeProfile(), ("work", "sink"): EdgeProfile()}
    counts = ran(staged(snapshot, profiles, edges, node=[0, 1, 2]), seconds=4000)
    responses = 0.001 / 0.9 + 0.005 / 0.5 + 0.002 / 0.8
    assert latency_s(counts) == pytest.approx(responses + 0.11, rel=0.01)
    assert complete_s(counts) == pytest.approx(responses + 0.22, rel=0.01)
    assert (counts.waited_s + counts.served_s).sum() / counts.processed[0] == pytest.approx(
        responses, rel=0.03
    )


def test_the_wire_takes_time() -> None:
    snapshot = cluster({"read": 1, "sink": 1}, [("read", "sink")], cores=[9.0, 9.0])
    profiles = {
        "read": VertexProfile(cpu_s=1e-6, offered_per_s=500),
        "sink": VertexProfile(cpu_s=1e-6),
    }
    edges = {("read", "sink"): EdgeProfile(tuple_bytes=1000)}
    parameters = Parameters(serialise_s=0, deserialise_s=0, bandwidth_bytes_per_s=1e6)
    stage = staged(snapshot, profiles, edges, node=[0, 1], parameters=parameters)
    # 1 ms, and half of 1 ms of queueing where it leaves; what left in a row arrives in a row.
    assert latency_s(ran(stage, seconds=1000)) == pytest.approx(0.0015, rel=0.03)


CHAIN = [("a", "b"), ("b", "c")]
DIAMOND = [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]

Shape = tuple[dict[str, int], list[tuple[str, str]], list[int], float]
"""Replicas, edges, the node of each task, and how many cores every node has."""

SHAPES: Sequence[Shape] = (
    ({"a": 2, "b": 3, "c": 2}, CHAIN, [0, 1, 2, 3, 4, 5, 6], 1.0),
    ({"a": 1, "b": 2, "c": 2, "d": 1}, DIAMOND, [0, 1, 2, 3, 4, 5], 1.0),
    ({"a": 2, "b": 2, "c": 2}, CHAIN, [0, 1, 2, 0, 1, 2], 1.0),
    ({"a": 2, "b": 2, "c": 2}, CHAIN, [0, 1, 0, 1, 0, 1], 2.0),
    ({"a": 2, "b": 3, "c": 3}, CHAIN, [0, 1, 0, 1, 1, 0, 0, 1], 2.0),
    ({"a": 1, "b": 4, "c": 1}, CHAIN, [0, 1, 0, 1, 0, 1], 2.0),
    ({"a": 4, "b": 8, "c": 4}, CHAIN, [0, 1] * 8, 2.0),
    ({"a": 2, "b": 6, "c": 4}, CHAIN, [0, 1] * 6, 4.0),
    ({"a": 1, "b": 2, "c": 2, "d": 1}, DIAMOND, [0, 0, 1, 1, 0, 1], 1.5),
)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("load", [0.4, 0.7])
@pytest.mark.parametrize("grouping", [GroupingType.SHUFFLE, GroupingType.NEAR_SOURCE])
def test_both_modes_agree_below_a_load_of_80_percent(
    shape: Shape, load: float, grouping: GroupingType
) -> None:
    replicas, links, node, cores = shape
    snapshot = cluster(
        replicas,
        links,
        cores=[cores] * (max(node) + 1),
        domains=[at % 2 for at in range(max(node) + 1)],
        groupings=dict.fromkeys(links, grouping),
        latency=LATENCY,
    )
    cpu_s = {name: 0.001 * (1 + number % 3) for number, name in enumerate(replicas)}
    given = {name: VertexProfile(cpu_s=each) for name, each in cpu_s.items()}
    given["a"] = VertexProfile(cpu_s=0.001, offered_per_s=100)
    edges = dict.fromkeys(links, EdgeProfile(selectivity=0.8))
    parameters = Parameters(serialise_s=1e-4, deserialise_s=1e-4)
    limit = tried(snapshot, given, edges, node=node, parameters=parameters).limit_per_s
    given["a"] = VertexProfile(cpu_s=0.001, offered_per_s=load * limit)
    analysis = tried(snapshot, given, edges, node=node, parameters=parameters)
    stage = staged(snapshot, given, edges, node=node, parameters=parameters)
    counts = ran(stage, seconds=400, warm_up=10)
    assert latency_s(counts) == pytest.approx(analysis.latency_s, rel=0.05)
    assert counts.processed / counts.span_s == pytest.approx(analysis.rate_per_s, rel=0.05)
    assert counts.cpu_s / counts.span_s == pytest.approx(analysis.cpu_cores, rel=0.05)


@pytest.mark.parametrize("cores", [1.0, 2.0])
def test_a_lopsided_chain_on_one_node_waits_a_little_longer_than_on_paper(cores: float) -> None:
    """What docs/simulating.md says of it: the last task's tuples come when the cores were busy."""
    snapshot, node = cluster({"a": 1, "b": 4, "c": 1}, CHAIN, cores=[cores]), [0] * 6
    given = {
        "a": VertexProfile(cpu_s=0.001, offered_per_s=0.78 * 172 * cores),
        "b": VertexProfile(cpu_s=0.002),
        "c": VertexProfile(cpu_s=0.003),
    }
    edges = dict.fromkeys(CHAIN, EdgeProfile(selectivity=0.9))
    analysis = tried(snapshot, given, edges, node=node)
    assert 0.6 < float(analysis.node_utilization[0]) < 0.8
    counts = ran(staged(snapshot, given, edges, node=node), seconds=800, warm_up=10)
    assert 1.0 < latency_s(counts) / analysis.latency_s < 1.2


@pytest.mark.parametrize("load", [0.5, 0.79])
@pytest.mark.parametrize(
    ("shares", "cores"),
    [
        ([1, 1, 1], 2.0),
        ([1, 1, 1, 1], 2.0),
        ([2, 2, 1], 2.0),
        ([3, 3, 1, 1], 2.0),
        ([3, 2, 2, 1], 2.0),
        ([1, 1, 0.3, 0.3, 0.3, 0.3], 2.0),
        ([1] * 12, 2.0),
        ([1] * 5, 4.0),
        ([2, 2, 2, 1, 1, 1], 4.0),
        ([2, 2, *([1] * 8)], 4.0),
        ([1] * 16, 8.0),
        ([1] * 10, 8.0),
    ],
)
def test_tasks_that_share_cores_wait_as_long_as_in_the_analytic_mode(
    shares: list[float], cores: float, load: float
) -> None:
    names = [f"v{number}" for number in range(len(shares))]
    profiles = {
        name: VertexProfile(cpu_s=0.01, offered_per_s=100 * load * cores * share / sum(shares))
        for name, share in zip(names, shares, strict=True)
    }
    snapshot, node = cluster(dict.fromkeys(names, 1), cores=[cores]), [0] * len(shares)
    analysis = tried(snapshot, profiles, node=node)
    assert max(analysis.utilization) < 0.8
    counts = ran(staged(snapshot, profiles, node=node), seconds=10_000 / cores)
    # Without hops to soften it: responses alone.
    assert latency_s(counts) == pytest.approx(analysis.latency_s, rel=0.05)


@pytest.mark.parametrize(
    ("cores", "node"), [(1.0, [0, 1, 0, 1, 2]), (2.0, [0, 0, 0, 0, 1]), (2.0, [0, 0, 0, 0, 0])]
)
def test_both_modes_find_the_same_limit(cores: float, node: list[int]) -> None:
    snapshot = cluster({"a": 2, "b": 3}, [("a", "b")], cores=[cores] * (1 + max(node)))
    profiles = {
        "a": VertexProfile(cpu_s=0.001, offered_per_s=4000),
        "b": VertexProfile(cpu_s=0.004),
    }
    edges = {("a", "b"): EdgeProfile()}
    analysis = tried(snapshot, profiles, edges, node=node)
    counts = ran(staged(snapshot, profiles, edges, node=node), seconds=300, warm_up=30)
    assert counts.processed[:2].sum() / 300 == pytest.approx(analysis.limit_per_s, rel=0.03)
    assert counts.backlog.sum() > 0
