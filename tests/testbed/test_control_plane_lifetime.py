"""Control planes of one's own: side by side, tuned, killed, or unable to start."""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg_testbed import Cluster, ControlPlane, ProcessDied, Tuning, eventually
from thalweg_testbed.background import Background, birth_of
from thalweg_testbed.binaries import cache_directory

pytestmark = pytest.mark.control_plane

WIDGETS = Path(__file__).with_name("widgets.yaml")


@pytest.fixture(scope="module")
def quick_plane() -> Iterator[ControlPlane]:
    """Give a second plane in which a silent node is found in seconds."""
    tuning = Tuning(node_monitor_grace_period_s=10, node_lease_duration_s=8)
    with ControlPlane(crds=[WIDGETS], tuning=tuning) as plane:
        plane.add_nodes(domains=["x", "y"], per_domain=1, cpu="2", labels={"disk": "ssd"})
        yield plane


def test_two_run_side_by_side(control_plane: Cluster, quick_plane: ControlPlane) -> None:
    quick_plane.create_namespace("only-here")
    assert control_plane.url != quick_plane.url
    names = [item["metadata"]["name"] for item in control_plane.get("namespaces")["items"]]
    assert "only-here" not in names


def test_nodes_are_as_asked(quick_plane: ControlPlane) -> None:
    quick_plane.add_nodes(domains=["z"], first=5, per_domain=2, memory="1Gi", pods=7)
    (node,) = (
        node for node in quick_plane.get("nodes")["items"] if node["metadata"]["name"] == "z-6"
    )
    allocatable = node["status"]["allocatable"]
    assert (allocatable["cpu"], allocatable["memory"], allocatable["pods"]) == ("4", "1Gi", "7")
    assert quick_plane.get("node", "x-0")["metadata"]["labels"]["disk"] == "ssd"
    quick_plane.remove_nodes("z-5", "z-6")
    assert quick_plane.ready_nodes() == {"x-0", "y-0"}


def test_one_node_falls_silent_and_wakes(quick_plane: ControlPlane) -> None:
    quick_plane.silence_node("x-0")
    eventually(lambda: "x-0" not in quick_plane.ready_nodes(), timeout_s=120, what="x-0 NotReady")
    assert "y-0" in quick_plane.ready_nodes()
    quick_plane.wake_node("x-0")
    eventually(lambda: "x-0" in quick_plane.ready_nodes(), what="x-0 Ready again")


def test_a_budget_counts_by_the_scale_of_a_kind_of_ours(quick_plane: ControlPlane) -> None:
    quick_plane.create_namespace("budget")
    widget = {
        "apiVersion": "testbed.thalweg.dev/v1",
        "kind": "Widget",
        "metadata": {"name": "w", "namespace": "budget"},
        "spec": {"replicas": 2},
    }
    quick_plane.apply(widget)
    uid = quick_plane.get("widget", "w", "-n", "budget")["metadata"]["uid"]
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "w", "namespace": "budget"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": {"app": "w"}}},
    }
    quick_plane.apply(*(_owned_pod(f"w-{index}", uid) for index in range(2)), budget)
    eventually(
        lambda: quick_plane.get("pdb", "w", "-n", "budget")["status"].get("expectedPods") == 2,
        what="the budget to expect two pods",
        show=lambda: quick_plane.kubectl("describe", "pdb", "w", "-n", "budget"),
    )


def _owned_pod(name: str, uid: str) -> dict[str, Any]:
    owner = {
        "apiVersion": "testbed.thalweg.dev/v1",
        "kind": "Widget",
        "name": "w",
        "uid": uid,
        "controller": True,
    }
    metadata = {"name": name, "namespace": "budget", "labels": {"app": "w"}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "ownerReferences": [owner]},
        "spec": {"containers": [{"name": "w", "image": "example.org/w"}]},
    }


def test_nothing_is_left_when_the_owner_is_killed() -> None:
    script = (
        "import json, sys; from thalweg_testbed import ControlPlane\n"
        "plane = ControlPlane()\n"
        "pids = [process.pid for process in plane.processes.values()]\n"
        "print(json.dumps([str(plane.directory), pids]), flush=True); sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as owner:
        assert owner.stdout is not None
        directory, pids = json.loads(owner.stdout.readline())
        assert len(pids) == 5
        assert all(birth_of(pid) for pid in pids)
        owner.kill()
    eventually(lambda: not any(birth_of(pid) for pid in pids), what="all servers gone")
    eventually(lambda: not Path(directory).exists(), what="their directory gone")


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    directory = tmp_path / "plane"
    with pytest.raises(ProcessDied, match=r"kube-apiserver ended .*(?s:.*)Nonsense"):
        ControlPlane(directory=directory, tuning=Tuning(audit_level="Nonsense"))
    assert not directory.exists()


def test_closing_ends_every_process() -> None:
    plane = ControlPlane()
    pids = [process.pid for process in plane.processes.values()]
    directory = plane.directory
    assert directory.parent == Path(tempfile.gettempdir())
    plane.close()
    assert [birth_of(pid) for pid in pids] == [None] * 5
    assert not directory.exists()


def test_a_background_cluster_from_up_to_down(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The programs are found where they are; only the state is somewhere else.
    (tmp_path / "bin").symlink_to(cache_directory() / "bin")
    monkeypatch.setenv("THALWEG_CACHE", str(tmp_path))

    def run(command: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "thalweg_testbed", command],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ).stdout

    assert f"export KUBECONFIG={tmp_path}/cluster/plane/kubeconfig" in run("up")
    background = Background(tmp_path)
    state = background.state()
    assert state is not None
    try:
        assert "already up" in run("up")
        assert background.state() == state
        assert run("status").count(" Ready ") == 12
    finally:
        assert "stopped" in run("down")
    assert background.state() is None
    assert not background.plane.exists()


def test_a_lent_cluster_is_used_and_what_is_not_ours_is_skipped(
    control_plane: Cluster, pytestconfig: pytest.Config
) -> None:
    tests = Path(__file__).with_name("test_control_plane.py")
    inner = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            str(tests),
            "-k",
            "four_domains or audit",
            "-p",
            "no:xdist",
        ],
        cwd=pytestconfig.rootpath,
        env={**os.environ, "THALWEG_KUBECONFIG": str(control_plane.kubeconfig)},
        check=False,
        text=True,
        capture_output=True,
    )
    assert "1 passed, 1 skipped" in inner.stdout, inner.stdout
    assert "a borrowed cluster shows us no audit log" in inner.stdout
