"""A Docker that runs already is used, and left as it was but for an empty network and images.

It is a second one of ours that nobody is told of but by DOCKER_HOST, as a user's own would be.
"""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg_testbed.docker.daemon import Daemon
from thalweg_testbed.docker.host import read_host

pytestmark = pytest.mark.soak

NAME = f"thalweg-guest-{os.getpid()}"


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Daemon]:
    """Give a Docker that is somebody else's."""
    host = read_host()
    if not host.is_root:
        pytest.skip("NOT RUN: a second Docker needs root")
    runtime = Path(f"/run/thalweg-docker-user-{os.getpid()}")
    daemon = Daemon(tmp_path, runtime=runtime)
    daemon.prepare(host, print)
    daemon.start(host, print)
    yield daemon
    daemon.stop()
    runtime.with_name(f"{runtime.name}.lock").unlink()
    assert not runtime.exists()


def bed(daemon: Daemon, *words: str) -> str:
    """Say something to the bed as somebody who has this Docker."""
    done = subprocess.run(
        [sys.executable, "-m", "thalweg_testbed.kind", "--name", NAME, *words],
        env={**os.environ, "DOCKER_HOST": daemon.engine.host},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.timeout(1200)
def test_a_running_docker_is_used_and_goes_on(running: Daemon) -> None:
    pid = running.pid_of("dockerd")
    try:
        said = bed(running, "up", "--domains", "1", "--nodes", "1")
        # It is the user's: they need not be told how to reach it.
        assert "DOCKER_HOST" not in said
        assert sorted(running.engine.containers()) == [f"{NAME}-control-plane", f"{NAME}-worker"]
        rows = {line.split()[1]: line.split()[3:5] for line in said.splitlines() if NAME in line}
        assert rows["a-0"] == ["running", "yes"]
        assert "a-0" in bed(running, "status")
    finally:
        bed(running, "down")
    assert running.pid_of("dockerd") == pid
    assert running.is_up()
    assert running.engine.containers() == []
