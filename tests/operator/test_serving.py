"""Probes and metrics, over real HTTP."""

import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from thalweg_operator.cluster.resources import PODS
from thalweg_operator.errors import Unavailable
from thalweg_operator.health import Health
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.serving import Answer, Server
from thalweg_operator.settings import ServingSettings, Settings


class TurnedClock:
    """A clock that the test turns."""

    def __init__(self) -> None:
        self.time_s = 0.0

    def now_s(self) -> float:
        return self.time_s

    def monotonic_s(self) -> float:
        return self.time_s


@pytest.fixture
def server() -> Iterator[Server]:
    pages = {
        "/good": lambda: Answer(body=b"yes\n"),
        "/bad": lambda: Answer(is_ok=False, body=b"stuck\n"),
    }
    with Server(ServingSettings(host="127.0.0.1", port=0), pages) as server:
        yield server


def fetch(server: Server, path: str) -> tuple[int, str]:
    url = f"http://127.0.0.1:{server.port}{path}"
    try:
        with urllib.request.urlopen(url, timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ("/good", (200, "yes\n")),
        ("/good?verbose", (200, "yes\n")),
        ("/bad", (503, "stuck\n")),
        ("/other", (404, "there are: /bad /good\n")),
    ],
)
def test_pages(server: Server, path: str, wanted: tuple[int, str]) -> None:
    assert fetch(server, path) == wanted


def test_the_port_is_free_again_afterwards() -> None:
    settings = ServingSettings(host="127.0.0.1", port=0)
    with Server(settings, {}) as first:
        port = first.port
    with Server(ServingSettings(host="127.0.0.1", port=port), {}) as second:
        assert second.port == port


class TestHealth:
    def setup_method(self) -> None:
        self.clock = TurnedClock()
        self.attempt_age_s = 0.0
        self.health = Health(Settings(), clock=self.clock, attempt_age_s=lambda: self.attempt_age_s)
        self.health.prepared()

    def test_a_standby_is_alive_and_ready_while_it_attempts(self) -> None:
        self.clock.time_s = 10_000
        assert (self.health.why_not_alive(), self.health.why_not_ready()) == ("", "")

    def test_a_standby_whose_attempts_hang_is_dead(self) -> None:
        self.attempt_age_s = 60
        assert "no attempt at the Lease" in self.health.why_not_alive()
        assert "no attempt at the Lease" in self.health.why_not_ready()

    def test_a_replica_that_still_prepares_is_alive_but_not_ready(self) -> None:
        health = Health(Settings(), clock=self.clock, attempt_age_s=lambda: self.attempt_age_s)
        assert health.why_not_alive() == ""
        assert "not prepared yet" in health.why_not_ready()

    def test_a_leader_is_ready_after_its_first_pass(self) -> None:
        self.health.lead()
        assert self.health.why_not_alive() == ""
        assert "no pass has ended well yet" in self.health.why_not_ready()
        self.health.passed()
        assert self.health.why_not_ready() == ""

    def test_a_leader_without_passes_is_dead(self) -> None:
        self.health.lead()
        self.clock.time_s = 121
        assert "no pass ended well for 121 s" in self.health.why_not_alive()

    def test_each_pass_gives_new_life(self) -> None:
        self.health.lead()
        self.clock.time_s = 100
        self.health.passed()
        self.clock.time_s = 200
        assert self.health.why_not_alive() == ""
        self.clock.time_s = 221
        assert self.health.why_not_alive() != ""


def test_metrics_are_told_in_text() -> None:
    metrics = Metrics()
    metrics.count_write("create", PODS)
    metrics.count_error(Unavailable("no"))
    metrics.passes.labels("ok").inc()
    with metrics.stage("observe"):
        metrics.tasks_ready.set(3)
    text = metrics.text().decode()
    for line in (
        'thalweg_operator_writes_total{resource="pods",verb="create"} 1.0',
        'thalweg_operator_errors_total{kind="Unavailable"} 1.0',
        'thalweg_operator_passes_total{outcome="ok"} 1.0',
        'thalweg_operator_stage_seconds_count{stage="observe"} 1.0',
        "thalweg_operator_tasks_ready 3.0",
        "thalweg_operator_leader 0.0",
    ):
        assert line in text.splitlines()


def test_a_stage_that_fails_is_measured_too() -> None:
    metrics = Metrics()
    with pytest.raises(Unavailable), metrics.stage("act"):
        raise Unavailable("no")
    assert 'thalweg_operator_stage_seconds_count{stage="act"} 1.0' in metrics.text().decode()
