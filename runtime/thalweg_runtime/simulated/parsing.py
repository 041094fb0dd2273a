"""API objects to facts. What somebody has spoilt is left out, never guessed."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from thalweg_runtime.simulated.facts import (
    EdgeFact,
    NodeFact,
    PodFact,
    Receiver,
    TopologyFact,
    World,
)
from thalweg_scheduling.model.graph import GroupingType

ZONE_LABEL = "topology.kubernetes.io/zone"
TRAITS_PREFIX = "simulated.thalweg.dev/"
TRAITS = ("service_us", "held_us", "selectivity", "bytes", "skew")

_LABEL = "thalweg.dev/"
_ROUTES_KEY = "routes.json"
_MILLI = 1000.0

Object = Mapping[str, Any]


def world_of(
    *,
    topologies: Iterable[Object],
    pods: Iterable[Object],
    config_maps: Iterable[Object],
    nodes: Iterable[Object],
) -> World:
    """Put together what was listed."""
    known = tuple(sorted((_node(node) for node in nodes), key=lambda node: node.name))
    names = {node.name for node in known}
    running: dict[tuple[str, str], list[PodFact]] = {}
    for obj in pods:
        working = [pod for pod in _pods(obj) if pod.node in names]
        running.setdefault(_owner(obj), []).extend(working)
    routes: dict[tuple[str, str], dict[str, Object]] = {}
    for obj in config_maps:
        document = _routes(obj)
        if document is not None:
            routes.setdefault(_owner(obj), {})[str(document["vertex"])] = document
    found = []
    for obj in topologies:
        key = obj["metadata"]["namespace"], obj["metadata"]["name"]
        found.append(_topology(obj, running.get(key, []), routes.get(key, {})))
    return World(nodes=known, topologies=tuple(sorted(found, key=lambda one: one.key)))


def _owner(obj: Object) -> tuple[str, str]:
    metadata = obj["metadata"]
    return metadata["namespace"], (metadata.get("labels") or {}).get(f"{_LABEL}topology", "")


def _node(obj: Object) -> NodeFact:
    allocatable = (obj.get("status") or {}).get("allocatable") or {}
    return NodeFact(
        name=obj["metadata"]["name"],
        labels=obj["metadata"].get("labels") or {},
        cores=cores_of(str(allocatable.get("cpu", "1"))),
    )


def cores_of(quantity: str) -> float:
    """Cores of a Kubernetes quantity; 1 where it cannot be read.

    >>> cores_of("4"), cores_of("1500m")
    (4.0, 1.5)
    """
    try:
        if quantity.endswith("m"):
            return float(quantity[:-1]) / _MILLI
        return float(quantity)
    except ValueError:
        return 1.0


def _pods(obj: Object) -> list[PodFact]:
    """What works in a pod that is active, ready, on a node and not being deleted.

    That is one task by its labels, or each of those that share it by its annotation.
    """
    metadata, labels = obj["metadata"], obj["metadata"].get("labels") or {}
    node = (obj.get("spec") or {}).get("nodeName")
    works = labels.get(f"{_LABEL}state") == "active" and "deletionTimestamp" not in metadata
    if not (works and node and _is_ready(obj)):
        return []
    incarnation = labels.get(f"{_LABEL}incarnation", "")
    alone = [(labels.get(f"{_LABEL}vertex", ""), labels.get(f"{_LABEL}task", ""))]
    shared = (metadata.get("annotations") or {}).get(f"{_LABEL}tasks", "")
    parted = [name.rpartition("-") for name in shared.split(",")]
    is_shared = f"{_LABEL}process" in labels
    return [
        PodFact(
            name=metadata["name"],
            # Counters are kept by it, and each task has its own.
            uid=f"{metadata['uid']}/{vertex}-{index}" if is_shared else metadata["uid"],
            vertex=vertex,
            index=int(index),
            incarnation=int(incarnation) if incarnation.isdecimal() else 0,
            node=node,
        )
        for vertex, index in ([(one, three) for one, _, three in parted] if is_shared else alone)
        if index.isdecimal()
    ]


def _is_ready(obj: Object) -> bool:
    conditions = (obj.get("status") or {}).get("conditions") or ()
    return any((one["type"], one["status"]) == ("Ready", "True") for one in conditions)


def _routes(obj: Object) -> Object | None:
    """The document inside a ConfigMap, if it is one of routes."""
    try:
        document = json.loads((obj.get("data") or {}).get(_ROUTES_KEY, ""))
        return document if isinstance(document, dict) and "vertex" in document else None
    except (ValueError, RecursionError):
        return None


def _topology(obj: Object, running: list[PodFact], routes: Mapping[str, Object]) -> TopologyFact:
    spec = obj["spec"]
    vertices = tuple(str(vertex["name"]) for vertex in spec["vertices"])
    edges = tuple(_edge(edge, routes) for edge in spec.get("edges") or ())
    return TopologyFact(
        namespace=obj["metadata"]["namespace"],
        name=obj["metadata"]["name"],
        domain_label=(spec.get("placement") or {}).get("domainLabel") or ZONE_LABEL,
        vertices=vertices,
        edges=edges,
        pods=serving(vertices, edges, running),
        traits=_traits(obj["metadata"].get("annotations") or {}, vertices),
        routes_versions={
            vertex: document["version"]
            for vertex, document in routes.items()
            if isinstance(document.get("version"), int)
        },
    )


def _edge(edge: Object, routes: Mapping[str, Object]) -> EdgeFact:
    source, target = str(edge["from"]), str(edge["to"])
    grouping = GroupingType((edge.get("grouping") or {}).get("type", "Shuffle"))
    receivers = _receivers(routes.get(source) or {}, target)
    return EdgeFact(source=source, target=target, grouping=grouping, receivers=receivers)


def _receivers(document: Object, target: str) -> dict[str, Receiver] | None:
    """Who receives by a document; None for one that says nothing of the edge, or is spoilt."""
    try:
        for routed in document.get("edges") or ():
            if routed["to"] == target:
                return {str(task["name"]): _receiver(task) for task in routed["tasks"]}
    except (AttributeError, KeyError, TypeError, ValueError):
        return None
    return None


def _receiver(task: Object) -> Receiver:
    return Receiver(
        incarnation=int(task.get("incarnation", 0)),
        weight=float(task.get("weight", 1)),
        key_groups=tuple((int(first), int(last)) for first, last in task.get("keyGroups") or ()),
    )


def serving(
    vertices: tuple[str, ...], edges: Iterable[EdgeFact], running: Iterable[PodFact]
) -> tuple[PodFact, ...]:
    """The pod of each task that gets its tuples: the one that routes name, else the newest."""
    named = {
        (task, receiver.incarnation)
        for edge in edges
        for task, receiver in (edge.receivers or {}).items()
    }
    chosen: dict[str, PodFact] = {}
    for pod in sorted(
        running, key=lambda pod: ((pod.task, pod.incarnation) in named, pod.incarnation)
    ):
        chosen[pod.task] = pod
    place = {vertex: position for position, vertex in enumerate(vertices)}
    kept = [pod for pod in chosen.values() if pod.vertex in place]
    return tuple(sorted(kept, key=lambda pod: (place[pod.vertex], pod.index)))


def _traits(annotations: Mapping[str, str], vertices: Iterable[str]) -> dict[str, dict[str, float]]:
    found = {}
    for vertex in vertices:
        try:
            declared = json.loads(annotations.get(TRAITS_PREFIX + vertex, "{}"))
            found[vertex] = {name: float(declared[name]) for name in TRAITS if name in declared}
        except (ValueError, TypeError):
            found[vertex] = {}
    return found
