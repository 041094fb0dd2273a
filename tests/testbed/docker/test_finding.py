"""Which Docker is used where one of ours runs and somebody looks into it."""

from pathlib import Path

import pytest

from thalweg_testbed.docker.daemon import Daemon
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.finding import use_engine


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
