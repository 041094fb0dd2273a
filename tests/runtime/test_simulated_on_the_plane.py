"""The program beside a real API server: metrics follow the pods that are there."""

import http.client
import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from thalweg_runtime.simulated.reading import Reader, server_of
from thalweg_simulated_scenes import Sample, samples_of, total
from thalweg_stories import Story, word_count
from thalweg_testbed import Cluster, eventually

pytestmark = pytest.mark.control_plane

TASKS = {"read-0": "a-0", "split-0": "a-1", "count-0": "a-2"}


class Program:
    """The simulated data plane as its own process."""

    def __init__(self, kubeconfig: Path, namespace: str, log: Path) -> None:
        self._log = log
        command = [sys.executable, "-m", "thalweg_runtime.simulated", "--port", "0"]
        command += ["--kubeconfig", str(kubeconfig), "--namespace", namespace]
        command += ["--profile", "400", "--seed", "3", "--read-every-s", "0.5"]
        with log.open("wb") as file:
            self.process = subprocess.Popen(command, stderr=file, stdout=file)
        self.port = eventually(self._port, what="the program's port", timeout_s=120)

    def _port(self) -> int:
        found = re.search(r"http://127\.0\.0\.1:(\d+)/", self._log.read_text())
        return int(found.group(1)) if found else 0

    def ask(self, method: str, path: str, body: object = None) -> str:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, body=None if body is None else json.dumps(body))
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def scrape(self) -> list[Sample]:
        return list(samples_of(self.ask("GET", "/metrics")))

    def topology(self) -> Mapping[str, Any]:
        found = json.loads(self.ask("GET", "/state"))["topologies"]
        return dict(found[0]) if found and found[0]["latency_s"] else {}


@pytest.fixture
def program(control_plane: Cluster, namespace: str, tmp_path: Path) -> Iterator[Program]:
    running = Program(control_plane.kubeconfig, namespace, tmp_path / "simulated.log")
    yield running
    running.process.terminate()
    assert running.process.wait(60) == 0


def apply_pod(cluster: Cluster, namespace: str, task: str, node: str, incarnation: int) -> str:
    vertex, _, index = task.rpartition("-")
    name = f"word-count-{task}-{incarnation}"
    labels = {"topology": "word-count", "vertex": vertex, "task": index, "state": "active"}
    labels["incarnation"] = str(incarnation)
    cluster.apply(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "labels": {
                    "app.kubernetes.io/managed-by": "thalweg",
                    **{f"thalweg.dev/{key}": value for key, value in labels.items()},
                },
            },
            "spec": {
                "nodeName": node,
                "containers": [{"name": "worker", "image": "example.org/worker:1"}],
                "tolerations": [{"operator": "Exists"}],
            },
        }
    )
    return name


def test_a_moved_pod_changes_latency_and_traffic_between_domains(
    control_plane: Cluster, namespace: str, program: Program
) -> None:
    topology = word_count()
    topology["metadata"]["namespace"] = namespace
    control_plane.apply(topology)
    names = {
        task: apply_pod(control_plane, namespace, task, node, 0) for task, node in TASKS.items()
    }
    near = eventually(
        lambda: program.topology() if program.topology().get("tasks") == 3 else {},
        what="three tasks in the metrics",
        timeout_s=120,
    )
    assert near["cross_domain_share"] == 0
    pods = {sample.labels["pod"] for sample in program.scrape() if "pod" in sample.labels}
    assert pods == set(names.values())

    control_plane.kubectl("delete", "pod", "-n", namespace, names["count-0"], "--wait=false")
    moved = apply_pod(control_plane, namespace, "count-0", "b-0", 1)
    far = eventually(
        lambda: program.topology() if program.topology().get("cross_domain_share") else {},
        what="the moved pod in the metrics",
        timeout_s=120,
    )
    assert far["cross_domain_share"] == pytest.approx(0.5)
    assert far["latency_s"] > near["latency_s"] + 0.002
    samples = program.scrape()
    assert total(samples, "thalweg_tuples_total", to_task="count-0") > 0
    assert total(samples, "thalweg_latency_seconds_count", pod=moved) > 0
    assert total(samples, "thalweg_latency_seconds_count", pod=names["count-0"]) == 0

    program.ask("POST", "/rate", {"factor": 0})
    eventually(lambda: program.topology() == {}, what="nothing flowing any more", timeout_s=120)


def test_pods_and_routes_that_the_operator_made_are_understood(
    control_plane: Cluster, namespace: str
) -> None:
    story = Story(control_plane, namespace)
    try:
        story.apply(word_count())
        story.until_ready("word-count")
        reader = Reader(server_of(control_plane.kubeconfig), namespace=namespace, topology=None)
        story.until_still()
        (topology,) = reader.read().topologies
        reader.close()
    finally:
        story.close()
    assert [pod.task for pod in topology.pods] == [
        *("read-0", "split-0", "split-1", "count-0", "count-1")
    ]
    to_split, to_count = topology.edges
    assert set(to_split.receivers or {}) == {"split-0", "split-1"}
    receivers = to_count.receivers or {}
    assert [receivers[f"count-{index}"].key_groups for index in range(2)] == [
        ((0, 511),),
        ((512, 1023),),
    ]
    assert topology.routes_versions.keys() == {"read", "split"}
