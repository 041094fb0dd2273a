"""A Docker of our own, for machines where none runs: root, Linux, and nothing else of Docker's.

Everything of it lies in two directories that no other Docker uses: sockets and process files in
`/run/thalweg-docker`, images and containers in the cache. It goes on when the command that started
it ends. However it was ended, the next start removes what it left, keeps its images, and begins
with no containers.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from thalweg_testbed.background import birth_of
from thalweg_testbed.binaries import RUNC_FRONT, Report, find_binaries
from thalweg_testbed.docker import leftovers, packet_filter
from thalweg_testbed.docker.engine import Engine
from thalweg_testbed.docker.host import Host
from thalweg_testbed.docker.packages import require
from thalweg_testbed.errors import BedError, NotInTime, NotPossible, ProcessDied
from thalweg_testbed.waiting import eventually

__all__ = ["Daemon"]

_START_S = 90.0
_STOP_S = 30.0
_TAIL_LINES = 15
_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class Daemon:
    """The one daemon of ours on this machine; a test of it may have another at `runtime`."""

    def __init__(
        self,
        cache: Path,
        *,
        runtime: Path = Path("/run/thalweg-docker"),
        has_networks: bool = True,
    ) -> None:
        self._runtime = runtime
        self._has_networks = has_networks
        # Of all containers. kind's nodes look for "docker" in their control group's name.
        self._group = f"/{runtime.name}"
        self._data = cache / "docker"
        self._logs = cache / "docker-logs"
        self._before = cache / "docker-before.json"
        self._socket = runtime / "docker.sock"
        self.engine = Engine(host=f"unix://{self._socket}")

    def is_up(self) -> bool:
        """Tell whether it answers."""
        return self._socket.exists() and self.engine.answers()

    def prepare(self, host: Host, report: Report) -> None:
        """See to it that the programs are there; NotPossible where they may not be installed."""
        if not (host.is_linux and host.is_root):
            raise NotPossible(
                "no Docker answers: start Docker (https://docs.docker.com/engine/install),"
                " or run this as root on Debian, which installs and starts one of its own"
            )
        require(
            host,
            {"dockerd": "docker.io", "docker": "docker.io", "containerd": "containerd"}
            | {"runc": "runc", "iptables": "iptables"},
            purpose="to start a Docker daemon",
            report=report,
        )

    def start(self, host: Host, report: Report) -> Engine:
        """Start it unless it is up; what a killed one left is removed first."""
        with self._alone():
            if not self.is_up():
                self._start(host, report)
        return self.engine

    def stop(self) -> None:
        """End it with all its containers; its images stay."""
        with self._alone():
            if self.is_up():
                self.engine.remove_containers(self.engine.containers())
                # A network's bridge would stay on the machine.
                self.engine.run("network", "prune", "--force")
            self._end_gently("dockerd")
            self._end_gently("containerd")
            self._clear()
            packet_filter.restore(self._before)

    def _start(self, host: Host, report: Report) -> None:
        if self._clear():
            report("==> removed what a Docker of ours left when it was killed")
        if self._has_networks:
            packet_filter.remember(self._before)
        report("==> starting a Docker daemon of our own")
        try:
            self._launch(host, report)
        except BedError as error:
            # Whatever is wrong with its data, it is only a cache.
            report(f"==> it did not start; trying once more without its old images\n{error}")
            self._clear()
            leftovers.remove_tree(self._data)
            self._launch(host, report)
        self.engine.remove_containers(self.engine.containers())

    def _launch(self, host: Host, report: Report) -> None:
        for directory in (self._runtime, self._data, self._logs):
            directory.mkdir(parents=True, exist_ok=True)
        address = self._runtime / "containerd.sock"
        configuration = self._runtime / "containerd.toml"
        configuration.write_text(
            f'version = 2\nroot = "{self._data / "containerd"}"\n'
            f'state = "{self._runtime / "containerd"}"\noom_score = 0\n'
            f'disabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "{address}"\n'
        )
        self._spawn("containerd", ["--config", str(configuration)])
        self._wait_for("containerd", address.exists)
        settings = self._runtime / "daemon.json"
        settings.write_text(json.dumps(self._settings(host, report)))
        dockerd = ["--config-file", str(settings), "--containerd", str(address)]
        self._spawn("dockerd", dockerd)
        self._wait_for("dockerd", self.is_up)

    def _settings(self, host: Host, report: Report) -> dict[str, object]:
        settings: dict[str, object] = {
            "hosts": [self.engine.host],
            "data-root": str(self._data / "docker"),
            "exec-root": str(self._runtime / "docker"),
            "pidfile": str(self._runtime / "docker.pid"),
            "cgroup-parent": self._group,
            "exec-opts": ["native.cgroupdriver=cgroupfs"],
            # The default bridge would be one more thing to share with another Docker.
            "bridge": "none",
            "log-driver": "json-file",
            "log-opts": {"max-size": "10m"},
        }
        if not self._has_networks:
            settings |= {"iptables": False, "ip-forward": False, "ip-masq": False}
        if not host.has_sys_resource:
            front = find_binaries([RUNC_FRONT], report=report)[RUNC_FRONT.name]
            settings["runtimes"] = {"front": {"path": str(front)}}
            settings["default-runtime"] = "front"
        return settings

    def _spawn(self, name: str, arguments: Sequence[str]) -> None:
        program = shutil.which(name, path=f"{os.environ.get('PATH', '')}:{_PATH}")
        if program is None:
            raise NotPossible(f"no `{name}` on the PATH")
        with self._log(name).open("wb") as log:
            child = subprocess.Popen(
                [program, *arguments],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "PATH": f"{os.environ.get('PATH', '')}:{_PATH}"},
                start_new_session=True,
            )
        # It outlives us on purpose; without this, Python would complain that we forgot it.
        child.returncode = 0
        mark = {"pid": child.pid, "birth": birth_of(child.pid)}
        self._mark(name).write_text(json.dumps(mark))

    def pid_of(self, name: str) -> int | None:
        """Return the process of a program that we started, if that very process still runs."""
        try:
            mark = json.loads(self._mark(name).read_text())
        except (FileNotFoundError, ValueError):
            return None
        pid = int(mark["pid"])
        is_same = mark["birth"] is not None and birth_of(pid) == mark["birth"]
        return pid if is_same else None

    def _wait_for(self, name: str, check: Callable[[], bool]) -> None:
        def ready() -> bool:
            if self.pid_of(name) is None:
                raise ProcessDied(f"{name} ended at once; the end of its log:\n{self._tail(name)}")
            return check()

        eventually(ready, timeout_s=_START_S, what=f"{name} answers", show=lambda: self._tail(name))

    def _end_gently(self, name: str) -> None:
        pid = self.pid_of(name)
        if pid is None:
            return
        os.kill(pid, signal.SIGTERM)
        try:
            eventually(lambda: self.pid_of(name) is None, timeout_s=_STOP_S)
        except NotInTime:
            return  # the clearing that follows is not gentle

    def _clear(self) -> bool:
        """Remove processes, mounts and files of a daemon that does not answer."""
        was_there = self._runtime.exists()
        killed = leftovers.remove_processes(self._runtime, self._group)
        leftovers.remove_mounts(self._runtime, self._data)
        leftovers.remove_tree(self._runtime)
        leftovers.remove_groups(self._group)
        return was_there or killed > 0

    def _log(self, name: str) -> Path:
        return self._logs / f"{name}.log"

    def _mark(self, name: str) -> Path:
        return self._runtime / f"{name}.json"

    def _tail(self, name: str) -> str:
        lines = self._log(name).read_text(errors="replace").splitlines()
        return "\n".join(f"  {line}" for line in lines[-_TAIL_LINES:])

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one start or stop run at a time on this machine."""
        lock = self._runtime.with_name(f"{self._runtime.name}.lock")
        with lock.open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
