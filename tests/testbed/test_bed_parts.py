"""The small parts: waiting, ports, node names, and whose cluster to use."""

import socket
from pathlib import Path

import pytest

from thalweg_testbed.borrowing import borrowed_kubeconfig
from thalweg_testbed.cluster import BorrowedCluster
from thalweg_testbed.errors import BedError, CommandFailed, NotInTime, NotOurs
from thalweg_testbed.nodes import domain_name, node_manifest
from thalweg_testbed.ports import Port
from thalweg_testbed.servers import Layout, Tuning, kwok_command, write_configuration
from thalweg_testbed.waiting import eventually


def test_eventually_returns_the_first_true_value() -> None:
    values = iter([None, 0, "", "here", "later"])
    assert eventually(lambda: next(values), every_s=0) == "here"


@pytest.mark.parametrize("error", [AssertionError("no"), CommandFailed("no")])
def test_eventually_takes_a_failed_check_for_not_yet(error: Exception) -> None:
    outcomes: list[object] = [error, True]

    def check() -> object:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    assert eventually(check, every_s=0) is True


def test_eventually_lets_other_errors_through() -> None:
    with pytest.raises(ZeroDivisionError):
        eventually(lambda: 1 // 0)


def test_eventually_shows_the_last_state() -> None:
    with pytest.raises(NotInTime, match=r"(?s)0 s: three pods; last seen: 0\n2 of 3 bound"):
        eventually(lambda: 0, timeout_s=0, what="three pods", show=lambda: "2 of 3 bound")


def test_ports_differ_and_can_be_listened_on() -> None:
    ports = [Port() for _ in range(5)]
    try:
        assert len({port.number for port in ports}) == 5
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", ports[0].number))
    finally:
        for port in ports:
            port.release()


@pytest.mark.parametrize(
    ("index", "name"), [(0, "a"), (3, "d"), (25, "z"), (26, "aa"), (27, "ab"), (702, "aaa")]
)
def test_domain_names(index: int, name: str) -> None:
    assert domain_name(index) == name


def test_a_node_tells_its_domain_and_may_carry_more_labels() -> None:
    manifest = node_manifest(
        "a-0", number=251, domain="a", capacity={"cpu": "4"}, labels={"disk": "ssd"}
    )
    metadata = manifest["metadata"]
    assert isinstance(metadata, dict)
    assert metadata["labels"]["topology.kubernetes.io/zone"] == "a"
    assert metadata["labels"]["kubernetes.io/hostname"] == "a-0"
    assert metadata["labels"]["disk"] == "ssd"
    assert "'10.64.1.1'" in str(manifest["status"])


def test_every_user_has_a_token_of_its_own(tmp_path: Path) -> None:
    layout = Layout(root=tmp_path)
    write_configuration(layout, url="https://127.0.0.1:1", tuning=Tuning(), users=["me", "you"])
    rows = [line.split(",") for line in layout.tokens.read_text().splitlines()]
    assert len({row[0] for row in rows}) == len(rows) == 6
    assert rows[-1][0] in layout.user_kubeconfig("you").read_text()
    assert layout.tokens.stat().st_mode & 0o077 == 0
    assert layout.user_kubeconfig("you").stat().st_mode & 0o077 == 0


def test_tuning_reaches_the_command_line() -> None:
    layout = Layout(root=Path("plane"))
    command = kwok_command(Path("kwok"), layout, tuning=Tuning(node_lease_duration_s=7))
    assert "--node-lease-duration-seconds=7" in command


def test_an_ambient_kubeconfig_is_not_touched(tmp_path: Path) -> None:
    path = tmp_path / "production"
    path.touch()
    assert borrowed_kubeconfig({"KUBECONFIG": str(path)}) is None
    assert borrowed_kubeconfig({"KUBECONFIG": str(path), "THALWEG_USE_KUBECONFIG": "0"}) is None


def test_a_lent_kubeconfig_is_used(tmp_path: Path) -> None:
    path = tmp_path / "mine"
    path.touch()
    assert borrowed_kubeconfig({"THALWEG_KUBECONFIG": str(path)}) == path
    assert borrowed_kubeconfig({"KUBECONFIG": str(path), "THALWEG_USE_KUBECONFIG": "1"}) == path


@pytest.mark.parametrize(
    ("environment", "complaint"),
    [
        ({"THALWEG_KUBECONFIG": "/no/such/file"}, "no such kubeconfig: /no/such/file"),
        ({"THALWEG_USE_KUBECONFIG": "1"}, "KUBECONFIG is not set"),
        ({"THALWEG_USE_KUBECONFIG": "1", "KUBECONFIG": "/a:/b"}, "name one file"),
    ],
)
def test_a_kubeconfig_that_cannot_be_used(environment: dict[str, str], complaint: str) -> None:
    with pytest.raises(BedError, match=complaint):
        borrowed_kubeconfig(environment)


def test_a_borrowed_cluster_keeps_its_servers_and_nodes(tmp_path: Path) -> None:
    cluster = BorrowedCluster(kubeconfig=tmp_path, kubectl=Path("kubectl"))
    for operation in (cluster.stop_server, cluster.restart_server, cluster.audit):
        with pytest.raises(NotOurs):
            operation()
    with pytest.raises(NotOurs, match="node a-0"):
        cluster.silence_node("a-0")
    with pytest.raises(NotOurs, match="no simulated nodes"):
        cluster.add_nodes()
    with pytest.raises(NotOurs, match="not ours to remove"):
        cluster.remove_nodes("a-0")


def test_kubectl_errors_carry_what_it_said(tmp_path: Path) -> None:
    kubectl = tmp_path / "kubectl"
    kubectl.write_text("#!/bin/sh\necho 'pods is forbidden' >&2\nexit 1\n")
    kubectl.chmod(0o755)
    cluster = BorrowedCluster(kubeconfig=tmp_path / "config", kubectl=kubectl)
    with pytest.raises(CommandFailed, match="kubectl get pods: pods is forbidden"):
        cluster.kubectl("get", "pods")
