"""The operator in a kind cluster: its image, and our chart by Helm, as users install it."""

import json
from collections.abc import Mapping
from pathlib import Path

from thalweg_testbed.binaries import HELM, find_binaries
from thalweg_testbed.commands import call
from thalweg_testbed.images import Images
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.shape import CONTROL_DOMAIN

__all__ = ["NAMESPACE", "install_operator"]

NAMESPACE = "thalweg-system"
_CHART = Path(__file__).resolve().parents[3] / "charts" / "thalweg"
_INSTALL_S = 420.0
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
    be loaded into one node only. `more` are other values of the chart.
    """
    image = images.operator()
    cluster.load(image, nodes=cluster.nodes_of(CONTROL_DOMAIN))
    repository, _, tag = image.partition(":")
    values = {
        "image": {"repository": f"docker.io/library/{repository}", "tag": tag},
        "nodeSelector": {_CONTROL_PLANE: ""},
        "tolerations": [{"key": _CONTROL_PLANE, "operator": "Exists", "effect": "NoSchedule"}],
        "settings": dict(settings or {}),
        **(more or {}),
    }
    helm = find_binaries([HELM])[HELM.name]
    words = ("upgrade", "--install", "thalweg", _CHART, "--namespace", NAMESPACE)
    options = ("--create-namespace", "--wait", f"--timeout={_INSTALL_S:g}s", "--values", "-")
    call(
        [helm, *words, *options, "--kubeconfig", cluster.kubeconfig],
        stdin=json.dumps(values),
        timeout_s=_INSTALL_S + 60,
    )
