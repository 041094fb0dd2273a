"""The pod of a task, as a pure function of the user's template and the plan."""

import hashlib
import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey

ROUTES_DIRECTORY = "/etc/thalweg/routes"
ROUTES_KEY = "routes.json"
_ROUTES_VOLUME = "thalweg-routes"
# Raised when what the operator adds to a template changes, so that running pods get it too.
_SHAPE = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """The object whose end is also the end of what it owns."""

    api_version: str
    kind: str
    name: str
    uid: str

    def reference(self) -> dict[str, Any]:
        """As it stands in metadata.ownerReferences."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "name": self.name,
            "uid": self.uid,
            "controller": True,
            "blockOwnerDeletion": True,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Berth:
    """Where a pod may run: a node of a domain, any node of it, or any node that has a domain."""

    domain_label: str
    domain: str | None = None
    node: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PodOrder:
    """All that a task's pod is made from."""

    namespace: str
    topology: str
    task: TaskKey
    incarnation: int
    template: Mapping[str, Any]
    sends: bool
    """Whether the vertex has out-edges, and so needs routes."""
    berth: Berth
    planned_node: str | None
    owner: Owner


def template_hash(template: Mapping[str, Any], *, sends: bool) -> str:
    """Changes exactly when running pods have to be replaced."""
    text = json.dumps([_SHAPE, sends, dict(template)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def pod_manifest(order: PodOrder) -> dict[str, Any]:
    """The pod that the API server is asked for."""
    template = deepcopy(dict(order.template))
    metadata = template.get("metadata") or {}
    spec = template.get("spec") or {}
    spec["affinity"] = {**(spec.get("affinity") or {}), "nodeAffinity": _node_affinity(spec, order)}
    spec["restartPolicy"] = "Always"
    _equip(spec, order)
    annotations = dict(metadata.get("annotations") or {})
    if order.planned_node is not None:
        annotations[naming.PLANNED_NODE] = order.planned_node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": naming.pod_name(order.topology, order.task, order.incarnation),
            "namespace": order.namespace,
            "labels": {**(metadata.get("labels") or {}), **_labels(order)},
            "annotations": annotations,
            "ownerReferences": [order.owner.reference()],
        },
        "spec": spec,
    }


def _labels(order: PodOrder) -> dict[str, str]:
    return {
        **naming.common_labels(order.topology),
        naming.VERTEX: order.task.vertex,
        naming.TASK: str(order.task.index),
        naming.INCARNATION: str(order.incarnation),
        naming.STATE: naming.ACTIVE,
        naming.TEMPLATE_HASH: template_hash(order.template, sends=order.sends),
    }


def _node_affinity(spec: Mapping[str, Any], order: PodOrder) -> dict[str, Any]:
    """The user's own node affinity, narrowed to the berth.

    Terms are alternatives, so the berth goes into every one of them; but an empty term matches no
    node, and must not begin to.
    """
    own = deepcopy(((spec.get("affinity") or {}).get("nodeAffinity")) or {})
    required = own.get("requiredDuringSchedulingIgnoredDuringExecution")
    if required is None:
        terms = [_narrowed({}, order.berth)]
    else:
        terms = [
            _narrowed(term, order.berth) if any(term.values()) else term
            for term in required.get("nodeSelectorTerms") or ()
        ]
    own["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": terms}
    return own


def _narrowed(term: Mapping[str, Any], berth: Berth) -> dict[str, Any]:
    made = dict(term)
    made["matchExpressions"] = [*(term.get("matchExpressions") or []), _in_domain(berth)]
    if berth.node is not None:
        name = {"key": "metadata.name", "operator": "In", "values": [berth.node]}
        made["matchFields"] = [*(term.get("matchFields") or []), name]
    return made


def _in_domain(berth: Berth) -> dict[str, Any]:
    if berth.domain is None:
        return {"key": berth.domain_label, "operator": "Exists"}
    return {"key": berth.domain_label, "operator": "In", "values": [berth.domain]}


def _equip(spec: dict[str, Any], order: PodOrder) -> None:
    """Tell the first container who it is, and where its routes are.

    The CRD refuses the names that are used here; where one slips through, ours wins. Our variables
    come first, so that the user's own can refer to them.
    """
    worker = spec["containers"][0]
    worker.setdefault("name", "worker")
    worker["env"] = _joined(_environment(order), worker.get("env"), key="name")
    if not order.sends:
        return
    routes = {"name": naming.routes_object(order.topology, order.task.vertex), "optional": True}
    volume = {"name": _ROUTES_VOLUME, "configMap": routes}
    mount = {"name": _ROUTES_VOLUME, "mountPath": ROUTES_DIRECTORY, "readOnly": True}
    spec["volumes"] = _joined([volume], spec.get("volumes"), key="name")
    worker["volumeMounts"] = _joined([mount], worker.get("volumeMounts"), key="mountPath")


def _joined(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]] | None, *, key: str
) -> list[dict[str, Any]]:
    taken = {one[key] for one in ours}
    return [*ours, *(one for one in theirs or () if one.get(key) not in taken)]


def _environment(order: PodOrder) -> list[dict[str, Any]]:
    words = {
        "THALWEG_TOPOLOGY": order.topology,
        "THALWEG_VERTEX": order.task.vertex,
        "THALWEG_TASK": order.task.name,
        "THALWEG_INCARNATION": str(order.incarnation),
        "THALWEG_DOMAIN": order.berth.domain or "",
    }
    if order.sends:
        words["THALWEG_ROUTES"] = f"{ROUTES_DIRECTORY}/{ROUTES_KEY}"
    fields = {
        "THALWEG_NODE": "spec.nodeName",
        "THALWEG_POD": "metadata.name",
        "THALWEG_NAMESPACE": "metadata.namespace",
    }
    return [{"name": name, "value": value} for name, value in words.items()] + [
        {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}
        for name, path in fields.items()
    ]
