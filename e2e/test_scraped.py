"""Prometheus in the cluster: it finds workers and kubelets by itself and tells who said what."""

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.monitoring import Prometheus
from thalweg_testbed.kind.topologies import Topology


def test_every_worker_is_scraped(
    topology: Topology, prometheus: Prometheus, namespace: str
) -> None:
    topology.apply({"read": 1, "count": 3})
    names = {pod["metadata"]["name"] for pod in topology.settled(4).values()}

    def scraped() -> bool:
        series = prometheus.query(f'thalweg_processed_total{{namespace="{namespace}"}}')
        found = {one["metric"]["pod"]: one["metric"] for one in series}
        tasks = {metric["task"] for metric in found.values()}
        return set(found) == names and tasks == {"read-0", "count-0", "count-1", "count-2"}

    assert eventually(scraped, timeout_s=120, what="all workers in Prometheus")


def test_every_kubelet_tells_what_containers_use(prometheus: Prometheus, kind: KindCluster) -> None:
    def told() -> bool:
        series = prometheus.query("container_cpu_usage_seconds_total{container!=''}")
        return {one["metric"]["node"] for one in series} == {node.name for node in kind.nodes}

    assert eventually(told, timeout_s=120, what="containers of every node in Prometheus")
