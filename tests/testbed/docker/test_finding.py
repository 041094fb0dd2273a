"""Which Docker is used: the one that is looked into, the user's, ours, a new one."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from thalweg_testbed.docker.daemon import Daemon
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.finding import use_engine
from thalweg_testbed.errors import BedError, NotPossible


@pytest.fixture
def ours(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> str:
    """A daemon that seems to answer, whoever asks, and must not be stopped."""
    monkeypatch.setattr(Daemon, "is_up", lambda _: True)
    monkeypatch.setattr(Engine, "answers", lambda _: True)
    monkeypatch.setattr(Engine, "containers", lambda _: ["node"])
    return Daemon(tmp_path).engine.host


def test_docker_host_may_name_ours(
    ours: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", ours)
    with use_engine(cache=tmp_path) as engine:
        assert engine.is_ours


def test_any_other_docker_is_the_users(
    ours: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"{ours}.other")
    with use_engine(cache=tmp_path) as engine:
        assert not engine.is_ours


class FakeMachine:
    """A machine on which Dockers answer or do not; what is done to it is noted."""

    def __init__(
        self, monkeypatch: pytest.MonkeyPatch, has: Sequence[str], *, may_start: bool = True
    ) -> None:
        self.has = set(has)
        self.may_start = may_start
        self.done: list[str] = []
        monkeypatch.delenv("DOCKER_HOST", raising=False)
        monkeypatch.setattr(Engine, "answers", lambda _: "user's" in self.has)
        monkeypatch.setattr(Engine, "containers", lambda _: [])
        monkeypatch.setattr(Daemon, "is_up", lambda _: "ours" in self.has)
        monkeypatch.setattr(Daemon, "prepare", lambda *_: self.prepare())
        monkeypatch.setattr(Daemon, "start", lambda daemon, *_: self.start(daemon))
        monkeypatch.setattr(Daemon, "stop", lambda _: self.done.append("stop"))

    def prepare(self) -> None:
        """Install what is missing; where systemd runs, that starts the system's own."""
        self.done.append("prepare")
        if not self.may_start:
            raise NotPossible("no Docker answers: start Docker")
        if "systemd" in self.has:
            self.has.add("user's")

    def start(self, daemon: Daemon) -> Engine:
        """Start ours."""
        self.done.append("start")
        self.has.add("ours")
        return daemon.engine


@pytest.mark.parametrize(
    ("has", "is_ours", "done"),
    [
        (["user's"], False, []),
        (["user's", "ours"], False, []),
        (["ours"], True, ["stop"]),
        ([], True, ["prepare", "start", "stop"]),
        (["systemd"], False, ["prepare"]),
    ],
)
def test_the_users_comes_first_and_a_new_one_last(
    has: list[str],
    is_ours: bool,
    done: list[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    machine = FakeMachine(monkeypatch, has)
    with use_engine(cache=tmp_path, report=lambda _: None) as engine:
        assert engine.is_ours is is_ours
    assert machine.done == done


def test_where_none_may_be_started_nothing_is(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = FakeMachine(monkeypatch, [], may_start=False)
    with pytest.raises(NotPossible, match="no Docker answers"), use_engine(cache=tmp_path):
        pass
    assert machine.done == ["prepare"]


OURS = "unix:///run/thalweg-docker/docker.sock"


@pytest.mark.parametrize(
    ("host", "has", "is_ours", "done"),
    [
        # Whatever else answers now.
        (OURS, ["user's", "ours"], True, ["stop"]),
        (OURS, ["user's"], True, ["prepare", "start", "stop"]),
        ("", ["user's", "ours"], False, []),
    ],
)
def test_a_cluster_is_sought_in_its_own_docker(
    host: str,
    has: list[str],
    is_ours: bool,
    done: list[str],
    *,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    machine = FakeMachine(monkeypatch, has)
    with use_engine(cache=tmp_path, host=host, report=lambda _: None) as engine:
        assert engine.is_ours is is_ours
    assert machine.done == done


@pytest.mark.parametrize("has", [[], ["ours"], ["systemd"]])
def test_no_other_docker_stands_in_for_the_users(
    has: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    machine = FakeMachine(monkeypatch, has)
    with (
        pytest.raises(NotPossible, match="in your own Docker, which does not answer: start it"),
        use_engine(cache=tmp_path, host=""),
    ):
        pass
    assert machine.done == []


def test_a_docker_host_that_hides_the_users_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    FakeMachine(monkeypatch, ["user's", "ours"])
    monkeypatch.setenv("DOCKER_HOST", OURS)
    with (
        pytest.raises(BedError, match="DOCKER_HOST names the test bed's: unset it"),
        use_engine(cache=tmp_path, host=""),
    ):
        pass
