"""Prometheus and metrics-server in a kind cluster, on the control plane's node.

Prometheus scrapes every worker, whatever else asks for it, and from the kubelets what containers
use. Which pods and nodes those are it hears from a program beside it (testbed/go/targets): Debian's
Prometheus has no Kubernetes discovery.
"""

import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from thalweg_testbed.images import Images
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.shape import CONTROL_DOMAIN
from thalweg_testbed.waiting import eventually

__all__ = ["Prometheus", "install_metrics_server", "install_prometheus"]

NAMESPACE = "thalweg-monitoring"
_CONTROL_PLANE = "node-role.kubernetes.io/control-plane"
_PORT = 9090
_READY_S = 240.0
_TARGETS = "http://127.0.0.1:9099/"
_ACCOUNT = "/var/run/secrets/kubernetes.io/serviceaccount"
_KUBELET_SERIES = "container_(cpu_usage_seconds|memory_working_set|network_.+_bytes).*"


class Prometheus:
    """A Prometheus in the cluster, asked through the API server."""

    url = f"http://prometheus.{NAMESPACE}:{_PORT}"
    """Its address for pods, the operator's among them: `settings.metrics_sources`."""

    def __init__(self, cluster: KindCluster) -> None:
        self._cluster = cluster

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Return what an instant query answers."""
        service = f"/api/v1/namespaces/{NAMESPACE}/services/prometheus:{_PORT}/proxy"
        path = f"{service}/api/v1/query?query={quote(expression)}"
        found: list[dict[str, Any]] = json.loads(self._cluster.kubectl("get", "--raw", path))[
            "data"
        ]["result"]
        return found


def install_prometheus(
    cluster: KindCluster, images: Images, *, scrape_s: float = 1.0
) -> Prometheus:
    """Install Prometheus and wait until it answers; workers appear within seconds."""
    server, targets = images.prometheus(), images.targets()
    for image in (server, targets):
        cluster.load(image, nodes=cluster.nodes_of(CONTROL_DOMAIN))
    _make_namespace(cluster)
    interval = f"{round(scrape_s * 1000)}ms"
    cluster.apply(
        _account("prometheus"),
        _role(
            "prometheus",
            [
                {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list"]},
                {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
            ],
        ),
        _binding("prometheus"),
        _object("v1", "ConfigMap", "prometheus", data={"prometheus.yml": _settings(interval)}),
        _deployment("prometheus", _prometheus_pod(server, targets, interval)),
        _service("prometheus", _PORT, _PORT),
    )
    _wait(cluster, "prometheus")
    prometheus = Prometheus(cluster)
    eventually(lambda: prometheus.query("vector(1)"), timeout_s=_READY_S, what="Prometheus")
    return prometheus


def install_metrics_server(cluster: KindCluster, images: Images) -> None:
    """Install metrics-server and wait until the API server serves what it measures."""
    image = images.metrics_server()
    cluster.load(image, nodes=cluster.nodes_of(CONTROL_DOMAIN))
    _make_namespace(cluster)
    rules = [
        {"apiGroups": [""], "resources": ["nodes/metrics"], "verbs": ["get"]},
        {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["get", "list", "watch"]},
    ]
    delegator = _binding("metrics-server", name="metrics-server-delegator")
    delegator["roleRef"]["name"] = "system:auth-delegator"
    reader = _binding("metrics-server", kind="RoleBinding")
    reader["metadata"]["namespace"] = "kube-system"
    reader["roleRef"] |= {"kind": "Role", "name": "extension-apiserver-authentication-reader"}
    service = {"name": "metrics-server", "namespace": NAMESPACE, "port": 443}
    cluster.apply(
        _account("metrics-server"),
        _role("metrics-server", rules),
        _binding("metrics-server"),
        delegator,
        reader,
        _deployment("metrics-server", _metrics_server_pod(image)),
        _service("metrics-server", 443, 10250),
        {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v1beta1.metrics.k8s.io"},
            "spec": {
                "group": "metrics.k8s.io",
                "version": "v1beta1",
                "service": service,
                "groupPriorityMinimum": 100,
                "versionPriority": 100,
                "insecureSkipTLSVerify": True,
            },
        },
    )
    _wait(cluster, "metrics-server")
    eventually(lambda: cluster.kubectl("top", "nodes"), timeout_s=_READY_S, what="kubectl top")


def _make_namespace(cluster: KindCluster) -> None:
    manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}
    cluster.apply(manifest)


def _wait(cluster: KindCluster, name: str) -> None:
    words = ("rollout", "status", f"deployment/{name}", f"--timeout={_READY_S:g}s")
    cluster.kubectl(*words, "-n", NAMESPACE, timeout_s=_READY_S + 30)


def _settings(interval: str) -> str:
    """JSON is YAML too."""
    job = {
        "job_name": "pods",
        # What a worker says of itself stands; the rest comes from where it runs.
        "honor_labels": True,
        "http_sd_configs": [{"url": _TARGETS, "refresh_interval": "2s"}],
    }
    kubelets = {
        "job_name": "kubelets",
        "scheme": "https",
        "metrics_path": "/metrics/cadvisor",
        # A kubelet looks at its containers every ten seconds or so.
        "scrape_interval": "10s",
        "scrape_timeout": "10s",
        "authorization": {"credentials_file": f"{_ACCOUNT}/token"},
        # The kubelets' certificates are their own, as everywhere in kind.
        "tls_config": {"insecure_skip_verify": True},
        "http_sd_configs": [{"url": f"{_TARGETS}kubelets", "refresh_interval": "10s"}],
        "metric_relabel_configs": [
            {"source_labels": ["__name__"], "regex": _KUBELET_SERIES, "action": "keep"}
        ],
    }
    times = {"scrape_interval": interval, "scrape_timeout": interval}
    return json.dumps({"global": times, "scrape_configs": [job, kubelets]})


def _prometheus_pod(server: str, targets: str, interval: str) -> dict[str, Any]:
    words = ["--config.file=/etc/prometheus/prometheus.yml", "--storage.tsdb.path=/data"]
    mounts = [
        {"name": "settings", "mountPath": "/etc/prometheus"},
        {"name": "data", "mountPath": "/data"},
    ]
    main = {
        "name": "prometheus",
        "image": server,
        "args": words,
        "volumeMounts": mounts,
        "ports": [{"name": "http", "containerPort": _PORT}],
        "readinessProbe": {"httpGet": {"path": "/-/ready", "port": _PORT}, "periodSeconds": 1},
    }
    volumes = [
        {"name": "settings", "configMap": {"name": "prometheus"}},
        {"name": "data", "emptyDir": {}},
    ]
    beside = {"name": "targets", "image": targets}
    spec = _pod("prometheus", [main, beside], volumes=volumes)
    # A change of the settings is a change of the pod: Prometheus reads them when it starts.
    spec["metadata"]["annotations"] = {"thalweg.dev/scrape-interval": interval}
    return spec


def _metrics_server_pod(image: str) -> dict[str, Any]:
    words = ["--cert-dir=/tmp", "--secure-port=10250", "--metric-resolution=15s"]
    words += ["--kubelet-insecure-tls", "--kubelet-preferred-address-types=InternalIP"]
    main = {
        "name": "metrics-server",
        "image": image,
        "args": words,
        "volumeMounts": [{"name": "tmp", "mountPath": "/tmp"}],
        "readinessProbe": {
            "httpGet": {"path": "/readyz", "port": 10250, "scheme": "HTTPS"},
            "periodSeconds": 2,
        },
    }
    return _pod("metrics-server", [main], volumes=[{"name": "tmp", "emptyDir": {}}])


def _pod(
    name: str, containers: list[dict[str, Any]], *, volumes: list[dict[str, Any]]
) -> dict[str, Any]:
    spec = {
        "serviceAccountName": name,
        "nodeSelector": {_CONTROL_PLANE: ""},
        "tolerations": [{"key": _CONTROL_PLANE, "operator": "Exists"}],
        "securityContext": {"runAsUser": 10001, "runAsGroup": 10001, "fsGroup": 10001},
        "containers": [{**one, "imagePullPolicy": "Never"} for one in containers],
        "volumes": volumes,
    }
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def _object(version: str, kind: str, name: str, **rest: object) -> dict[str, Any]:
    metadata = {"name": name, "namespace": NAMESPACE}
    return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _account(name: str) -> dict[str, Any]:
    return _object("v1", "ServiceAccount", name)


def _deployment(name: str, template: Mapping[str, Any]) -> dict[str, Any]:
    selector = {"matchLabels": {"app": name}}
    return _object("apps/v1", "Deployment", name, spec={"selector": selector, "template": template})


def _service(name: str, port: int, target: int) -> dict[str, Any]:
    ports = [{"port": port, "targetPort": target}]
    return _object("v1", "Service", name, spec={"selector": {"app": name}, "ports": ports})


def _role(name: str, rules: list[dict[str, Any]]) -> dict[str, Any]:
    metadata = {"name": f"{NAMESPACE}-{name}"}
    version = "rbac.authorization.k8s.io/v1"
    return {"apiVersion": version, "kind": "ClusterRole", "metadata": metadata, "rules": rules}


def _binding(account: str, *, name: str = "", kind: str = "ClusterRoleBinding") -> dict[str, Any]:
    subject = {"kind": "ServiceAccount", "name": account, "namespace": NAMESPACE}
    group = "rbac.authorization.k8s.io"
    return {
        "apiVersion": f"{group}/v1",
        "kind": kind,
        "metadata": {"name": f"{NAMESPACE}-{name or account}"},
        "roleRef": {
            "apiGroup": group,
            "kind": "ClusterRole",
            "name": f"{NAMESPACE}-{account}",
        },
        "subjects": [subject],
    }
