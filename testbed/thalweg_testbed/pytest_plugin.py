"""Fixtures: one cluster a session, one namespace a test.

Loaded by `pytest_plugins = ["thalweg_testbed.pytest_plugin"]` in the top conftest. Under
pytest-xdist each worker is a session and has a control plane of its own.
"""

import secrets
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

import pytest

from thalweg_testbed.borrowing import open_cluster
from thalweg_testbed.cluster import Cluster
from thalweg_testbed.errors import NotOurs

__all__ = ["control_plane", "crd_files", "namespace"]


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker here too, for a project that loads only this plugin."""
    config.addinivalue_line(
        "markers", "control_plane: needs the control-plane test bed (etcd, kube-apiserver, KWOK)"
    )


def _skip_what_is_not_ours() -> Generator[None, None, None]:
    """Skip a test that asks of a borrowed cluster what only our own can do."""
    try:
        yield
    except NotOurs as error:
        pytest.skip(str(error))


pytest_runtest_setup = pytest.hookimpl(wrapper=True)(_skip_what_is_not_ours)
pytest_runtest_call = pytest.hookimpl(wrapper=True)(_skip_what_is_not_ours)


@pytest.fixture(scope="session")
def crd_files(pytestconfig: pytest.Config) -> list[Path]:
    """Return the project's CRDs, for tests that start a control plane of their own."""
    return sorted((pytestconfig.rootpath / "crds").glob("*.yaml"))


@pytest.fixture(scope="session")
def control_plane(pytestconfig: pytest.Config, crd_files: list[Path]) -> Iterator[Cluster]:
    """Give a cluster with our CRDs; one of our own has 4 domains of 3 nodes."""
    with open_cluster(crds=crd_files, report=_reporter(pytestconfig)) as cluster:
        if cluster.is_ours:
            cluster.add_nodes(domains=4, per_domain=3)
        yield cluster


@pytest.fixture
def namespace(control_plane: Cluster) -> Iterator[str]:
    """Give a fresh namespace, deleted afterwards."""
    name = f"t-{secrets.token_hex(4)}"
    control_plane.create_namespace(name)
    yield name
    control_plane.delete_namespace(name)


def _reporter(config: pytest.Config) -> Callable[[str], None]:
    """Show the progress of a build past pytest's capturing: it takes minutes."""
    reporter = config.pluginmanager.get_plugin("terminalreporter")

    def report(line: str) -> None:
        if reporter is not None:
            reporter.ensure_newline()
            reporter.write_line(line)

    return report
