"""What a topology owns besides pods, as it should be: vertices, budgets, routes, its last spec."""

import json
from collections.abc import Mapping
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import ROUTES_KEY, Owner
from thalweg_operator.api.topology import VertexSpec

SPEC_KEY = "spec.json"
GENERATION_KEY = "generation"


def owner_of(found: Mapping[str, Any]) -> Owner:
    """A topology or a vertex as the owner of others."""
    return Owner(
        api_version=found["apiVersion"],
        kind=found["kind"],
        name=found["metadata"]["name"],
        uid=found["metadata"]["uid"],
    )


def vertex_manifest(
    namespace: str, owner: Owner, vertex: VertexSpec, replicas: int
) -> dict[str, Any]:
    """The StreamVertex: what the topology says of the vertex, and the replicas it has now."""
    name = naming.vertex_object(owner.name, vertex.name)
    return {
        "metadata": _metadata(namespace, name, owner, vertex.name),
        "spec": {
            "topology": owner.name,
            "vertex": vertex.name,
            "replicas": replicas,
            "min": vertex.replicas.min,
            "max": vertex.replicas.max,
        },
    }


def clamped(replicas: int, vertex: VertexSpec) -> int:
    """As many tasks as there are, within the bounds of the topology."""
    return min(max(replicas, vertex.replicas.min), vertex.replicas.max)


def budget_manifest(namespace: str, owner: Owner, topology: str, vertex: str) -> dict[str, Any]:
    """One pod of a vertex at a time may be evicted by others, and any that does not serve anyway.

    Without the latter a task that cannot start would keep its node from ever being drained.
    """
    metadata = _metadata(namespace, naming.vertex_object(topology, vertex), owner, vertex, topology)
    return {
        "metadata": metadata,
        "spec": {
            "maxUnavailable": 1,
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {"matchLabels": naming.active_selector(topology, vertex)},
        },
    }


def shared_budget_manifest(namespace: str, owner: Owner, processes: int) -> dict[str, Any]:
    """One pod of a topology at a time, of those that tasks share.

    A StreamTopology has no scale to take a share of, so the budget names the number itself.
    """
    shared = {"key": naming.PROCESS, "operator": "Exists"}
    return {
        "metadata": _metadata(namespace, naming.processes_object(owner.name), owner, None),
        "spec": {
            "minAvailable": max(0, processes - 1),
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
            "selector": {
                "matchLabels": {naming.TOPOLOGY: owner.name, naming.STATE: naming.ACTIVE},
                "matchExpressions": [shared],
            },
        },
    }


def routes_manifest(
    namespace: str, owner: Owner, topology: str, vertex: str, text: str
) -> dict[str, Any]:
    """The ConfigMap that the vertex's pods mount."""
    name = naming.routes_object(topology, vertex)
    return {
        "metadata": _metadata(namespace, name, owner, vertex, topology),
        "data": {ROUTES_KEY: text},
    }


def last_valid_manifest(
    namespace: str, owner: Owner, spec: Mapping[str, Any], generation: int
) -> dict[str, Any]:
    """The spec that stays in force if the next one is wrong."""
    return {
        "metadata": _metadata(namespace, naming.last_valid_object(owner.name), owner, None),
        "data": {
            SPEC_KEY: json.dumps(spec, sort_keys=True, separators=(",", ":")),
            GENERATION_KEY: str(generation),
        },
    }


def _metadata(
    namespace: str, name: str, owner: Owner, vertex: str | None, topology: str | None = None
) -> dict[str, Any]:
    labels = naming.common_labels(topology or owner.name)
    if vertex is not None:
        labels[naming.VERTEX] = vertex
    return {
        "name": name,
        "namespace": namespace,
        "labels": labels,
        "ownerReferences": [owner.reference()],
    }
