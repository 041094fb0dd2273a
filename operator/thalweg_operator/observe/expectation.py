"""Which series ought to be there, so that the share that is there can be known."""

from collections.abc import Iterable
from typing import Any

from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.observe.facts import NodeFact, PodFact, tasks_in


def expected_topology(
    namespace: str, name: str, spec: TopologySpec, pods: Iterable[PodFact]
) -> dict[str, Any]:
    """The tasks of a topology that run, with the pods they run in, and the edges between them."""
    by_vertex: dict[str, list[dict[str, Any]]] = {vertex.name: [] for vertex in spec.vertices}
    for pod in sorted(pods, key=lambda pod: pod.name):
        for task in tasks_in(pod) if pod.is_ready else ():
            if task.vertex in by_vertex:
                by_vertex[task.vertex].append(
                    {
                        "name": task.name,
                        "pod": pod.name,
                        "node": pod.node or "",
                        "since_s": pod.created_at_s,
                    }
                )
    return {
        "namespace": namespace,
        "name": name,
        "vertices": [{"name": vertex, "tasks": tasks} for vertex, tasks in by_vertex.items()],
        "edges": [
            {"from": edge.source, "to": edge.target, "grouping": str(edge.grouping.type)}
            for edge in spec.edges
        ],
    }


def expected(topologies: Iterable[dict[str, Any]], nodes: Iterable[NodeFact]) -> dict[str, Any]:
    """The whole expectation of one metrics source."""
    ready = {node.name: node for node in nodes if node.is_ready}
    return {
        "topologies": list(topologies),
        "nodes": sorted(ready),
        "allocatable": {
            name: {
                resource: ready[name].allocatable[resource]
                for resource in ("cpu", "memory")
                if resource in ready[name].allocatable
            }
            for name in sorted(ready)
        },
    }
