"""Two replicas and one Lease on a real API server: who writes, and whose late write is refused."""

import os
import re
import shutil
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from thalweg_testbed.audit import AuditRecord
from thalweg_testbed.cluster import Cluster
from thalweg_testbed.processes import Process
from thalweg_testbed.waiting import eventually

pytestmark = pytest.mark.control_plane

PROGRAM = Path(__file__).with_name("replica_program.py")
SHORT = {"duration_s": 6, "renew_deadline_s": 4, "retry_s": 0.5, "margin_s": 0.5}
"""Short, so that stories end soon; long against the delays of a loaded machine."""
USUAL: dict[str, float] = {}
DEADLINE_S = 180.0


class Stage:
    """A namespace with its own Lease and ledger, and the replicas that play in it."""

    def __init__(self, cluster: Cluster, namespace: str, folder: Path, players: ExitStack) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.folder = folder
        self.players = players
        # A Lease that is there and free is taken at once: no replica could have held it before.
        lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {}}
        ledger = {"apiVersion": "v1", "kind": "ConfigMap", "data": {"count": "0", "writer": ""}}
        for name, manifest in (("thalweg", lease), ("ledger", ledger)):
            metadata = {"namespace": namespace, "name": name}
            cluster.apply({**manifest, "metadata": metadata})

    def enter(self, name: str, times: dict[str, float], *, prefix: tuple[str, ...] = ()) -> Process:
        """Start a replica; its name is its user agent and its identity."""
        pairs = {
            "lease.namespace": self.namespace,
            "pass_interval_s": 0.3,
            "serving.port": 0,
            **{f"lease.{key}": value for key, value in times.items()},
        }
        command = [
            *prefix,
            sys.executable,
            str(PROGRAM),
            str(self.cluster.kubeconfig),
            self.namespace,
            self.agent(name),
            str(self.trigger(name)),
            *(f"{key}={value}" for key, value in pairs.items()),
        ]
        process = Process(name, command, log=self.folder / f"{name}.log")
        return self.players.enter_context(process)

    def agent(self, name: str) -> str:
        return f"{name}-{self.namespace}"

    def trigger(self, name: str) -> Path:
        return self.folder / f"{name}.trigger"

    def ledger(self) -> dict[str, Any]:
        data: dict[str, Any] = self.cluster.get(
            "configmap", "ledger", "--namespace", self.namespace
        )["data"]
        return data

    def await_writer(self, name: str) -> None:
        """Wait until this one writes."""
        eventually(
            lambda: self.ledger()["writer"] == self.agent(name),
            timeout_s=DEADLINE_S,
            what=f"{name} writes",
            show=self.logs,
        )

    def await_more(self) -> None:
        """Wait until somebody has counted on."""
        before = int(self.ledger()["count"])
        eventually(
            lambda: int(self.ledger()["count"]) > before + 2,
            timeout_s=DEADLINE_S,
            what="the count goes up",
            show=self.logs,
        )

    def writes(self, name: str) -> list[AuditRecord]:
        """Return what this one wrote apart from the Lease, in order."""
        log = self.cluster.audit().within(self.namespace).writes()
        return [
            record
            for record in log.by_agent(self.agent(name))
            if record.resource == "configmaps" and record.user_agent == self.agent(name)
        ]

    def logs(self) -> str:
        return "\n".join(
            f"--- {path.name}\n{path.read_text()[-2000:]}" for path in self.folder.glob("*.log")
        )


@pytest.fixture
def stage(control_plane: Cluster, namespace: str, tmp_path: Path) -> Iterator[Stage]:
    with ExitStack() as players:
        yield Stage(control_plane, namespace, tmp_path, players)


def test_the_second_takes_over_at_once_after_a_clean_end(stage: Stage) -> None:
    first = stage.enter("first", SHORT)
    stage.await_writer("first")
    second = stage.enter("second", SHORT)
    assert first.stop(grace_s=DEADLINE_S) == 0
    stage.await_writer("second")
    assert "ended as asked" in first.log.read_text()
    assert second.stop(grace_s=DEADLINE_S) == 0
    assert _writes_do_not_overlap(stage, "first", "second")


def test_the_second_takes_over_from_one_that_was_killed(stage: Stage) -> None:
    first = stage.enter("first", SHORT)
    stage.await_writer("first")
    stage.enter("second", SHORT)
    first.kill()
    stage.await_writer("second")
    assert _writes_do_not_overlap(stage, "first", "second")


def test_a_leader_without_its_api_server_leaves_and_the_standby_waits(stage: Stage) -> None:
    leader = stage.enter("first", SHORT)
    stage.await_writer("first")
    standby = stage.enter("second", SHORT)
    eventually(lambda: "standing by" in standby.log.read_text(), timeout_s=DEADLINE_S)
    stage.cluster.stop_server()
    try:
        assert leader.wait(DEADLINE_S) == 1
        assert standby.is_running()
    finally:
        stage.cluster.restart_server()
    stage.await_writer("second")
    assert "leaving at once" in leader.log.read_text()
    assert _writes_do_not_overlap(stage, "first", "second")


@pytest.mark.parametrize(
    ("times", "stopped_s"),
    [
        pytest.param(SHORT, 0.0, id="short lease"),
        pytest.param(USUAL, 60.0, id="60 seconds", marks=pytest.mark.lengthy(seconds=85)),
    ],
)
def test_what_a_stopped_leader_writes_late_has_no_effect(
    stage: Stage, times: dict[str, float], stopped_s: float
) -> None:
    leader = stage.enter("first", times)
    stage.await_writer("first")
    stage.enter("second", times)
    stage.trigger("first").touch()
    eventually(lambda: _state(leader.pid) == "T", timeout_s=DEADLINE_S, what="the leader stops")
    done = stage.writes("first")
    stage.await_writer("second")
    stage.await_more()
    _stay_stopped(leader, stopped_s)
    leader.send(signal.SIGCONT)
    assert leader.wait(DEADLINE_S) == 1
    late = eventually(lambda: stage.writes("first")[len(done) :], what="the late write arrives")
    assert {record.code for record in late} == {409}, stage.logs()
    stage.await_more()
    assert stage.ledger()["writer"] == stage.agent("second")
    assert _writes_do_not_overlap(stage, "first", "second")


@pytest.mark.parametrize("offset", ["-3h", "+3h"])
def test_clocks_apart_change_nothing(stage: Stage, faketime: Path, offset: str) -> None:
    astray = ("env", f"LD_PRELOAD={faketime}", f"FAKETIME={offset}", "FAKETIME_DONT_RESET=1")
    leader = stage.enter("first", SHORT, prefix=(*astray, "FAKETIME_DONT_FAKE_MONOTONIC=1"))
    stage.await_writer("first")
    renewed = stage.cluster.get("lease", "thalweg", "--namespace", stage.namespace)
    assert _is_astray(renewed["spec"]["renewTime"]), "the clock was not faked"
    stage.enter("second", SHORT)
    for _ in range(4):  # many renewals, all of them hours old or hours to come
        stage.await_more()
        assert stage.ledger()["writer"] == stage.agent("first"), stage.logs()
    stage.trigger("first").touch()
    eventually(lambda: _state(leader.pid) == "T", timeout_s=DEADLINE_S, what="the leader stops")
    done = stage.writes("first")
    stage.await_writer("second")
    leader.send(signal.SIGCONT)
    assert leader.wait(DEADLINE_S) == 1
    late = eventually(lambda: stage.writes("first")[len(done) :], what="the late write arrives")
    assert {record.code for record in late} == {409}, stage.logs()
    assert _writes_do_not_overlap(stage, "first", "second")


def test_probes_and_metrics_tell_who_leads(stage: Stage) -> None:
    leader = stage.enter("first", SHORT)
    stage.await_writer("first")
    standby = stage.enter("second", SHORT)
    for process, leads in ((leader, "1.0"), (standby, "0.0")):
        eventually(lambda: _page(process, "/readyz") == (200, "ok\n"), timeout_s=DEADLINE_S)  # noqa: B023
        assert _page(process, "/healthz") == (200, "ok\n")
        assert f"thalweg_operator_leader {leads}" in _page(process, "/metrics")[1].splitlines()
    assert 'verb="patch"' in _page(leader, "/metrics")[1]


@pytest.fixture(scope="session")
def faketime() -> Path:
    """Find the library that fakes the clock, or install it where we may."""
    found = _find_faketime()
    if found is None and os.geteuid() == 0 and shutil.which("apt-get"):
        for command in (["apt-get", "update"], ["apt-get", "install", "--yes", "faketime"]):
            subprocess.run(command, check=False, timeout=300, capture_output=True)
        found = _find_faketime()
    if found is None:
        pytest.fail("this test needs libfaketime: apt-get install faketime")
    return found


def _find_faketime() -> Path | None:
    return next(iter(sorted(Path("/usr/lib").glob("*/faketime/libfaketime.so.1"))), None)


def _is_astray(renewed: str) -> bool:
    now = subprocess.run(
        ["date", "--utc", "+%Y-%m-%dT%H"], capture_output=True, text=True, check=True
    )
    return not renewed.startswith(now.stdout.strip())


def _writes_do_not_overlap(stage: Stage, first: str, second: str) -> bool:
    """Tell whether each name was made once and nothing of the first succeeded after the second."""
    order = [
        (record.user_agent, record.name)
        for record in stage.cluster.audit().within(stage.namespace).of("configmaps").writes()
        if record.succeeded and record.user_agent in {stage.agent(first), stage.agent(second)}
    ]
    agents = [agent for agent, _ in order]
    made = [name for _, name in order if name.startswith("made-")]
    return agents == sorted(agents) and len(made) == len(set(made))


def _state(pid: int) -> str:
    text = Path(f"/proc/{pid}/stat").read_text()
    return text.rpartition(")")[2].split()[0]


def _stay_stopped(process: Process, stopped_s: float) -> None:
    """Wait until the process has done nothing for so long, by the time its guard has lived."""
    if not stopped_s:
        return
    start_s = float(Path("/proc/uptime").read_text().split()[0])
    eventually(
        lambda: float(Path("/proc/uptime").read_text().split()[0]) - start_s >= stopped_s,
        timeout_s=stopped_s + DEADLINE_S,
        every_s=1.0,
    )
    assert _state(process.pid) == "T"


def _page(process: Process, path: str) -> tuple[int, str]:
    port = re.search(r"metrics are at port (\d+)", process.log.read_text())
    if port is None:
        return 0, ""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port[1]}{path}", timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()
