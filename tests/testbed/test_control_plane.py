"""The session's control plane behaves as Kubernetes does: binding, budgets, rights, audit."""

import json
from typing import Any

import pytest

from thalweg_testbed import OPERATOR_USER, Cluster, CommandFailed, eventually

pytestmark = pytest.mark.control_plane


def _deployment(namespace: str, *, replicas: int) -> dict[str, Any]:
    labels = {"app": "web"}
    spread = {
        "maxSkew": 1,
        "topologyKey": "topology.kubernetes.io/zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": labels},
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "containers": [{"name": "web", "image": "example.org/web"}],
                    "topologySpreadConstraints": [spread],
                },
            },
        },
    }


def _ready_pods(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Return the node of every Ready pod."""
    return {
        pod["metadata"]["name"]: pod["spec"]["nodeName"]
        for pod in cluster.get("pods", "--namespace", namespace)["items"]
        for condition in pod["status"].get("conditions", ())
        if (condition["type"], condition["status"]) == ("Ready", "True")
    }


def _run(cluster: Cluster, namespace: str, *, replicas: int) -> dict[str, str]:
    cluster.apply(_deployment(namespace, replicas=replicas))
    return eventually(
        lambda: len(pods := _ready_pods(cluster, namespace)) == replicas and pods,
        what=f"{replicas} ready pods",
        show=lambda: cluster.kubectl("get", "pods", "--namespace", namespace, "-o", "wide"),
    ) or pytest.fail("no pods")


def _evict(cluster: Cluster, namespace: str, pod: str) -> str:
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": pod, "namespace": namespace},
    }
    path = f"/api/v1/namespaces/{namespace}/pods/{pod}/eviction"
    return cluster.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))


def test_pods_become_ready_in_four_domains(control_plane: Cluster, namespace: str) -> None:
    pods = _run(control_plane, namespace, replicas=8)
    assert sorted({node.split("-")[0] for node in pods.values()}) == ["a", "b", "c", "d"]


def test_twelve_nodes_know_their_domain(control_plane: Cluster) -> None:
    nodes = control_plane.get("nodes")["items"]
    zones = {
        node["metadata"]["name"]: node["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for node in nodes
        if node["metadata"]["name"][:2] in {"a-", "b-", "c-", "d-"}
    }
    assert zones == {f"{zone}-{index}": zone for zone in "abcd" for index in range(3)}


def test_a_disruption_budget_is_honoured(control_plane: Cluster, namespace: str) -> None:
    pods = _run(control_plane, namespace, replicas=4)
    control_plane.apply(_budget(namespace, min_available=4))
    eventually(lambda: _budget_status(control_plane, namespace).get("currentHealthy") == 4)
    victim = min(pods)
    with pytest.raises(CommandFailed, match="disruption budget"):
        _evict(control_plane, namespace, victim)
    assert victim in _ready_pods(control_plane, namespace)

    control_plane.apply(_budget(namespace, min_available=3))
    eventually(lambda: _budget_status(control_plane, namespace).get("disruptionsAllowed") == 1)
    _evict(control_plane, namespace, victim)
    eventually(lambda: victim not in _ready_pods(control_plane, namespace))


def _budget(namespace: str, *, min_available: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": namespace},
        "spec": {"minAvailable": min_available, "selector": {"matchLabels": {"app": "web"}}},
    }


def _budget_status(cluster: Cluster, namespace: str) -> dict[str, Any]:
    status: dict[str, Any] = cluster.get("pdb", "web", "--namespace", namespace)["status"]
    return status


def test_the_audit_log_counts_and_orders_the_writes_of_a_user(
    control_plane: Cluster, namespace: str
) -> None:
    before = control_plane.audit()
    asuser = [f"--kubeconfig={control_plane.kubeconfig_for(OPERATOR_USER)}", "-n", namespace]
    control_plane.kubectl("create", "configmap", "first", *asuser)
    control_plane.kubectl("get", "configmap", "first", *asuser)
    control_plane.kubectl("label", "configmap", "first", "colour=blue", *asuser)
    control_plane.kubectl("create", "configmap", "third", "--dry-run=server", *asuser)
    control_plane.kubectl("delete", "configmap", "first", *asuser)
    with pytest.raises(CommandFailed):
        control_plane.kubectl("delete", "configmap", "second", *asuser)

    def writes() -> list[tuple[str, int]]:
        log = control_plane.audit().since(before).writes_by(OPERATOR_USER)
        return [(record.what, record.code) for record in log]

    # The server answers a moment before it writes the event.
    eventually(lambda: len(writes()) == 4, show=writes)
    assert writes() == [
        (f"create configmaps {namespace}/first", 201),
        (f"patch configmaps {namespace}/first", 200),
        (f"delete configmaps {namespace}/first", 200),
        (f"delete configmaps {namespace}/second", 404),
    ]


def test_rights_are_enforced(control_plane: Cluster, namespace: str) -> None:
    account = control_plane.service_account_kubeconfig(namespace, "default")
    with pytest.raises(CommandFailed, match="pods is forbidden"):
        control_plane.kubectl("get", "pods", "-n", namespace, f"--kubeconfig={account}")


def test_the_server_comes_back_with_its_data(control_plane: Cluster, namespace: str) -> None:
    control_plane.kubectl("create", "configmap", "kept", "--namespace", namespace)
    url = control_plane.url
    control_plane.stop_server()
    with pytest.raises(CommandFailed, match="refused"):
        control_plane.kubectl("get", "namespaces")
    control_plane.restart_server()
    assert control_plane.url == url
    assert control_plane.get("configmap", "kept", "--namespace", namespace)
    _run(control_plane, namespace, replicas=2)


def test_kwok_can_pause_and_go_on(control_plane: Cluster, namespace: str) -> None:
    control_plane.stop_kwok()
    control_plane.apply(_deployment(namespace, replicas=1))
    bound = eventually(
        lambda: [
            pod
            for pod in control_plane.get("pods", "--namespace", namespace)["items"]
            if pod["spec"].get("nodeName")
        ],
        what="a pod bound",
    )
    assert [pod["status"]["phase"] for pod in bound] == ["Pending"]
    control_plane.start_kwok()
    eventually(lambda: _ready_pods(control_plane, namespace), what="the pod ready")
