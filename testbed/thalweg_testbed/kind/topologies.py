"""A topology of real pods in one namespace of a kind cluster, as a test looks at it."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.waiting import eventually

__all__ = ["Topology"]

_LABEL = "thalweg.dev"
_SETTLE_S = 240.0
_PORT = 8080


class Topology:
    """One StreamTopology whose workers are placeholders."""

    def __init__(self, cluster: KindCluster, namespace: str, name: str, image: str) -> None:
        self._cluster = cluster
        self.namespace = namespace
        self._image = image
        self.name = name

    def apply(self, vertices: Mapping[str, int], **spec: object) -> None:
        """Ask for a chain of vertices with so many tasks each."""
        names = list(vertices)
        written = {
            "strategy": "Even",
            "vertices": [self._vertex(name, tasks) for name, tasks in vertices.items()],
            "edges": [{"from": one, "to": other} for one, other in pairwise(names)],
            **spec,
        }
        metadata = {"name": self.name, "namespace": self.namespace}
        self._cluster.apply(
            {
                "apiVersion": "thalweg.dev/v1alpha1",
                "kind": "StreamTopology",
                "metadata": metadata,
                "spec": written,
            }
        )

    def pods(self) -> dict[str, Any]:
        """Return the active pod of each task, by the task's name; AssertionError if one has two."""
        selector = f"{_LABEL}/topology={self.name},{_LABEL}/state=active"
        items = self._cluster.get("pods", "-n", self.namespace, "-l", selector)["items"]
        found: dict[str, Any] = {}
        for pod in items:
            if "deletionTimestamp" in pod["metadata"]:
                continue
            labels = pod["metadata"]["labels"]
            task = f"{labels[f'{_LABEL}/vertex']}-{labels[f'{_LABEL}/task']}"
            assert task not in found, f"two active pods of {task}"
            found[task] = pod
        return found

    def all_pods(self) -> list[Any]:
        """Return every pod of the topology that the API server knows."""
        selector = f"{_LABEL}/topology={self.name}"
        items = self._cluster.get("pods", "-n", self.namespace, "-l", selector)["items"]
        return list(items)

    def settled(self, count: int) -> dict[str, Any]:
        """Wait until `count` tasks have one Ready pod each and none is left over; return them."""

        def ready() -> dict[str, Any] | None:
            pods = self.pods()
            everything = len(self.all_pods())
            is_whole = len(pods) == everything == count
            return pods if is_whole and all(map(is_ready, pods.values())) else None

        pods = eventually(
            ready, timeout_s=_SETTLE_S, every_s=1.0, what=f"{count} tasks", show=self.show
        )
        assert pods is not None
        return pods

    def until_gone_from(self, node: str, count: int) -> dict[str, Any]:
        """Wait until `count` tasks have a Ready pod on other nodes than this one; return them."""

        def moved() -> dict[str, Any] | None:
            pods = self.pods()
            places = {pod["spec"].get("nodeName") for pod in pods.values()}
            is_moved = len(pods) == count and node not in places
            return pods if is_moved and all(map(is_ready, pods.values())) else None

        pods = eventually(
            moved, timeout_s=_SETTLE_S, every_s=1.0, what=f"no task on {node}", show=self.show
        )
        assert pods is not None
        return pods

    def fetch(self, pod: Mapping[str, Any], other: Mapping[str, Any]) -> str:
        """Return what a pod answers to another, over the pod network."""
        address = other["status"]["podIP"]
        name = pod["metadata"]["name"]
        program = ("/placeholder", "fetch", f"http://{address}:{_PORT}/")
        return self._cluster.kubectl("exec", "-n", self.namespace, name, "--", *program)

    def show(self) -> str:
        """Return what a reader needs to see why something did not come about."""
        of = ("-n", self.namespace)
        parts = [
            self._cluster.kubectl("get", "nodes"),
            self._cluster.kubectl("get", "pods", "-o", "wide", "--show-labels", *of),
            self._cluster.kubectl("get", "streamtopologies", "-o", "yaml", *of)[-3000:],
        ]
        return "\n".join(parts)

    def _vertex(self, name: str, tasks: int) -> dict[str, object]:
        container = {
            "name": "worker",
            "image": self._image,
            "imagePullPolicy": "Never",
            "ports": [{"containerPort": _PORT}],
            "readinessProbe": {"httpGet": {"path": "/metrics", "port": _PORT}, "periodSeconds": 1},
            "resources": {"requests": {"cpu": "20m", "memory": "16Mi"}},
        }
        spec = {"containers": [container], "terminationGracePeriodSeconds": 1}
        replicas = {"min": 1, "max": tasks, "initial": tasks}
        return {"name": name, "replicas": replicas, "template": {"spec": spec}}


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Tell whether a pod's Ready condition holds."""
    conditions = pod["status"].get("conditions") or ()
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)
