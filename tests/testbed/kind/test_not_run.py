"""A run names the ways that it did not take, on every kind of machine."""

from dataclasses import replace

import pytest

from thalweg_fake_docker import FakeDocker
from thalweg_testbed.docker.host import Host
from thalweg_testbed.kind.not_run import Ways, not_run, read_ways
from thalweg_testbed.latency.means import Means

HERE = Host(
    is_linux=True, is_root=True, is_debian=True, has_sys_resource=False, has_cgroup_v2=False
)
PYTHON, PROMETHEUS = "python:3.12-slim-bookworm", "prom/prometheus:v3.5.0"
BARE = Ways(
    host=HERE,
    means=Means.QUEUE,
    has_own_docker=True,
    node_image="thalweg-node:1",
    published=frozenset(),
)
RICH = Ways(
    host=replace(HERE, has_cgroup_v2=True, has_sys_resource=True),
    means=Means.NETEM,
    has_own_docker=False,
    node_image="kindest/node:v1.34.0",
    published=frozenset({PYTHON, PROMETHEUS}),
)


def test_a_bare_build_machine() -> None:
    assert not_run(BARE) == [
        "latency by netem: this kernel has none, so it was nfqueue",
        "nodes on cgroup v2: this machine has v1",
        "nodes by plain runc: this machine lacks CAP_SYS_RESOURCE, so it was our front",
        "using a Docker that runs already: none did, so it was one of our own",
        "kindest/node:v1.34.0: nodes were of thalweg-node:1",
        f"{PYTHON}: Docker does not have it; a Python of Debian packages stands in",
        f"{PROMETHEUS}: Docker does not have it; Debian's Prometheus stands in",
    ]


def test_of_two_ways_one_is_always_named() -> None:
    bare, rich = not_run(BARE), not_run(RICH)
    assert len(bare) == len(rich) == 7
    assert not set(bare) & set(rich)


def test_an_image_of_ones_own_leaves_both_others_unshown() -> None:
    lines = not_run(replace(BARE, node_image="mine:1"))
    assert "kindest/node:v1.34.0: nodes were of mine:1" in lines
    assert "a node image made from packages: nodes were of mine:1" in lines
    assert not any("cannot be pulled" in line for line in lines)


@pytest.mark.parametrize("host", ["", "unix:///x.sock"])
def test_ways_are_read_from_docker(host: str, monkeypatch: pytest.MonkeyPatch) -> None:
    docker = FakeDocker(host)
    answers = {"inspect": "mine:1\n"}

    def run(_: FakeDocker, *words: str, **__: object) -> str:
        return "sha256:1" if words[-1] == PYTHON else answers.get(words[0], "")

    monkeypatch.setattr(FakeDocker, "run", run)
    ways = read_ways(docker, HERE, Means.QUEUE, node="one-worker")
    assert ways.has_own_docker is bool(host)
    assert ways.node_image == "mine:1"
    assert ways.published == {PYTHON}
