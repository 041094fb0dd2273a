"""The operator in a kind cluster: its image, and our chart by Helm, as users install it."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from thalweg_testbed.binaries import HELM, find_binaries
from thalweg_testbed.commands import call
from thalweg_testbed.images import Images
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.shape import CONTROL_DOMAIN

__all__ = [
    "NAMESPACE",
    "condensing_engine",
    "install_operator",
    "render_operator",
    "roll_back_operator",
]

NAMESPACE = "thalweg-system"
_CHART = Path(__file__).resolve().parents[3] / "charts" / "thalweg"
_INSTALL_S = 420.0
_OPERATOR = "app.kubernetes.io/name=thalweg"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"


def install_operator(
    cluster: KindCluster,
    images: Images,
    *,
    settings: Mapping[str, object] | None = None,
    more: Mapping[str, object] | None = None,
) -> None:
    """Install the operator on the control plane's node and wait until it is Ready.

    There it lives through whatever is done to the domains, and its image, which is large, has to
    be loaded into one node only. `more` are other values of the chart. Its namespace takes no pod
    that wants more than the restricted Pod Security Standard gives.
    """
    labels = {"pod-security.kubernetes.io/enforce": "restricted"}
    metadata = {"name": NAMESPACE, "labels": labels}
    cluster.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})
    values = {**_values(cluster, images), "settings": dict(settings or {}), **(more or {})}
    helm = find_binaries([HELM])[HELM.name]
    words = ("upgrade", "--install", "thalweg", _CHART, "--namespace", NAMESPACE)
    options = ("--wait", f"--timeout={_INSTALL_S:g}s", "--values", "-")
    call(
        [helm, *words, *options, "--kubeconfig", cluster.kubeconfig],
        stdin=json.dumps(values),
        timeout_s=_INSTALL_S + 60,
    )


def roll_back_operator(cluster: KindCluster) -> None:
    """Undo the last installation of several: other tests go by the one before."""
    helm = find_binaries([HELM])[HELM.name]
    words = ("rollback", "thalweg", "--namespace", NAMESPACE, "--kubeconfig", cluster.kubeconfig)
    options = ("--wait", f"--timeout={_INSTALL_S:g}s")
    call([helm, *words, *options], timeout_s=_INSTALL_S + 60)


def condensing_engine(cluster: KindCluster) -> str | None:
    """Return which engine made the matrices that the leader goes by; None before the first."""
    for pod in cluster.get("pods", "-n", NAMESPACE, "-l", _OPERATOR)["items"]:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}:8080/proxy/metrics"
        text = cluster.kubectl("get", "--raw", path)
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name == "thalweg_operator_condensing_engine" and sample.value:
                    return str(sample.labels["engine"])
    return None


def render_operator(
    cluster: KindCluster,
    images: Images,
    *,
    namespace: str,
    settings: Mapping[str, object],
    more: Mapping[str, object] | None = None,
) -> list[dict[str, Any]]:
    """Return what the chart would install into a namespace, for a test to take parts of it."""
    values = {**_values(cluster, images), "settings": dict(settings), **(more or {})}
    helm = find_binaries([HELM])[HELM.name]
    words = ("template", "thalweg", _CHART, "--namespace", namespace, "--values", "-")
    version = json.loads(cluster.kubectl("get", "--raw", "/version"))["gitVersion"]
    text = call([helm, *words, "--kube-version", version], stdin=json.dumps(values))
    return [one for one in yaml.safe_load_all(text) if one]


def _values(cluster: KindCluster, images: Images) -> dict[str, object]:
    """Load the operator's image, and return the values by which it runs on that node."""
    image = images.operator()
    cluster.load(image, nodes=cluster.nodes_of(CONTROL_DOMAIN))
    repository, _, tag = image.partition(":")
    return {
        "image": {"repository": f"docker.io/library/{repository}", "tag": tag},
        "nodeSelector": {_CONTROL_PLANE: ""},
        "tolerations": [{"key": _CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}],
    }
