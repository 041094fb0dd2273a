"""Pods reach each other on every pair of nodes, by address and by name, and the API server."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from thalweg_testbed import CommandFailed, eventually
from thalweg_testbed.images import Images
from thalweg_testbed.kind import KindCluster

PORT = 8080


def pod(name: str, node: str, image: str) -> dict[str, Any]:
    container = {
        "name": "main",
        "image": image,
        "imagePullPolicy": "Never",
        "readinessProbe": {"httpGet": {"path": "/", "port": PORT}, "periodSeconds": 1},
    }
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": "pod"}},
        "spec": {
            "nodeName": node,
            "containers": [container],
            "subdomain": "pods",
            "hostname": name,
            "terminationGracePeriodSeconds": 0,
        },
    }


@pytest.fixture(scope="module")
def place(kind: KindCluster) -> Iterator[str]:
    """One namespace for all of these."""
    name = f"t-{secrets.token_hex(4)}"
    kind.create_namespace(name)
    yield name
    kind.delete_namespace(name)


@pytest.fixture(scope="module")
def pods(kind: KindCluster, place: str, images: Images) -> dict[str, str]:
    """One pod on every worker: name → address."""
    manifests = [
        pod(kind.short_name(node), node.name, images.placeholder()) for node in kind.workers
    ]
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "pods"},
        "spec": {"clusterIP": "None", "selector": {"app": "pod"}, "ports": [{"port": PORT}]},
    }
    for manifest in (*manifests, service):
        manifest["metadata"]["namespace"] = place
    kind.apply(*manifests, service)
    of = ("-n", place)
    kind.kubectl("wait", "--for=condition=Ready", "pod", "--all", "--timeout=110s", *of)
    return {
        item["metadata"]["name"]: item["status"]["podIP"] for item in kind.get("pods", *of)["items"]
    }


def inside(kind: KindCluster, place: str, name: str, *words: str) -> str:
    return kind.kubectl("exec", "-n", place, name, "--", "/placeholder", *words)


def test_every_node_reaches_every_other(
    kind: KindCluster, place: str, pods: dict[str, str]
) -> None:
    names = sorted(pods)
    assert len(names) == len(kind.workers)
    for index, name in enumerate(names):
        other = names[(index + 3) % len(names)]
        answer = inside(kind, place, name, "fetch", f"http://{pods[other]}:{PORT}/")
        assert " for " in answer


def test_names_are_resolved(kind: KindCluster, place: str, pods: dict[str, str]) -> None:
    name, *_, last = sorted(pods)
    full = f"{last}.pods.{place}.svc.cluster.local"

    def found() -> bool:
        return inside(kind, place, name, "lookup", full).split() == [pods[last]]

    eventually(found, timeout_s=120, what=f"{full} resolved")
    service = inside(kind, place, name, "lookup", "kubernetes.default.svc.cluster.local")
    assert service.split() == ["10.96.0.1"]


def test_the_api_server_is_reached_by_its_service(
    kind: KindCluster, place: str, pods: dict[str, str]
) -> None:
    name = min(pods)
    # Plain HTTP is refused, in words: so it is the API server that answers.
    answer = inside(kind, place, name, "fetch", "http://10.96.0.1:443/")
    assert "HTTP request to an HTTPS server" in answer


def test_kubelets_count_what_containers_use(
    kind: KindCluster, place: str, pods: dict[str, str]
) -> None:
    node = kind.workers[0]

    def counted() -> bool:
        path = f"/api/v1/nodes/{node.name}/proxy/metrics/cadvisor"
        text = kind.kubectl("get", "--raw", path)
        name = kind.short_name(node)
        return any(
            line.startswith("container_cpu_usage_seconds_total") and f'pod="{name}"' in line
            for line in text.splitlines()
        )

    eventually(counted, timeout_s=120, what="cAdvisor's counters of a pod")


def test_a_pod_that_does_not_exist_is_not_reached(
    kind: KindCluster, place: str, pods: dict[str, str]
) -> None:
    free = kind.workers[-1].last_pod_address
    with pytest.raises(CommandFailed):
        inside(kind, place, min(pods), "fetch", f"http://{free}:{PORT}/")
