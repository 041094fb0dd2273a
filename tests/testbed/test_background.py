"""The background cluster's state file: a process that is gone, or another one, is never ours."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg_testbed.__main__ import main
from thalweg_testbed.background import Background, birth_of


def _state(cache: Path, *, pid: int, birth: str | None) -> Background:
    background = Background(cache, report=lambda _: None)
    background.plane.mkdir(parents=True)
    state = {"pid": pid, "birth": birth, "is_ready": True, "kubectl": "kubectl"}
    (background.home / "state.json").write_text(json.dumps(state))
    return background


def test_birth_tells_a_process_from_a_later_one() -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        birth = birth_of(child.pid)
        assert birth is not None
        assert birth == birth_of(child.pid)
        assert birth != birth_of(os.getpid())
        child.kill()
    assert birth_of(child.pid) is None


def test_a_living_keeper_counts(tmp_path: Path) -> None:
    background = _state(tmp_path, pid=os.getpid(), birth=birth_of(os.getpid()))
    state = background.state()
    assert state is not None
    assert state.pid == os.getpid()


def test_another_process_with_the_same_id_is_left_alone(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as stranger:
        background = _state(tmp_path, pid=stranger.pid, birth="an earlier boot/1")
        assert background.state() is None
        assert background.down() is False
        assert stranger.poll() is None
        assert not background.plane.exists()
        stranger.kill()


def test_down_stops_precisely_the_keeper(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as keeper:
        background = _state(tmp_path, pid=keeper.pid, birth=birth_of(keeper.pid))
        assert background.down() is True
    assert background.state() is None
    assert not background.plane.exists()


def test_commands_without_a_cluster(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    assert main(["status"]) == 1
    assert main(["down"]) == 0
    assert capsys.readouterr().out.splitlines() == ["==> no cluster is up", "==> no cluster was up"]


def test_an_error_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)
    assert main(["build"]) == 1
    assert capsys.readouterr().err.startswith("error: no `go` on the PATH")
