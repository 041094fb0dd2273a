"""Spark's executors as pods: the chart's one setting, with the chart's rights and no others."""

import json
from typing import Any

import pytest

from thalweg_testbed import eventually
from thalweg_testbed.images import Images
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.installation import render_operator
from thalweg_testbed.kind.monitoring import Prometheus

pytestmark = pytest.mark.soak

MASTER = "k8s://https://kubernetes.default.svc"
EXECUTORS = "spark-role=executor"
RESTRICTED = "pod-security.kubernetes.io/enforce=restricted"
LONG_S = 300.0
HELD_IN = "metrics"
TOKEN_FILE = f"/etc/thalweg-secrets/{HELD_IN}/token"


@pytest.fixture
def worker(kind: KindCluster, namespace: str, images: Images, prometheus: Prometheus) -> str:
    """Give the name of a task that Prometheus has heard of."""
    kind.kubectl("label", "namespace", namespace, RESTRICTED)
    names = {"TOPOLOGY": "words", "VERTEX": "split", "TASK": "split-0"}
    container = {
        "name": "main",
        "image": images.placeholder(),
        "imagePullPolicy": "Never",
        "env": [{"name": f"THALWEG_{name}", "value": value} for name, value in names.items()],
        "ports": [{"name": "metrics", "containerPort": 8080}],
        "securityContext": {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}},
    }
    kind.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": "worker",
                "namespace": namespace,
                "annotations": {"prometheus.io/scrape": "true"},
            },
            "spec": {
                "securityContext": {
                    "runAsNonRoot": True,
                    "seccompProfile": {"type": "RuntimeDefault"},
                },
                "containers": [container],
            },
        }
    )
    series = f'count_over_time(thalweg_processed_total{{namespace="{namespace}"}}[30s]) > 2'
    eventually(lambda: prometheus.query(series), timeout_s=120, what="samples of the worker")
    return names["TASK"]


def driver_of(objects: list[dict[str, Any]], source: str) -> dict[str, Any]:
    """The operator's pod as the chart makes it; but it condenses once and is done."""
    (deployment,) = (one for one in objects if one["kind"] == "Deployment")
    template = deployment["spec"]["template"]
    (container,) = template["spec"]["containers"]
    for probe in ("livenessProbe", "readinessProbe"):
        del container[probe]
    container["command"] = ["python3", "-m", "thalweg_spark", "condense"]
    container["args"] = [f"--source={source}", "--store=/var/lib/thalweg/store"]
    container["args"] += [f"--spark-master={MASTER}", f"--token-file={TOKEN_FILE}"]
    metadata = {"name": "driver", "namespace": deployment["metadata"]["namespace"]}
    spec = {**template["spec"], "restartPolicy": "Never"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def is_needed(one: dict[str, Any]) -> bool:
    """Whether a driver needs it: its account, its settings, and the rights to have executors."""
    kind, name = one["kind"], one["metadata"]["name"]
    return kind in ("ServiceAccount", "ConfigMap") or (
        kind in ("Role", "RoleBinding") and name.endswith("-executors")
    )


def test_executors_pull_and_leave(
    kind: KindCluster, images: Images, prometheus: Prometheus, namespace: str, worker: str
) -> None:
    settings = {"condense": {"spark_master": MASTER}}
    # Prometheus asks for no token here, but who cannot read the file sends no query.
    more = {"metricsSecrets": [HELD_IN]}
    objects = render_operator(kind, images, namespace=namespace, settings=settings, more=more)
    kind.kubectl("create", "secret", "generic", HELD_IN, "-n", namespace, "--from-literal=token=t")
    kind.apply(*filter(is_needed, objects), driver_of(objects, prometheus.url))
    seen: dict[str, dict[str, Any]] = {}

    def executors() -> list[dict[str, Any]]:
        return list(kind.get("pods", "-n", namespace, "-l", EXECUTORS)["items"])

    def ended() -> str | None:
        for pod in executors():
            if pod["status"]["phase"] == "Running":
                seen[pod["metadata"]["name"]] = pod
        phase = str(kind.get("pod", "driver", "-n", namespace)["status"]["phase"])
        return phase if phase in ("Succeeded", "Failed") else None

    def said() -> str:
        pods = kind.kubectl("get", "pods", "-n", namespace, "-o", "wide")
        return f"{pods}\n{kind.kubectl('logs', 'driver', '-n', namespace)}"

    phase = eventually(ended, timeout_s=LONG_S, what="the driver's end", show=said)
    assert phase == "Succeeded", said()
    report = json.loads(kind.kubectl("logs", "driver", "-n", namespace).splitlines()[-1])
    assert report["engine"] == "spark"
    assert f"task_load/{namespace}/words" in report["coverage"], f"nothing of {worker}"
    assert report["rows"]["task_load"] >= 1
    assert len(seen) == 2, "two executors ran"
    for pod in seen.values():
        assert [one["name"] for one in pod["metadata"]["ownerReferences"]] == ["driver"]
        assert not pod["spec"]["automountServiceAccountToken"]
    eventually(lambda: executors() == [], timeout_s=60, what="no executor is left", show=said)
