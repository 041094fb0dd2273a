"""A topology of real stream workers in a kind cluster: it starts from an example's manifest."""

import json
from collections.abc import Mapping, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import yaml
from prometheus_client.parser import text_string_to_metric_families

from thalweg_testbed.errors import CommandFailed
from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.kind.topologies import Topology, is_ready
from thalweg_testbed.waiting import eventually

__all__ = ["Stream"]

_EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
_PORT = 8080
_LAST_SCRAPE = "--last-scrape-s=5"
"""A pod that goes lets Prometheus have the last that it counted."""
_LONG_S = 240.0
_KILL = """\
pids=$(grep -lzx 'THALWEG_POD={pod}' /proc/[0-9]*/environ 2>/dev/null | cut -d/ -f3)
test -n "$pids"
kill -9 $pids
"""
"""Run on the node: there every container's processes are seen."""
_TURN = """\
import sys, urllib.request
request = urllib.request.Request("http://127.0.0.1:{port}/rate", data=sys.argv[1].encode())
urllib.request.urlopen(request, timeout=5).read()
"""


class Stream(Topology):
    """One StreamTopology whose workers move tuples."""

    def __init__(self, cluster: KindCluster, namespace: str, name: str, image: str) -> None:
        """Nothing is applied yet."""
        super().__init__(cluster, namespace, name, image)
        self.spec: dict[str, Any] = {}

    def example(
        self, file: str, arguments: Sequence[str] = (), **changes: object
    ) -> dict[str, Any]:
        """The spec of an example, with this bed's image and these arguments more."""
        spec: dict[str, Any] = yaml.safe_load((_EXAMPLES / f"{file}.yaml").read_text())["spec"]
        for vertex in spec["vertices"]:
            # Vertices of an example share a template; here each gets its own.
            vertex["template"] = json.loads(json.dumps(vertex["template"]))
            (container,) = vertex["template"]["spec"]["containers"]
            container |= {"image": self._image, "imagePullPolicy": "Never"}
            container["args"] = [*container["args"], _LAST_SCRAPE, *arguments]
            container["resources"] = {"requests": {"cpu": "20m", "memory": "48Mi"}}
        return spec | changes

    def submit(self, spec: Mapping[str, Any]) -> None:
        """Apply a spec."""
        self.spec = dict(spec)
        self._cluster.apply(
            {
                "apiVersion": "thalweg.dev/v1alpha1",
                "kind": "StreamTopology",
                "metadata": {"name": self.name, "namespace": self.namespace},
                "spec": self.spec,
            }
        )

    def tasks(self) -> int:
        """How many tasks it begins with."""
        return sum(vertex["replicas"]["initial"] for vertex in self.spec["vertices"])

    def metrics(self, pod: Mapping[str, Any]) -> dict[str, float]:
        """Sum up a pod's series by name, as it tells them now."""
        found: dict[str, float] = {}
        for sample in self._samples(pod):
            found[sample.name] = found.get(sample.name, 0.0) + sample.value
        return found

    def sent(self, pod: Mapping[str, Any]) -> dict[str, float]:
        """How many tuples a pod has sent to each task."""
        return {
            sample.labels["to_task"]: sample.value
            for sample in self._samples(pod)
            if sample.name == "thalweg_tuples_total"
        }

    def _samples(self, pod: Mapping[str, Any]) -> list[Any]:
        of = f"/api/v1/namespaces/{self.namespace}/pods/{pod['metadata']['name']}:{_PORT}"
        text = self._cluster.kubectl("get", "--raw", f"{of}/proxy/metrics")
        families = text_string_to_metric_families(text)
        return [sample for family in families for sample in family.samples]

    def scale(self, vertex: str, replicas: int) -> None:
        """Set how many tasks a vertex has."""
        name = f"streamvertex/{self.name}-{vertex}"
        self._cluster.kubectl("scale", name, f"--replicas={replicas}", "-n", self.namespace)

    def end(self, pod: Mapping[str, Any]) -> None:
        """Delete a pod, which is then asked to end and drains."""
        name = pod["metadata"]["name"]
        self._cluster.kubectl("delete", "pod", name, "-n", self.namespace, "--wait=false")

    def kill(self, pod: Mapping[str, Any]) -> None:
        """SIGKILL a worker's process; the kubelet starts another in the same pod.

        Not by `kubectl delete --force`: even then the kubelet sends SIGTERM first.
        """
        script = _KILL.format(pod=pod["metadata"]["name"])
        self._cluster.engine.shell(pod["spec"]["nodeName"], script)

    def turn(self, pod: Mapping[str, Any], *, factor: float) -> None:
        """Let a source make so many times as many tuples as it was told at its start."""
        words = ("python3", "-c", _TURN.format(port=_PORT), json.dumps({"factor": factor}))
        name = pod["metadata"]["name"]
        self._cluster.kubectl("exec", "-n", self.namespace, name, "--", *words)

    def followed(self, vertex: str) -> int:
        """The version of the routes that every pod of a vertex sends by at least."""
        pods = [pod for task, pod in self.pods().items() if task.rpartition("-")[0] == vertex]
        told = (self.metrics(pod).get("thalweg_routes_version", 0.0) for pod in pods)
        return int(min(told, default=0.0))

    def until_routed(self, vertex: str, to: str, replicas: int) -> int:
        """Wait until a vertex sends to so many tasks, all of them Ready; give that version."""
        wanted = {f"{to}-{index}" for index in range(replicas)}

        def version() -> int | None:
            routes, pods = self.routes(vertex), self.pods()
            (edge,) = (one for one in routes["edges"] if one["to"] == to)
            there = {task for task in pods if task.rpartition("-")[0] == to}
            is_done = {task["name"] for task in edge["tasks"]} == there == wanted
            is_served = all(is_ready(pods[task]) for task in there)
            return int(routes["version"]) if is_done and is_served else None

        found = eventually(
            version, timeout_s=_LONG_S, what=f"routes to {replicas} of {to}", show=self.show
        )
        assert found is not None
        return found

    def until_measured(self) -> None:
        """Wait until the operator calls what it has measured good enough to decide by."""

        def is_available() -> bool:
            status = self.status()
            kinds = {one["type"]: one["status"] for one in status.get("conditions") or ()}
            return kinds.get("MetricsAvailable") == "True"

        eventually(
            is_available, timeout_s=_LONG_S, every_s=1.0, what="measurements", show=self.show
        )

    def status(self) -> dict[str, Any]:
        """What the topology says of itself."""
        found = self._cluster.get("streamtopology", self.name, "-n", self.namespace)
        return dict(found.get("status") or {})

    def plans(self) -> list[dict[str, Any]]:
        """Its plans, the oldest first."""
        found = self._cluster.get("streamplans", "-n", self.namespace)["items"]
        mine = [plan for plan in found if plan["metadata"]["name"].startswith(f"{self.name}-")]
        return sorted(mine, key=lambda plan: int(plan["metadata"]["name"].rpartition("-")[2]))

    def routes(self, vertex: str) -> dict[str, Any]:
        """The routes of a sending vertex."""
        (text,) = self._routes_map(vertex)["data"].values()
        found: dict[str, Any] = json.loads(text)
        return found

    def weigh(self, vertex: str, to: str, weights: Sequence[float]) -> int:
        """Give the tasks of an edge these weights, in turn; return the routes' new version.

        Weights stand in the routes: the operator keeps them and tells the senders. It writes the
        same object, so what it wrote in between is read again rather than overwritten.
        """

        def written() -> int | None:
            held = self._routes_map(vertex)
            ((key, text),) = held["data"].items()
            routes = json.loads(text)
            (edge,) = (one for one in routes["edges"] if one["to"] == to)
            for task, weight in zip(edge["tasks"], cycle(weights), strict=False):
                task["weight"] = weight
            routes["version"] += 1
            metadata = held["metadata"]
            patch = {
                "metadata": {"resourceVersion": metadata["resourceVersion"]},
                "data": {key: json.dumps(routes)},
            }
            words = ("configmap", metadata["name"], "-n", self.namespace, "-p", json.dumps(patch))
            try:
                self._cluster.kubectl("patch", *words)
            except CommandFailed as error:
                if "Conflict" not in str(error) and "modified" not in str(error):
                    raise
                return None
            return int(routes["version"])

        version = eventually(written, timeout_s=_LONG_S, what=f"weights from {vertex} to {to}")
        assert version is not None
        return version

    def _routes_map(self, vertex: str) -> dict[str, Any]:
        name = f"{self.name}-{vertex}-routes"
        found: dict[str, Any] = self._cluster.get("configmap", name, "-n", self.namespace)
        return found
