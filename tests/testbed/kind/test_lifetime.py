"""Who owns a cluster while it is made, when it is made anew, and when that is refused."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg_fake_docker import FakeDocker, use_fakes
from thalweg_testbed.errors import BedError, CommandFailed
from thalweg_testbed.kind.lifetime import Clusters
from thalweg_testbed.kind.records import Record
from thalweg_testbed.kind.shape import Shape
from thalweg_testbed.waiting import eventually

SMALL = Shape(domains=2, per_domain=1)
NO_PROCESS = 2**22 + 1
"""No process can have this id."""


@pytest.fixture
def docker(monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    use_fakes(monkeypatch)
    return FakeDocker()


@pytest.fixture
def lines() -> list[str]:
    return []


@pytest.fixture
def clusters(docker: FakeDocker, tmp_path: Path, lines: list[str]) -> Clusters:
    return Clusters(docker, cache=tmp_path, report=lines.append)


def up(clusters: Clusters) -> None:
    clusters.up("one", domains=2, per_domain=1)


def record_of(clusters: Clusters) -> Record:
    record = clusters.records.read("one")
    assert record is not None
    return record


def test_a_cluster_that_is_kept_is_ours_while_it_is_made(
    clusters: Clusters, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[Record] = []
    whole = Clusters._kind

    def kind(self: Clusters, *arguments: str) -> str:
        seen.append(record_of(self))
        return whole(self, *arguments)

    monkeypatch.setattr(Clusters, "_kind", kind)
    up(clusters)
    assert [record.owner_pid for record in seen] == [os.getpid()]
    assert record_of(clusters).owner_pid == 0
    assert record_of(clusters).shape == SMALL


def test_a_cluster_for_a_test_stays_ours(clusters: Clusters) -> None:
    clusters.create("one", SMALL)
    assert record_of(clusters).owner_pid == os.getpid()


def test_what_a_killed_making_left_is_made_anew(
    clusters: Clusters, docker: FakeDocker, lines: list[str]
) -> None:
    docker.make("one", "a")
    left = Record(name="one", docker_host="", shape=SMALL, owner_pid=NO_PROCESS, owner_birth="x/1")
    clusters.records.write(left)
    up(clusters)
    assert "==> removing the kind cluster one that a killed run left" in lines
    assert len(docker.states) == SMALL.node_count


def test_a_making_that_fails_leaves_nothing(
    clusters: Clusters, docker: FakeDocker, monkeypatch: pytest.MonkeyPatch
) -> None:
    def kind(_: Clusters, *arguments: str) -> str:
        docker.make("one", "a")
        raise CommandFailed("kind: no")

    monkeypatch.setattr(Clusters, "_kind", kind)
    with pytest.raises(CommandFailed, match="kind: no"):
        up(clusters)
    assert docker.states == {}
    assert clusters.records.read("one") is None


def test_what_is_up_is_not_made_again(
    clusters: Clusters, docker: FakeDocker, lines: list[str]
) -> None:
    up(clusters)
    lines.clear()
    clusters.up("one")
    assert lines == ["==> cluster one is already up: 2 domains of 1 nodes"]
    assert docker.verbs().count("rm") == 0


@pytest.mark.parametrize("verb", ["kill", "pause"])
def test_a_worker_that_crashed_or_sleeps_is_no_reason_to_make_it_anew(
    clusters: Clusters, docker: FakeDocker, lines: list[str], verb: str
) -> None:
    up(clusters)
    docker.run(verb, "one-worker2")
    clusters.up("one")
    assert any("already up" in line for line in lines)
    assert docker.states["one-worker2"] != "running"


@pytest.mark.parametrize(
    ("done", "reason"),
    [
        ("kill one-control-plane", "its control plane's node is exited"),
        ("rm one-control-plane", "its control plane's node is gone"),
        ("rm one-worker2", "1 of its 3 nodes are gone"),
    ],
)
def test_what_cannot_come_back_is_made_anew_and_said(
    clusters: Clusters, docker: FakeDocker, lines: list[str], done: str, reason: str
) -> None:
    up(clusters)
    docker.run(*done.split())
    clusters.up("one")
    assert f"==> making one anew: {reason}" in lines
    # In the shape that it had, since none is asked for.
    assert set(docker.states.values()) == {"running"}
    assert len(docker.states) == SMALL.node_count


def test_another_shape_is_refused_in_one_line(clusters: Clusters, docker: FakeDocker) -> None:
    up(clusters)
    with pytest.raises(BedError) as raised:
        clusters.up("one", domains=3)
    assert str(raised.value) == (
        "cluster one is up and has 2 domains of 1 nodes, not 3 domains of 1 nodes:"
        " remove it first, or give another --name"
    )
    assert len(docker.states) == SMALL.node_count


def test_what_belongs_to_another_process_is_refused(clusters: Clusters) -> None:
    up(clusters)
    # Process 1 never ends.
    owner = replace(record_of(clusters), owner_pid=1)
    clusters.records.write(owner)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Record, "is_abandoned", lambda _: False)
        with pytest.raises(BedError, match="belongs to process 1, which removes it"):
            clusters.up("one")


def test_nodes_that_are_cut_off_are_not_waited_for(clusters: Clusters, docker: FakeDocker) -> None:
    up(clusters)
    # A partition is all that keeps a running node from being Ready.
    docker.unready.add("one-worker2")
    clusters.records.write(replace(record_of(clusters), partitions=(("b", "control-plane"),)))
    cluster = clusters.up("one")
    assert "one-worker2" not in cluster.ready_nodes()


def test_two_do_not_make_clusters_at_once(
    clusters: Clusters, docker: FakeDocker, lines: list[str]
) -> None:
    with Clusters(docker, cache=clusters._cache)._one_maker():
        second = threading.Thread(target=up, args=(clusters,))
        second.start()
        eventually(lambda: lines, what="the second waits")
        assert lines == ["==> another process is making a cluster: waiting for it"]
        assert docker.states == {}
    second.join()
    assert len(docker.states) == SMALL.node_count
