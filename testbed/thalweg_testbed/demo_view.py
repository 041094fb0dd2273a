"""What `make demo` shows of a topology: one table, made anew for each look."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from rich.table import Table

from thalweg_testbed.cluster import Cluster

_ZONE = "topology.kubernetes.io/zone"
_VERTEX = "thalweg.dev/vertex"


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """A topology at one moment."""

    replicas: dict[str, int]
    by_domain: dict[str, dict[str, int]]
    """Domain to vertex to ready tasks."""
    latency: str
    throughput: str
    cross_domain: str
    ready: str
    decisions: tuple[str, ...]
    """Newest last."""

    def line(self) -> str:
        """For a terminal that is none."""
        where = " ".join(
            f"{domain}:{sum(counts.values())}" for domain, counts in self.by_domain.items()
        )
        tasks = " ".join(f"{vertex}={count}" for vertex, count in self.replicas.items())
        return (
            f"tasks {self.ready} ({tasks})  by domain {where}  latency {self.latency}  "
            f"throughput {self.throughput}  cross-domain {self.cross_domain}"
        )

    def table(self, title: str) -> Table:
        """For a terminal that is one."""
        table = Table("domain", *self.replicas, title=title, caption=self._caption())
        for domain, counts in self.by_domain.items():
            cells = ("■" * counts.get(vertex, 0) for vertex in self.replicas)
            table.add_row(domain, *cells)
        table.add_section()
        table.add_row("tasks", *(str(count) for count in self.replicas.values()))
        return table

    def _caption(self) -> str:
        figures = (
            f"ready {self.ready} · latency {self.latency} · throughput {self.throughput} · "
            f"cross-domain {self.cross_domain}"
        )
        return "\n".join((figures, *self.decisions[-4:]))


def look_at(cluster: Cluster, name: str) -> Look:
    """Read the topology, its vertices and its pods."""
    nodes = {
        node["metadata"]["name"]: node["metadata"]["labels"][_ZONE]
        for node in cluster.get("nodes")["items"]
    }
    topology = cluster.get("stopo", name, "-n", "default")
    vertices = [vertex["name"] for vertex in topology["spec"]["vertices"]]
    pods = cluster.get("pods", "-n", "default", "-l", f"thalweg.dev/topology={name}")["items"]
    counts = Counter(
        (nodes[pod["spec"]["nodeName"]], pod["metadata"]["labels"][_VERTEX])
        for pod in pods
        if _counts(pod)
    )
    status = topology.get("status") or {}
    measured = status.get("measured") or {}
    return Look(
        replicas={
            vertex["name"]: vertex.get("desired", 0) for vertex in status.get("vertices") or ()
        }
        or dict.fromkeys(vertices, 0),
        by_domain={
            domain: {vertex: counts[domain, vertex] for vertex in vertices}
            for domain in sorted(set(nodes.values()))
        },
        latency=measured.get("latency", "–"),
        throughput=measured.get("throughput", "–"),
        cross_domain=measured.get("crossDomain", "–"),
        ready=(status.get("tasks") or {}).get("summary", "–"),
        decisions=tuple(
            f"{one['at'][11:19]} {one['message']}"
            for one in reversed(status.get("decisions") or ())
        ),
    )


def _counts(pod: dict[str, Any]) -> bool:
    """Whether the pod is a task's present one: active, bound, not on its way out."""
    is_active = pod["metadata"]["labels"].get("thalweg.dev/state") == "active"
    return bool(
        is_active and pod["spec"].get("nodeName") and not pod["metadata"].get("deletionTimestamp")
    )
