"""Fixtures of the kind tier: one cluster a session, a namespace and a topology a test.

Loaded by e2e/conftest.py. `THALWEG_KIND=thalweg` uses the cluster of that name which `make kind`
left running, to save its making while a test is being written. A cluster that cannot be had is an
error, never a skip.
"""

import os
import secrets
from collections.abc import Callable, Iterator

import pytest

from thalweg_testbed.docker import use_engine
from thalweg_testbed.images import Images
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.installation import install_operator
from thalweg_testbed.kind.lifetime import Clusters, kind_cluster
from thalweg_testbed.kind.shape import Shape
from thalweg_testbed.kind.topologies import Topology
from thalweg_testbed.latency.links import Links
from thalweg_testbed.latency.means import Means

__all__ = ["images", "kind", "namespace", "operator", "topology"]

_SHAPE = Shape(domains=4, per_domain=2)
_SETTINGS = {"pass_interval_s": 5.0}
_not_run: list[str] = []


@pytest.fixture(scope="session")
def kind(pytestconfig: pytest.Config) -> Iterator[KindCluster]:
    """Give a cluster of 4 domains of 2 nodes with the worker's placeholder loaded."""
    report = _reporter(pytestconfig)
    lent = os.environ.get("THALWEG_KIND")
    if lent:
        with use_engine(report=report) as engine:
            yield _furnished(Clusters(engine, report=report).open(lent))
        return
    with kind_cluster(f"thalweg-{os.getpid()}", _SHAPE, report=report) as cluster:
        yield _furnished(cluster)


def _furnished(cluster: KindCluster) -> KindCluster:
    cluster.load(Images(cluster.engine).placeholder())
    if cluster.means is Means.QUEUE:
        _not_run.append("netem: this kernel has none; latency by nfqueue instead")
    return cluster


@pytest.fixture(scope="session")
def images(kind: KindCluster, pytestconfig: pytest.Config) -> Images:
    """Give the pods' images."""
    return Images(kind.engine, report=_reporter(pytestconfig))


@pytest.fixture(scope="session")
def operator(kind: KindCluster, images: Images) -> KindCluster:
    """Give the cluster with our operator installed in it by its chart."""
    install_operator(kind, images, settings=_SETTINGS)
    return kind


@pytest.fixture
def whole(kind: KindCluster) -> Iterator[KindCluster]:
    """Give the cluster, and bring back whatever a test did to its nodes and its network."""
    yield kind
    for node in kind.workers:
        state = kind.engine.state_of(node.name)
        if state == "paused":
            kind.wake_node(node.name)
        elif state != "running":
            kind.start_node(node.name)
    if kind.partitions:
        kind.heal()
    if kind.links.links:
        kind.set_latency(Links(), measure=False)
    kind.wait_ready(*(node.name for node in kind.nodes))


@pytest.fixture
def namespace(kind: KindCluster) -> Iterator[str]:
    """Give a fresh namespace, deleted afterwards."""
    name = f"t-{secrets.token_hex(4)}"
    kind.create_namespace(name)
    yield name
    kind.delete_namespace(name)


@pytest.fixture
def topology(whole: KindCluster, operator: KindCluster, namespace: str, images: Images) -> Topology:
    """Give a topology to be applied; its pods are real."""
    assert operator is whole
    return Topology(whole, namespace, "stream", images.placeholder())


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what this machine could not run."""
    for line in _not_run:
        terminalreporter.write_line(f"NOT RUN: {line}")


def _reporter(config: pytest.Config) -> Callable[[str], None]:
    """Show progress past pytest's capturing: it takes minutes."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")

    def report(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    return report
