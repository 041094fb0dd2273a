"""A control plane that stays up after the command that started it: `make cluster`.

A keeper process owns it and waits for SIGTERM. `<cache>/cluster/state.json` says which process that
is, by its id, its start time and the machine's boot, so that an id given to another process later
is never taken for ours. When the keeper is killed, its servers die with it; what is left is a file,
and the next command removes it.
"""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from thalweg_testbed.binaries import Report, find_binaries, print_progress
from thalweg_testbed.cluster import Cluster
from thalweg_testbed.controlplane import ControlPlane
from thalweg_testbed.errors import BedError, NotInTime
from thalweg_testbed.waiting import eventually

__all__ = ["Background", "State"]

_CRDS = Path(__file__).resolve().parents[2] / "crds"
_START_S = 240.0
_STOP_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """Which process keeps the cluster, and whether the cluster can be used yet."""

    pid: int
    birth: str
    is_ready: bool
    kubectl: str

    def is_alive(self) -> bool:
        """Tell whether that very process still runs."""
        return birth_of(self.pid) == self.birth


def birth_of(pid: int) -> str | None:
    """Return what only one process ever has with this id; None if no such process runs."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # The name in parentheses may hold anything, so count from its end. A zombie has ended.
    state, *fields = stat.rpartition(")")[2].split()
    boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return None if state in "ZX" else f"{boot}/{fields[18]}"


class Background:
    """The one background cluster of a cache directory."""

    def __init__(self, cache: Path, *, report: Report = print_progress) -> None:
        self.home = cache / "cluster"
        self.plane = self.home / "plane"
        self.kubeconfig = self.plane / "kubeconfig"
        self._state = self.home / "state.json"
        self._log = self.home / "keeper.log"
        self._report = report

    def state(self) -> State | None:
        """Return the running cluster's state; None if there is none or its keeper is gone."""
        try:
            state = State(**json.loads(self._state.read_text()))
        except FileNotFoundError:
            return None
        return state if state.is_alive() else None

    def up(self) -> State:
        """Start the cluster unless it is up, and return when it can be used."""
        with self._alone():
            state = self.state()
            if state is not None:
                self._report("==> the cluster is already up")
                return self._wait_ready()
            self._clean()
            find_binaries(report=self._report)
            self._report("==> starting a control plane with 4 domains of 3 nodes")
            keeper = self._start_keeper()
            try:
                return self._wait_ready(keeper)
            except BaseException:
                self._stop(keeper.pid, birth_of(keeper.pid))
                self._clean()
                raise

    def down(self) -> bool:
        """Stop the cluster and remove what it left; False if none was up."""
        with self._alone():
            state = self.state()
            if state is not None:
                self._stop(state.pid, state.birth)
            self._clean()
            return state is not None

    def cluster(self) -> Cluster:
        """Return the running cluster to talk to."""
        state = self.state()
        if state is None:
            raise BedError("no cluster is up: start one with `make cluster`")
        return Cluster(kubeconfig=self.kubeconfig, kubectl=Path(state.kubectl))

    def keep(self) -> None:
        """Own the cluster until SIGTERM. Runs in the keeper process only."""
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        pid = os.getpid()
        kubectl = str(find_binaries(report=self._report)["kubectl"])
        birth = birth_of(pid) or ""
        state = State(pid=pid, birth=birth, is_ready=False, kubectl=kubectl)
        self._write(state)
        with ControlPlane(
            crds=sorted(_CRDS.glob("*.yaml")), directory=self.plane, report=self._report
        ) as plane:
            plane.add_nodes(domains=4, per_domain=3)
            self._write(State(pid=pid, birth=birth, is_ready=True, kubectl=kubectl))
            while True:
                signal.pause()

    def _start_keeper(self) -> subprocess.Popen[bytes]:
        with self._log.open("wb") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "thalweg_testbed", "keep"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env={**os.environ, "THALWEG_CACHE": str(self.home.parent)},
                start_new_session=True,
            )

    def _wait_ready(self, keeper: subprocess.Popen[bytes] | None = None) -> State:
        def ready_state() -> State | None:
            state = self.state()
            if keeper is not None and keeper.poll() is not None:
                raise BedError(f"the cluster did not start:\n{self._log.read_text()}")
            return state if state and state.is_ready else None

        state = eventually(ready_state, timeout_s=_START_S, what="the cluster ready")
        if state is None:
            raise NotInTime("the cluster ready")
        return state

    def _stop(self, pid: int, birth: str | None) -> None:
        with suppress(ProcessLookupError):
            handle = os.pidfd_open(pid)
            try:
                if birth is None or birth_of(pid) != birth:
                    return
                signal.pidfd_send_signal(handle, signal.SIGTERM)
                try:
                    eventually(lambda: birth_of(pid) != birth, timeout_s=_STOP_S)
                except NotInTime:
                    signal.pidfd_send_signal(handle, signal.SIGKILL)
                    eventually(lambda: birth_of(pid) != birth, timeout_s=_STOP_S)
            finally:
                os.close(handle)

    def _clean(self) -> None:
        self._state.unlink(missing_ok=True)
        shutil.rmtree(self.plane, ignore_errors=True)

    def _write(self, state: State) -> None:
        partial = self._state.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(state)))
        partial.rename(self._state)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Let one `up` or `down` run at a time."""
        self.home.mkdir(parents=True, exist_ok=True)
        with (self.home / ".lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield
