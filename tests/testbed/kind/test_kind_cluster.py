"""What is measured of a cluster and what is not, which means it has, and its nodes' lives."""

from pathlib import Path

import pytest

from thalweg_fake_docker import FakeDocker, use_fakes
from thalweg_testbed.errors import BedError, CommandFailed, WrongLatency
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.lifetime import Clusters
from thalweg_testbed.kind.shape import CONTROL_DOMAIN, Shape
from thalweg_testbed.latency.links import Link, Links
from thalweg_testbed.latency.means import Means

FAR = Link(latency_s=0.02)
NEAR = Link(latency_s=0.005)


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    use_fakes(monkeypatch)
    return FakeDocker()


@pytest.fixture
def cluster(docker: FakeDocker, tmp_path: Path, lines: list[str]) -> KindCluster:
    clusters = Clusters(docker, cache=tmp_path, report=lines.append)
    cluster = clusters.create("one", Shape(domains=2, per_domain=2))
    lines.clear()
    docker.asked.clear()
    return cluster


def test_the_control_planes_node_is_measured_where_a_link_names_it(cluster: KindCluster) -> None:
    measured = cluster.set_latency(
        Links(links={("a", CONTROL_DOMAIN): FAR, (CONTROL_DOMAIN, "a"): NEAR})
    )
    ways = {(m.source_domain, m.target_domain): (m.forward_s, m.backward_s) for m in measured}
    assert ways["a", CONTROL_DOMAIN] == (0.02, 0.005)
    assert ways[CONTROL_DOMAIN, "a"] == (0.005, 0.02)


def test_it_is_an_error_where_it_does_not_do_as_told(
    cluster: KindCluster, docker: FakeDocker
) -> None:
    docker.deaf.add("one-control-plane")
    with pytest.raises(WrongLatency, match=r"one-control-plane .* asked for 5.0 ms"):
        cluster.set_latency(Links(links={("a", CONTROL_DOMAIN): FAR, (CONTROL_DOMAIN, "a"): NEAR}))


def test_it_is_left_alone_otherwise(cluster: KindCluster, lines: list[str]) -> None:
    measured = cluster.set_latency(Links(links={("a", "b"): FAR}))
    assert CONTROL_DOMAIN not in {m.source_domain for m in measured}
    assert lines == ["==> latency in 1 directions set by nfqueue"]


def test_nodes_that_are_not_measured_are_named_once(
    cluster: KindCluster, docker: FakeDocker, lines: list[str]
) -> None:
    cluster.sleep_node("a-1")
    cluster.crash_node("b-0")
    docker.deaf.add("one-worker")
    with pytest.raises(WrongLatency):
        cluster.set_latency(Links(links={("a", "b"): FAR}))
    assert [line for line in lines if "not measured" in line] == [
        "==> not measured: node a-1 sleeps",
        "==> not measured: node b-0 has crashed",
    ]


def test_without_measuring_nothing_is_probed(cluster: KindCluster, docker: FakeDocker) -> None:
    assert cluster.set_latency(Links(links={("a", "b"): FAR}), measure=False) == []
    assert not any("probe" in words for words in docker.asked)


@pytest.mark.parametrize("means", Means)
def test_the_node_says_which_means_it_has(
    cluster: KindCluster, docker: FakeDocker, means: Means
) -> None:
    docker.detected = f"{means}\n"
    cluster._means = None
    assert cluster.means is means


def test_a_node_that_cannot_be_asked_is_no_reason_for_nfqueue(
    cluster: KindCluster, docker: FakeDocker
) -> None:
    docker.detected = "error: docker exec: the daemon is gone"
    cluster._means = None
    with pytest.raises(CommandFailed, match="the daemon is gone"):
        _ = cluster.means


@pytest.mark.parametrize(
    ("verbs", "state"),
    [
        (["sleep_node", "sleep_node"], "paused"),
        (["wake_node"], "running"),
        (["sleep_node", "wake_node", "wake_node"], "running"),
        (["crash_node", "crash_node"], "exited"),
        (["sleep_node", "crash_node"], "exited"),
        (["start_node"], "running"),
        (["crash_node", "start_node", "start_node"], "running"),
    ],
)
def test_verbs_may_be_said_again(
    cluster: KindCluster, docker: FakeDocker, verbs: list[str], state: str
) -> None:
    for verb in verbs:
        getattr(cluster, verb)("b-0")
    assert docker.states["one-worker3"] == state


@pytest.mark.parametrize(
    ("first", "verb", "complaint"),
    [
        ("crash_node", "sleep_node", "node b-0 has crashed: `start b-0` boots it"),
        ("crash_node", "wake_node", "node b-0 has crashed: `start b-0` boots it"),
        ("sleep_node", "start_node", "node b-0 sleeps: `wake b-0` resumes it"),
    ],
)
def test_what_a_node_cannot_do_now_is_said(
    cluster: KindCluster, first: str, verb: str, complaint: str
) -> None:
    getattr(cluster, first)("b-0")
    with pytest.raises(BedError) as raised:
        getattr(cluster, verb)("b-0")
    assert str(raised.value) == complaint


@pytest.mark.parametrize("verb", ["sleep_node", "crash_node"])
@pytest.mark.parametrize("name", ["control-plane-0", "one-control-plane"])
def test_the_control_planes_node_is_spared(
    cluster: KindCluster, docker: FakeDocker, verb: str, name: str
) -> None:
    with pytest.raises(BedError) as raised:
        getattr(cluster, verb)(name)
    assert str(raised.value) == (
        "node control-plane-0 has the API server, without which no node comes back:"
        " cut it off by `partition DOMAIN control-plane` instead"
    )
    assert docker.states["one-control-plane"] == "running"
