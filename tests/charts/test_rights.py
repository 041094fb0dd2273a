"""The operator as the chart runs it: the real command, with the chart's rights and no others."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from thalweg_testbed.cluster import Cluster
from thalweg_testbed.processes import Process
from thalweg_testbed.waiting import eventually

pytestmark = pytest.mark.control_plane

ROOT = Path(__file__).resolve().parents[2]
RBAC = ROOT / "charts" / "thalweg" / "files" / "rbac"
ACCOUNT = "thalweg"
DEADLINE_S = 180.0


def rules(name: str) -> list[dict[str, Any]]:
    text = (RBAC / f"{name}.yaml").read_text().replace("LEASE_NAME", "thalweg")
    loaded: list[dict[str, Any]] = yaml.safe_load(text)
    return loaded


def grant(cluster: Cluster, account: str, name: str, namespace: str | None) -> None:
    """Give the account in `account` the chart's rules, in one namespace or everywhere."""
    role = f"thalweg-{name}-{account}"
    where = {"name": role} if namespace is None else {"name": role, "namespace": namespace}
    prefix = "Cluster" if namespace is None else ""
    subject = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": account}
    api = "rbac.authorization.k8s.io"
    cluster.apply(
        {
            "apiVersion": f"{api}/v1",
            "kind": f"{prefix}Role",
            "metadata": where,
            "rules": rules(name),
        },
        {
            "apiVersion": f"{api}/v1",
            "kind": f"{prefix}RoleBinding",
            "metadata": where,
            "roleRef": {"apiGroup": api, "kind": f"{prefix}Role", "name": role},
            "subjects": [subject],
        },
    )


@pytest.fixture
def operator(
    control_plane: Cluster, namespace: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Process]:
    """Run the operator for one namespace, as a service account in it; its interval is given."""
    metadata = {"name": ACCOUNT, "namespace": namespace}
    control_plane.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata})
    grant(control_plane, namespace, "cluster", None)
    grant(control_plane, namespace, "topologies", namespace)
    grant(control_plane, namespace, "lease", namespace)
    grant(control_plane, namespace, "autoscaler", "kube-system")
    kubeconfig = control_plane.service_account_kubeconfig(namespace, ACCOUNT)
    settings = tmp_path / "settings.yaml"
    times = {"duration_s": 6, "renew_deadline_s": 4, "retry_s": 0.5, "margin_s": 0.5}
    settings.write_text(
        json.dumps(
            {
                "namespaces": [namespace],
                "pass_interval_s": request.param,
                "retire_grace_s": 1,
                "lease": {"namespace": namespace, **times},
                "serving": {"host": "127.0.0.1", "port": 0},
            }
        )
    )
    command = [sys.executable, "-m", "thalweg_operator", "operator"]
    options = [f"--kubeconfig={kubeconfig}", f"--settings={settings}"]
    with Process("operator", [*command, *options], log=tmp_path / "operator.log") as process:
        yield process
    for kind in ("clusterrole", "clusterrolebinding"):
        control_plane.kubectl("delete", kind, f"thalweg-cluster-{namespace}")


@pytest.mark.parametrize("operator", [600], indirect=True)
def test_the_watch_wakes_the_loop_long_before_its_interval(
    control_plane: Cluster, namespace: str, operator: Process
) -> None:
    apply_example(control_plane, namespace, operator)
    await_pods(control_plane, namespace, operator, 10)
    scale(control_plane, namespace, 5)
    await_pods(control_plane, namespace, operator, 11)
    lost = _pods(control_plane, namespace)[0]["metadata"]["name"]
    control_plane.kubectl("delete", "pod", lost, "--namespace", namespace)
    await_pods(control_plane, namespace, operator, 11)


@pytest.mark.parametrize("operator", [1], indirect=True)
def test_a_topology_lives_with_the_charts_rights(
    control_plane: Cluster, namespace: str, operator: Process
) -> None:
    manifest = apply_example(control_plane, namespace, operator)
    await_pods(control_plane, namespace, operator, 10)
    manifest["spec"]["vertices"][0]["template"]["spec"]["containers"][0]["args"] = ["anew"]
    control_plane.apply(manifest)
    eventually(
        lambda: all("anew" in args for args in _arguments(control_plane, namespace, "read")),
        timeout_s=DEADLINE_S,
        what="the changed template is rolled",
        show=operator.log_tail,
    )
    topology = control_plane.get("streamtopology", "word-count", "--namespace", namespace)
    assert topology["status"]["conditions"]
    control_plane.kubectl("delete", "streamtopology", "word-count", "--namespace", namespace)
    eventually(lambda: _pods(control_plane, namespace) == [], timeout_s=DEADLINE_S)
    asked = control_plane.audit().by(f"system:serviceaccount:{namespace}:{ACCOUNT}")
    assert len(asked.writes()) > 0
    assert [record.what for record in asked if record.code == 403] == []
    assert operator.stop(grace_s=DEADLINE_S) == 0


def apply_example(cluster: Cluster, namespace: str, operator: Process) -> dict[str, Any]:
    """Apply the example once the operator watches, and return its manifest."""
    eventually(
        lambda: "leading as" in operator.log.read_text(),
        timeout_s=DEADLINE_S,
        show=operator.log_tail,
    )
    manifest: dict[str, Any] = yaml.safe_load((ROOT / "examples" / "word-count.yaml").read_text())
    manifest["metadata"]["namespace"] = namespace
    cluster.apply(manifest)
    return manifest


def scale(cluster: Cluster, namespace: str, replicas: int) -> None:
    cluster.kubectl(
        "scale",
        "streamvertex/word-count-split",
        f"--replicas={replicas}",
        "--namespace",
        namespace,
    )


def await_pods(cluster: Cluster, namespace: str, operator: Process, count: int) -> None:
    def all_ready() -> bool:
        pods = _pods(cluster, namespace)
        return len(pods) == count and all(_is_ready(pod) for pod in pods)

    eventually(
        all_ready, timeout_s=DEADLINE_S, what=f"{count} pods are Ready", show=operator.log_tail
    )


def _pods(cluster: Cluster, namespace: str) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = cluster.get("pods", "--namespace", namespace)["items"]
    return items


def _is_ready(pod: dict[str, Any]) -> bool:
    conditions = pod["status"].get("conditions", ())
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def _arguments(cluster: Cluster, namespace: str, vertex: str) -> list[list[str]]:
    return [
        pod["spec"]["containers"][0]["args"]
        for pod in _pods(cluster, namespace)
        if pod["metadata"]["labels"]["thalweg.dev/vertex"] == vertex
    ]
