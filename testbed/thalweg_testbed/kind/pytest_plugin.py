"""Fixtures of the kind tier: one cluster a session, a namespace and a topology a test.

Loaded by e2e/conftest.py. `THALWEG_KIND=thalweg` uses the cluster of that name which `make kind`
left running, to save its making while a test is being written. A cluster that cannot be had is an
error, never a skip.
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import nullcontext

import pytest

from thalweg_testbed.binaries import Report
from thalweg_testbed.docker.host import read_host
from thalweg_testbed.images import Images
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.installation import install_operator
from thalweg_testbed.kind.lifetime import kind_cluster, open_cluster
from thalweg_testbed.kind.monitoring import Prometheus, install_prometheus
from thalweg_testbed.kind.not_run import not_run, read_ways
from thalweg_testbed.kind.shape import Shape
from thalweg_testbed.kind.topologies import Topology
from thalweg_testbed.latency.links import Links

__all__ = [
    "OPERATOR_SETTINGS",
    "images",
    "kind",
    "looping",
    "namespace",
    "operator",
    "progress",
    "prometheus",
    "runtime_image",
    "topology",
    "whole",
]

_SHAPE = Shape(domains=4, per_domain=2)
OPERATOR_SETTINGS = {"pass_interval_s": 5.0, "replace_after_not_ready_s": 20.0}
_not_run: list[str] = []


def pytest_configure(config: pytest.Config) -> None:
    """Make the tier's own marker known."""
    config.addinivalue_line("markers", "soak: takes minutes of its own; `make soak` runs it")


@pytest.fixture(scope="session")
def progress(pytestconfig: pytest.Config) -> Report:
    """Give a way to show a line to whoever is waiting."""
    return _reporter(pytestconfig)


@pytest.fixture(scope="session")
def kind(progress: Report) -> Iterator[KindCluster]:
    """Give a cluster of 4 domains of 2 nodes with the worker's placeholder loaded."""
    lent = os.environ.get("THALWEG_KIND")
    if lent:
        with open_cluster(lent, report=progress) as cluster:
            yield from _furnished(cluster)
        return
    with kind_cluster(f"thalweg-{os.getpid()}", _SHAPE, report=progress) as cluster:
        yield from _furnished(cluster)


def _furnished(cluster: KindCluster) -> Iterator[KindCluster]:
    cluster.load(Images(cluster.engine).placeholder())
    yield cluster
    # At the end: only now are all images there that this run has made or pulled.
    node = cluster.nodes[0].name
    _not_run.extend(not_run(read_ways(cluster.engine, read_host(), cluster.means, node=node)))


@pytest.fixture(scope="session")
def images(kind: KindCluster, progress: Report) -> Images:
    """Give the pods' images."""
    return Images(kind.engine, report=progress)


@pytest.fixture(scope="session")
def operator(kind: KindCluster, images: Images) -> KindCluster:
    """Give the cluster with our operator installed in it by its chart."""
    install_operator(kind, images, settings=OPERATOR_SETTINGS)
    return kind


@pytest.fixture(scope="session")
def runtime_image(kind: KindCluster, images: Images) -> str:
    """Give the image of stream workers and of the latency prober, loaded into every node."""
    image = images.runtime()
    kind.load(image)
    return image


@pytest.fixture(scope="session")
def prometheus(kind: KindCluster, images: Images) -> Prometheus:
    """Give a Prometheus in the cluster that scrapes all workers every second."""
    return install_prometheus(kind, images)


@pytest.fixture(scope="session")
def looping(kind: KindCluster, images: Images, prometheus: Prometheus, runtime_image: str) -> str:
    """Install the operator with its eyes open, and a prober on each node; give workers' image."""
    repository, _, tag = runtime_image.partition(":")
    image = {"repository": f"docker.io/library/{repository}", "tag": tag}
    sources = {"metrics_sources": {"default": {"url": prometheus.url}}}
    settings = {**OPERATOR_SETTINGS, **sources, "condense": {"engine": "numpy"}}
    prober = {"enabled": True, "image": image, "roundSeconds": 2}
    install_operator(kind, images, settings=settings, more={"prober": prober})
    return runtime_image


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


def _reporter(config: pytest.Config) -> Report:
    """Show progress past pytest's capturing: it takes minutes."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    capturing = config.pluginmanager.get_plugin("capturemanager")

    def report(line: str) -> None:
        if reporter is None:
            return
        with capturing.global_and_fixture_disabled() if capturing else nullcontext():
            reporter.ensure_newline()
            reporter.write_line(line)

    return report
