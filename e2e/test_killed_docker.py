"""A Docker of ours that is killed: the next start removes what it left and keeps its images.

A second daemon, beside the one that has the cluster.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.background import birth_of
from thalweg_testbed.binaries import PLACEHOLDER, find_binaries
from thalweg_testbed.docker.daemon import Daemon
from thalweg_testbed.docker.host import read_host
from thalweg_testbed.images.single import import_directory, place

IMAGE = "sleeper:1"


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[Daemon]:
    host = read_host()
    if not host.is_root:
        pytest.skip("NOT RUN: a Docker of our own needs root")
    runtime = Path(f"/run/thalweg-docker-{os.getpid()}")
    daemon = Daemon(tmp_path, runtime=runtime, has_networks=False)
    daemon.prepare(host, print)
    daemon.start(host, print)
    program = find_binaries([PLACEHOLDER])[PLACEHOLDER.name]
    place(program, tmp_path / "image" / "placeholder")
    import_directory(daemon.engine, IMAGE, tmp_path / "image")
    yield daemon
    daemon.stop()
    # Nobody else waits for the lock of this one.
    runtime.with_name(f"{runtime.name}.lock").unlink()
    assert not runtime.exists()
    assert str(runtime) not in Path("/proc/mounts").read_text()
    assert not list(Path("/sys/fs/cgroup").glob(f"**/{runtime.name}"))


def run(daemon: Daemon, name: str) -> int:
    """Start a container that stays, and return its process."""
    words = ("run", "--detach", "--name", name, "--network", "none", "--restart", "always")
    daemon.engine.run(*words, IMAGE, "/placeholder")
    return int(daemon.engine.run("inspect", "--format", "{{.State.Pid}}", name))


def kill_daemons(daemon: Daemon) -> None:
    for name in ("dockerd", "containerd"):
        pid = daemon.pid_of(name)
        assert pid is not None
        os.kill(pid, signal.SIGKILL)
        eventually(lambda pid=pid: birth_of(pid) is None, what=f"{name} dead")  # type: ignore[misc]


@pytest.mark.parametrize("survivors", [True, False], ids=["containers live on", "all killed"])
def test_a_killed_daemon_leaves_nothing_but_images(daemon: Daemon, survivors: bool) -> None:
    running, frozen = run(daemon, "running"), run(daemon, "frozen")
    # As a sleeping node is: it cannot even die before it is let go.
    daemon.engine.run("pause", "frozen")
    kill_daemons(daemon)
    if not survivors:
        os.kill(running, signal.SIGKILL)
    assert not daemon.is_up()
    lines: list[str] = []
    daemon.start(read_host(), lines.append)
    assert "==> removed what a Docker of ours left when it was killed" in lines
    assert birth_of(running) is None
    assert birth_of(frozen) is None
    assert daemon.engine.containers() == []
    assert daemon.engine.has_image(IMAGE)
    assert run(daemon, "running") > 0


def test_spoilt_data_is_thrown_away(daemon: Daemon, tmp_path: Path) -> None:
    kill_daemons(daemon)
    (tmp_path / "docker/docker/image/overlay2/repositories.json").write_text("{")
    (tmp_path / "docker/docker/network/files/local-kv.db").write_bytes(b"nonsense")
    lines: list[str] = []
    daemon.start(read_host(), lines.append)
    assert daemon.is_up()
    assert any("without its old images" in line for line in lines)
