"""Child processes: they end with their owner, and say why when they end by themselves."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from thalweg_testbed.background import birth_of
from thalweg_testbed.errors import ProcessDied
from thalweg_testbed.processes import Process
from thalweg_testbed.waiting import eventually


def _start(tmp_path: Path, script: str) -> Process:
    return Process("child", ["sh", "-c", script], log=tmp_path / "child.log")


def test_runs_until_stopped(tmp_path: Path) -> None:
    with _start(tmp_path, "exec sleep 600") as child:
        assert child.is_running()
        assert birth_of(child.pid) is not None
        assert child.stop() == 128 + signal.SIGTERM
        assert birth_of(child.pid) is None


def test_stop_insists(tmp_path: Path) -> None:
    with _start(tmp_path, "trap '' TERM; echo ready; while :; do sleep 0.05; done") as child:
        eventually(lambda: "ready" in child.log.read_text())
        assert child.stop(grace_s=0.1) == 128 + signal.SIGKILL


def test_keeps_the_exit_code(tmp_path: Path) -> None:
    with _start(tmp_path, "exit 3") as child:
        assert child.wait(60) == 3
        assert not child.is_running()


def test_stopping_twice_and_signalling_the_dead_is_harmless(tmp_path: Path) -> None:
    child = _start(tmp_path, "exec sleep 600")
    code = child.kill()
    child.send(signal.SIGCONT)
    assert child.stop() == child.kill() == code


def test_signals_reach_the_child(tmp_path: Path) -> None:
    with _start(tmp_path, "exec sleep 600") as child:
        state = Path(f"/proc/{child.pid}/stat")
        child.send(signal.SIGSTOP)
        eventually(lambda: state.read_text().rpartition(")")[2].split()[0] == "T")
        child.send(signal.SIGCONT)
        eventually(lambda: state.read_text().rpartition(")")[2].split()[0] == "S")


def test_its_end_shows_the_log(tmp_path: Path) -> None:
    with _start(tmp_path, "echo bind: address already in use >&2; exit 1") as child:
        child.wait(60)
        with pytest.raises(ProcessDied, match=r"code 1; .*(?s:.*)address already in use"):
            child.require_running()


def test_output_and_errors_go_to_the_log(tmp_path: Path) -> None:
    with _start(tmp_path, "echo out; echo err >&2") as child:
        child.wait(60)
    assert (tmp_path / "child.log").read_text().split() == ["out", "err"]


def test_a_program_that_is_not_there(tmp_path: Path) -> None:
    with Process("ghost", ["/no/such/program"], log=tmp_path / "log") as ghost:
        assert ghost.wait(60) == 127
        with pytest.raises(ProcessDied, match="cannot start /no/such/program: No such file"):
            ghost.require_running()


def test_environment_is_added(tmp_path: Path) -> None:
    log = tmp_path / "log"
    command = ["sh", "-c", "echo $COLOUR $HOME"]
    with Process("env", command, log=log, env={"COLOUR": "blue"}) as child:
        child.wait(60)
    assert log.read_text().split() == ["blue", os.environ["HOME"]]


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGTERM, signal.SIGSEGV])
def test_nothing_survives_the_owner(tmp_path: Path, ending: signal.Signals) -> None:
    swept = tmp_path / "swept"
    swept.mkdir()
    (swept / "data").touch()
    script = (
        "import sys; from pathlib import Path; from thalweg_testbed.processes import Process\n"
        f"child = Process('c', ['sleep', '600'], log=Path({str(tmp_path / 'c.log')!r}),"
        f" sweep=Path({str(swept)!r}))\n"
        "print(child.pid, flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        pid = int(owner.stdout.readline())
        assert birth_of(pid) is not None
        owner.send_signal(ending)
    eventually(lambda: birth_of(pid) is None, what="the child gone with its owner")
    eventually(lambda: not swept.exists(), what="its directory gone as well")


def test_the_child_dies_with_its_guard(tmp_path: Path) -> None:
    with _start(tmp_path, "exec sleep 600") as child:
        guard = int(Path(f"/proc/{child.pid}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(guard, signal.SIGKILL)
        eventually(lambda: birth_of(child.pid) is None, what="the child gone with its guard")
