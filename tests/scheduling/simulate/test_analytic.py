"""Whole workloads against closed forms."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.matrices import LatencyClasses, NodeLatency
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile, declared_workload
from thalweg_scheduling.simulate.queueing import slowdown
from thalweg_trials import FREE, cluster, tried

CHAIN = {("read", "work"): EdgeProfile(), ("work", "sink"): EdgeProfile()}
LATENCY = NodeLatency(
    classes=LatencyClasses(same_node_s=0.001, same_domain_s=0.01, cross_domain_s=0.1)
)


def test_one_task_is_mm1() -> None:
    analysis = tried(
        cluster({"only": 1}), {"only": VertexProfile(cpu_s=0.01, offered_per_s=80)}, node=[0]
    )
    assert analysis.latency_s == pytest.approx(0.01 / (1 - 0.8))
    assert analysis.utilization.tolist() == pytest.approx([0.8])
    assert analysis.node_utilization.tolist() == pytest.approx([0.8])
    assert analysis.limit_per_s == pytest.approx(100)


def test_one_task_with_constant_service_is_md1() -> None:
    analysis = tried(
        cluster({"only": 1}),
        {"only": VertexProfile(cpu_s=0.01, offered_per_s=80)},
        node=[0],
        parameters=Parameters(serialise_s=0, deserialise_s=0, service_cv2=0.0),
    )
    assert analysis.latency_s == pytest.approx(0.01 + 0.8 * 0.01 / (2 * 0.2))


@pytest.mark.parametrize("process", [[0, 1], [0, 0]])
def test_two_tasks_on_one_core_are_processor_sharing(process: list[int]) -> None:
    analysis = tried(
        cluster({"a": 1, "b": 1}),
        {
            "a": VertexProfile(cpu_s=0.01, offered_per_s=30),
            "b": VertexProfile(cpu_s=0.02, offered_per_s=25),
        },
        node=[0, 0],
        process=process,
    )
    assert (analysis.wait_s + analysis.service_s).tolist() == pytest.approx(
        [0.01 / (1 - 0.8), 0.02 / (1 - 0.8)]
    )
    assert analysis.limit_per_s == pytest.approx(55 / 0.8)


def test_a_process_has_one_core_even_if_the_node_has_four() -> None:
    profiles = {"only": VertexProfile(cpu_s=0.01, offered_per_s=80)}
    apart = tried(cluster({"only": 2}, cores=[4.0]), profiles, node=[0, 0])
    together = tried(cluster({"only": 2}, cores=[4.0]), profiles, node=[0, 0], process=[0, 0])
    assert together.latency_s == pytest.approx(0.01 / (1 - 0.8))
    assert apart.latency_s < together.latency_s
    assert (apart.limit_per_s, together.limit_per_s) == pytest.approx((200, 100))


def test_many_small_tasks_on_many_cores_are_erlang_c() -> None:
    tasks, cores, load = 2000, 8.0, 0.9
    rate = load * cores / 0.01
    analysis = tried(
        cluster({"only": tasks}, cores=[cores]),
        {"only": VertexProfile(cpu_s=0.01, offered_per_s=rate)},
        node=[0] * tasks,
    )
    expected = 0.01 * float(slowdown(np.array(cores), np.array(load * cores)))
    assert analysis.latency_s == pytest.approx(expected, rel=0.02)


def test_less_than_a_core_is_a_slow_core() -> None:
    analysis = tried(
        cluster({"only": 1}, cores=[0.5]),
        {"only": VertexProfile(cpu_s=0.01, offered_per_s=25)},
        node=[0],
    )
    assert analysis.latency_s == pytest.approx(0.02 / (1 - 0.5))
    assert analysis.limit_per_s == pytest.approx(50)


def test_a_pipeline_is_the_sum_of_its_parts() -> None:
    analysis = tried(
        cluster(
            {"read": 1, "work": 1, "sink": 1},
            [("read", "work"), ("work", "sink")],
            cores=[1.0] * 3,
            domains=[0, 0, 1],
            latency=LATENCY,
        ),
        {
            "read": VertexProfile(cpu_s=0.001, offered_per_s=100),
            "work": VertexProfile(cpu_s=0.005),
            "sink": VertexProfile(cpu_s=0.002),
        },
        CHAIN,
        node=[0, 1, 2],
    )
    responses = 0.001 / 0.9 + 0.005 / 0.5 + 0.002 / 0.8
    assert analysis.latency_s == pytest.approx(responses + 0.01 + 0.1)
    assert analysis.complete_latency_s == pytest.approx(responses + 2 * (0.01 + 0.1))
    assert analysis.component_latency_s == pytest.approx(responses)
    assert analysis.cross_domain_share == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("node", "process", "hop_s", "cpu_s"),
    [
        ([0, 0], [0, 0], 0.0, 0.010),
        ([0, 0], [0, 1], 0.001, 0.013),
        ([0, 1], [0, 1], 0.01, 0.013),
        ([0, 2], [0, 1], 0.1, 0.013),
    ],
)
def test_hops_and_serialisation_by_nearness(
    node: list[int], process: list[int], hop_s: float, cpu_s: float
) -> None:
    analysis = tried(
        cluster(
            {"read": 1, "sink": 1},
            [("read", "sink")],
            cores=[100.0] * 3,
            domains=[0, 0, 1],
            latency=LATENCY,
        ),
        {"read": VertexProfile(cpu_s=0.01, offered_per_s=1), "sink": VertexProfile(cpu_s=0.01)},
        {("read", "sink"): EdgeProfile()},
        node=node,
        process=process,
        parameters=Parameters(serialise_s=0.003, deserialise_s=0.003),
    )
    assert analysis.hop_s.tolist() == pytest.approx([hop_s])
    assert analysis.cpu_cores.tolist() == pytest.approx([cpu_s, cpu_s])


def test_the_wire_takes_time_and_can_be_full() -> None:
    analysis = tried(
        cluster({"read": 1, "sink": 1}, [("read", "sink")], cores=[9.0, 9.0]),
        {"read": VertexProfile(cpu_s=1e-6, offered_per_s=500), "sink": VertexProfile(cpu_s=1e-6)},
        {("read", "sink"): EdgeProfile(tuple_bytes=1000)},
        node=[0, 1],
        parameters=Parameters(serialise_s=0, deserialise_s=0, bandwidth_bytes_per_s=1e6),
    )
    # Half of the wire is used, out and in: 1 ms, and half of 1 ms queueing at each end.
    assert analysis.hop_s.tolist() == pytest.approx([0.001 * (1 + 0.5 + 0.5)])
    assert analysis.limit_per_s == pytest.approx(1000)


def test_more_than_the_limit_is_held_back() -> None:
    analysis = tried(
        cluster({"read": 1, "sink": 1}, [("read", "sink")], cores=[1.0, 1.0]),
        {"read": VertexProfile(cpu_s=0.001, offered_per_s=500), "sink": VertexProfile(cpu_s=0.01)},
        {("read", "sink"): EdgeProfile()},
        node=[0, 1],
    )
    assert analysis.throughput_per_s == pytest.approx(100)
    assert analysis.backlog_per_s == pytest.approx(400)
    assert analysis.rate_per_s.tolist() == pytest.approx([100, 100])
    assert analysis.latency_s == pytest.approx(1000 * 0.01, rel=0.01)


def test_complete_latency_waits_for_the_last_of_the_children() -> None:
    snapshot = cluster({"read": 1, "sink": 1}, [("read", "sink")], cores=[1.0, 1.0])
    profiles = {
        "read": VertexProfile(cpu_s=0.001, offered_per_s=100),
        "sink": VertexProfile(cpu_s=0.001),
    }
    edges = {("read", "sink"): EdgeProfile(selectivity=3)}
    analysis = tried(snapshot, profiles, edges, node=[0, 1])
    sink = 0.001 / (1 - 0.3)
    assert analysis.latency_s == pytest.approx(0.001 / 0.9 + sink)
    assert analysis.complete_latency_s == pytest.approx(0.001 / 0.9 + sink * (1 + 1 / 2 + 1 / 3))


def test_of_two_branches_the_slower_completes() -> None:
    snapshot = cluster(
        {"read": 1, "fast": 1, "slow": 1},
        [("read", "fast"), ("read", "slow")],
        cores=[1.0] * 3,
    )
    profiles = {
        "read": VertexProfile(cpu_s=0.001, offered_per_s=100),
        "fast": VertexProfile(cpu_s=0.001),
        "slow": VertexProfile(cpu_s=0.005),
    }
    edges = {("read", "fast"): EdgeProfile(), ("read", "slow"): EdgeProfile()}
    analysis = tried(snapshot, profiles, edges, node=[0, 1, 2])
    read, fast, slow = 0.001 / 0.9, 0.001 / 0.9, 0.005 / 0.5
    assert analysis.latency_s == pytest.approx(read + (fast + slow) / 2)
    assert analysis.complete_latency_s == pytest.approx(read + slow)
    assert analysis.component_latency_s == pytest.approx(read + fast + slow)


@pytest.mark.parametrize(
    ("grouping", "rates"),
    [
        (GroupingType.SHUFFLE, [20, 20, 20]),
        (GroupingType.PARTIAL_KEY, [20, 20, 20]),
        (GroupingType.W_CHOICES, [20, 20, 20]),
        (GroupingType.BROADCAST, [60, 60, 60]),
        (GroupingType.GLOBAL, [60, 0, 0]),
        (GroupingType.NEAR_SOURCE, [20, 20, 20]),  # without weights everybody gets the same
    ],
)
def test_groupings_decide_who_gets_what(grouping: GroupingType, rates: list[float]) -> None:
    analysis = tried(
        cluster(
            {"read": 2, "work": 3},
            [("read", "work")],
            cores=[9.0] * 3,
            groupings={("read", "work"): grouping},
        ),
        {"read": VertexProfile(cpu_s=0.001, offered_per_s=60), "work": VertexProfile(cpu_s=0.001)},
        {("read", "work"): EdgeProfile()},
        node=[0, 1, 0, 1, 2],
    )
    assert analysis.rate_per_s[2:].tolist() == pytest.approx(rates)


def test_near_source_makes_its_own_of_shares_on_every_node() -> None:
    ends = ("read", "work")
    snapshot = cluster(
        {"read": 2, "work": 2},
        [ends],
        cores=[9.0, 9.0],
        groupings={ends: GroupingType.NEAR_SOURCE},
    )
    profiles = {
        "read": VertexProfile(cpu_s=0.001, offered_per_s=80),
        "work": VertexProfile(cpu_s=0.001),
    }
    for shares, sent in (
        (None, [40, 0, 0, 40]),
        ((0.5, 0.5), [40, 0, 0, 40]),
        ((0.75, 0.25), [40, 0, 20, 20]),
    ):
        edges = {ends: EdgeProfile(shares=shares)}
        node = np.array([0, 1, 0, 1])
        workload = declared_workload(snapshot, profiles, edges, node)
        assert (40 * workload.sent_per_tuple).tolist() == pytest.approx(sent)


def test_near_source_does_not_crowd_a_node_that_has_many_senders() -> None:
    ends = ("read", "work")
    profiles = {
        "read": VertexProfile(cpu_s=0.001, offered_per_s=60),
        "work": VertexProfile(cpu_s=0.001),
    }
    # Both readers are beside one of three workers: it gets its part, not everything.
    snapshot = cluster(
        {"read": 2, "work": 3},
        [ends],
        cores=[9.0, 9.0],
        groupings={ends: GroupingType.NEAR_SOURCE},
    )
    analysis = tried(snapshot, profiles, {ends: EdgeProfile()}, node=[0, 0, 0, 1, 1])
    assert analysis.rate_per_s[2:].tolist() == pytest.approx([20, 20, 20])


def test_a_wire_that_is_all_but_full_holds_no_more_than_a_full_one() -> None:
    snapshot = cluster({"read": 1, "work": 1}, [("read", "work")], cores=[9.0, 9.0])
    edges = {("read", "work"): EdgeProfile(tuple_bytes=1000)}
    parameters = Parameters(serialise_s=0, deserialise_s=0, bandwidth_bytes_per_s=1e6)
    hops = []
    for rate in (500.0, 1000 * (1 - 1e-12), 1100.0):
        profiles = {
            "read": VertexProfile(cpu_s=1e-6, offered_per_s=rate),
            "work": VertexProfile(cpu_s=1e-6),
        }
        analysis = tried(snapshot, profiles, edges, node=[0, 1], parameters=parameters)
        hops.append(float(analysis.hop_s[0]))
    assert hops[0] < hops[1] <= hops[2]
    # 1 ms for itself, and for each that may wait where it leaves and where it arrives.
    assert hops[2] == pytest.approx(0.001 * (1 + 2 * parameters.credit_tuples))


def test_shares_of_routes_come_before_the_grouping() -> None:
    analysis = tried(
        cluster({"read": 1, "work": 2}, [("read", "work")], cores=[9.0]),
        {"read": VertexProfile(cpu_s=0.001, offered_per_s=60), "work": VertexProfile(cpu_s=0.001)},
        {("read", "work"): EdgeProfile(shares=(0.75, 0.25))},
        node=[0, 0, 0],
    )
    assert analysis.rate_per_s[1:].tolist() == pytest.approx([45, 15])


def test_a_task_without_a_node_makes_the_rest_unknown() -> None:
    analysis = tried(
        cluster({"read": 1, "sink": 1}, [("read", "sink")], cores=[1.0]),
        {"read": VertexProfile(cpu_s=0.001, offered_per_s=10), "sink": VertexProfile(cpu_s=0.001)},
        {("read", "sink"): EdgeProfile()},
        node=[0, -1],
    )
    assert np.isnan(analysis.latency_s)
    assert np.isnan(analysis.cross_domain_share)


@settings(max_examples=40, deadline=None)
@given(
    replicas=st.tuples(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4)),
    selectivity=st.tuples(st.floats(0, 5), st.floats(0, 5)),
    offered=st.floats(0, 1e5),
    seed=st.integers(0, 2**16),
)
def test_what_flows_in_flows_through(
    replicas: tuple[int, int, int],
    selectivity: tuple[float, float],
    offered: float,
    seed: int,
) -> None:
    names = ("read", "work", "sink")
    snapshot = cluster(
        dict(zip(names, replicas, strict=True)),
        [("read", "work"), ("work", "sink")],
        cores=[2.0, 3.0],
        domains=[0, 1],
    )
    edges = {
        ("read", "work"): EdgeProfile(selectivity=selectivity[0]),
        ("work", "sink"): EdgeProfile(selectivity=selectivity[1]),
    }
    profiles = {name: VertexProfile(cpu_s=0.001) for name in names}
    profiles["read"] = VertexProfile(cpu_s=0.001, offered_per_s=offered)
    node = np.random.default_rng(seed).integers(0, 2, sum(replicas))
    analysis = tried(snapshot, profiles, edges, node=node.tolist(), parameters=FREE)
    total = [analysis.rate_per_s[snapshot.vertex_of == v].sum() for v in range(3)]
    assert total[0] == pytest.approx(analysis.throughput_per_s)
    assert total[1] == pytest.approx(total[0] * selectivity[0])
    assert total[2] == pytest.approx(total[1] * selectivity[1])
    assert analysis.throughput_per_s <= offered * (1 + 1e-9)
    assert np.all(analysis.utilization <= 1 + 1e-6)
    assert np.all(analysis.node_utilization <= 1 + 1e-6)
