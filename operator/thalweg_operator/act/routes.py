"""Which tasks a vertex sends to: the file that every sender reads (docs/routes.schema.json)."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import ROUTES_KEY
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import PodFact
from thalweg_scheduling.group.keys import KEY_GROUPS


@dataclass(frozen=True, slots=True, kw_only=True)
class Receiver:
    """A task that tuples can be sent to now."""

    task: TaskKey
    incarnation: int
    address: str
    node: str
    domain: str


Place = tuple[str, str]
"""A node and its domain."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoutedEdge:
    """One out-edge with the receivers that serve at the moment."""

    to: str
    grouping: Mapping[str, Any]
    replicas: int
    receivers: tuple[Receiver, ...]
    weights: Mapping[str, float] = field(default_factory=dict)
    """Task to weight; a task that is not in it gets as much as the others on average."""
    senders: tuple[Place, ...] = ()
    """The node and the domain of each sending task."""


def receiver_of(task: TaskKey, pod: PodFact, domains: Mapping[str, str]) -> Receiver | None:
    """The receiver that a serving pod is; None before it has an address."""
    if pod.pod_ip is None or pod.node is None:
        return None
    return Receiver(
        task=task,
        incarnation=naming.incarnation_of(pod.labels),
        address=pod.pod_ip,
        node=pod.node,
        domain=domains.get(pod.node, ""),
    )


def routes_document(
    topology: str, vertex: str, edges: Sequence[RoutedEdge], before: str | None, *, now_s: float
) -> str:
    """The file's text. Its version rises by one when anything else in it changes.

    Receivers remember the highest version that they were told, and outlive the file: it goes with
    its vertex, or with the vertex' last edge. So a file without one before it begins at the time,
    in milliseconds: no file changes that often, so none before it came as far.
    """
    content = {
        "topology": topology,
        "vertex": vertex,
        "edges": [_edge(edge) for edge in edges],
    }
    old = _parsed(before or "")
    seen = _version(old.pop("version", 0))
    version = seen + 1 if seen else max(1, int(now_s * 1000))
    if seen and old == content:
        version = seen
    return json.dumps({"version": version, **content}, separators=(",", ":"))


def key_groups(index: int, replicas: int) -> list[int]:
    """The first and the last key group of a task: whole groups, dealt out as evenly as possible.

    >>> key_groups(0, 3), key_groups(2, 3)
    ([0, 341], [683, 1023])
    """
    first = -(-index * KEY_GROUPS // replicas)
    last = -(-(index + 1) * KEY_GROUPS // replicas) - 1
    return [first, last]


def routes_text(config_map: Mapping[str, Any] | None) -> str | None:
    """The document inside a ConfigMap."""
    if config_map is None:
        return None
    text = (config_map.get("data") or {}).get(ROUTES_KEY)
    return str(text) if text is not None else None


def routes_version(text: str) -> int:
    """The version of a document's text."""
    return _version(_parsed(text).get("version"))


def routed_weights(text: str | None, to: str, grouping: Mapping[str, Any]) -> dict[str, float]:
    """The weights of an edge's tasks in a document; none where it was grouped otherwise."""
    for edge in _parsed(text or "").get("edges") or ():
        if isinstance(edge, dict) and (edge.get("to"), edge.get("grouping")) == (to, grouping):
            return {
                str(task["name"]): float(task["weight"])
                for task in edge.get("tasks") or ()
                if isinstance(task, dict) and _is_weight(task.get("weight")) and "name" in task
            }
    return {}


def _is_weight(found: object) -> bool:
    return type(found) in (int, float) and isinstance(found, int | float) and found >= 0


def _weight(weights: Mapping[str, float], task: str) -> float:
    """Whole numbers stay whole, so that a document that did not change is the same text."""
    weight = weights.get(task)
    if weight is None:
        weight = sum(weights.values()) / len(weights) if weights else 1.0
    return int(weight) if float(weight).is_integer() else round(weight, 3)


def _edge(edge: RoutedEdge) -> dict[str, Any]:
    told: dict[str, Any] = {
        "to": edge.to,
        "grouping": dict(edge.grouping),
        "tasks": [_task(edge, receiver) for receiver in edge.receivers],
    }
    if edge.grouping.get("type") == "NearSource":
        # Each sender has to know how many others keep to the receivers beside it.
        told["senders"] = [
            {"node": node, "domain": domain, "tasks": count}
            for (node, domain), count in sorted(Counter(edge.senders).items())
        ]
    return told


def _task(edge: RoutedEdge, receiver: Receiver) -> dict[str, Any]:
    task: dict[str, Any] = {
        "name": receiver.task.name,
        "incarnation": receiver.incarnation,
        "address": receiver.address,
        "node": receiver.node,
        "domain": receiver.domain,
        "weight": _weight(edge.weights, receiver.task.name),
    }
    if edge.grouping.get("type") == "Fields":
        task["keyGroups"] = [key_groups(receiver.task.index, edge.replicas)]
    return task


def _version(found: object) -> int:
    """The version of a document; 0 for one that is no version."""
    return found if type(found) is int and found > 0 else 0


def _parsed(text: str) -> dict[str, Any]:
    """A document that somebody spoilt counts as version 0, so it is written anew."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
