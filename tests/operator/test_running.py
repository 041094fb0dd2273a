"""The process around the loop: what a pass that fails leads to, and what a signal stops."""

from pathlib import Path

import pytest
import yaml

from thalweg_operator.clock import Clock
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.connection import Connection, connect
from thalweg_operator.cluster.resources import CONFIG_MAPS
from thalweg_operator.errors import NotLeader, Stopping, Unavailable
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.running import Replica, Turning, backoff_s
from thalweg_operator.settings import Settings


@pytest.fixture
def connection(tmp_path: Path) -> Connection:
    """To a server that is not there."""
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.write_text(
        yaml.safe_dump(
            {
                "current-context": "c",
                "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
                "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:1"}}],
                "users": [{"name": "u", "user": {}}],
            }
        )
    )
    return connect(kubeconfig)


class PretendedLoop:
    """Fails as told, a pass after the other."""

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)
        self.client: Client | None = None

    def prepare(self) -> None:
        """Nothing takes long."""

    def close(self) -> None:
        """Nothing was started."""

    def turn(self) -> None:
        error = self.errors.pop(0)
        if error is not None:
            raise error


def replica(connection: Connection, loop: PretendedLoop) -> Replica:
    def make_loop(client: Client, _metrics: Metrics, _clock: Clock) -> Turning:
        loop.client = client
        return loop

    return Replica(Settings(), connection=connection, identity="me", make_loop=make_loop)


def test_the_pause_after_failures_grows_to_a_minute() -> None:
    assert [backoff_s(failures) for failures in (1, 2, 3, 7, 100)] == [1.0, 2.0, 4.0, 60.0, 60.0]


def test_a_pass_that_fails_is_counted_and_the_next_one_comes(connection: Connection) -> None:
    told = replica(connection, PretendedLoop(Unavailable("no"), ZeroDivisionError(), None))
    assert [told._turn(), told._turn(), told._turn()] == [False, False, True]
    text = told._metrics.text().decode()
    assert 'thalweg_operator_passes_total{outcome="error"} 2.0' in text
    assert 'thalweg_operator_passes_total{outcome="ok"} 1.0' in text
    assert 'thalweg_operator_errors_total{kind="ZeroDivisionError"} 1.0' in text


def test_nothing_is_written_without_the_lease(connection: Connection) -> None:
    loop = PretendedLoop()
    replica(connection, loop)
    assert loop.client is not None
    with pytest.raises(NotLeader, match="does not hold the Lease"):
        loop.client.create(CONFIG_MAPS, {"metadata": {"namespace": "n", "name": "x"}})


def test_nothing_is_written_after_a_signal(connection: Connection) -> None:
    loop = PretendedLoop()
    told = replica(connection, loop)
    told._wake.stop()
    assert loop.client is not None
    with pytest.raises(Stopping):
        loop.client.create(CONFIG_MAPS, {"metadata": {"namespace": "n", "name": "x"}})


def test_a_pass_that_a_signal_ended_is_no_failure(connection: Connection) -> None:
    told = replica(connection, PretendedLoop(Stopping("asked to end")))
    assert told._turn()
    assert 'outcome="error"' not in told._metrics.text().decode()


def test_the_pause_ends_with_a_signal(connection: Connection) -> None:
    told = replica(connection, PretendedLoop())
    told._wake.stop()
    told._pause(600.0)
    assert told._wake.is_stopping()
