"""The pod of a task or of a process, as a pure function of the user's template and the plan."""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from thalweg_operator import naming
from thalweg_operator.naming import Process, TaskKey, Unit
from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.requests import enlarged

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
    """All that the pod of a task, or of a process that several share, is made from."""

    namespace: str
    topology: str
    task: Unit
    incarnation: int
    template: Mapping[str, Any]
    sends: bool
    """Whether the vertex has out-edges, and so needs routes; of a shared pod, whether any has."""
    berth: Berth
    planned_node: str | None
    owner: Owner
    senders: tuple[str, ...] = ()
    """Of a shared pod, the vertices that have out-edges."""
    before: tuple[PodFact, ...] = ()
    """Of a shared pod, those that run any of its tasks now: they know how far sources came."""


def template_hash(template: Mapping[str, Any], *, sends: bool) -> str:
    """Changes exactly when running pods have to be replaced."""
    text = json.dumps([_SHAPE, sends, dict(template)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def process_hash(template: Mapping[str, Any], process: Process, senders: Collection[str]) -> str:
    """The same for a shared pod: it also changes with the tasks that it runs, and who sends."""
    tasks = [[task.name, task.vertex in senders] for task in process.tasks]
    text = json.dumps([_SHAPE, tasks, dict(template)], sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def pod_manifest(order: PodOrder) -> dict[str, Any]:
    """The pod that the API server is asked for."""
    template = deepcopy(enlarged(order.template, len(order.task.tasks)))
    metadata = template.get("metadata") or {}
    spec = template.get("spec") or {}
    spec["affinity"] = {**(spec.get("affinity") or {}), "nodeAffinity": _node_affinity(spec, order)}
    spec["restartPolicy"] = "Always"
    _equip(spec, order)
    annotations = dict(metadata.get("annotations") or {})
    if order.planned_node is not None:
        annotations[naming.PLANNED_NODE] = order.planned_node
    if isinstance(order.task, Process):
        annotations[naming.TASKS] = ",".join(task.name for task in order.task.tasks)
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
    unit = order.task
    if isinstance(unit, Process):
        counts = Counter(task.vertex for task in unit.tasks)
        who = {f"{naming.HOSTS}{vertex}": str(count) for vertex, count in counts.items()}
        who[naming.PROCESS] = str(unit.index)
        made_of = process_hash(order.template, unit, order.senders)
    else:
        who = {naming.VERTEX: unit.vertex, naming.TASK: str(unit.index)}
        made_of = template_hash(order.template, sends=order.sends)
    return {
        **naming.common_labels(order.topology),
        **who,
        naming.INCARNATION: str(order.incarnation),
        naming.STATE: naming.ACTIVE,
        naming.TEMPLATE_HASH: made_of,
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
    volume = {"name": _ROUTES_VOLUME, **_routes(order)}
    mount = {"name": _ROUTES_VOLUME, "mountPath": ROUTES_DIRECTORY, "readOnly": True}
    spec["volumes"] = _joined([volume], spec.get("volumes"), key="name")
    worker["volumeMounts"] = _joined([mount], worker.get("volumeMounts"), key="mountPath")


def _routes(order: PodOrder) -> dict[str, Any]:
    """The routes of the vertex; in a shared pod one file for each vertex that sends."""
    unit = order.task
    if isinstance(unit, TaskKey):
        name = naming.routes_object(order.topology, unit.vertex)
        return {"configMap": {"name": name, "optional": True}}
    vertices = dict.fromkeys(task.vertex for task in unit.tasks)
    sources = [
        {
            "configMap": {
                "name": naming.routes_object(order.topology, vertex),
                "optional": True,
                "items": [{"key": ROUTES_KEY, "path": f"{vertex}.json"}],
            }
        }
        for vertex in vertices
        if vertex in order.senders
    ]
    return {"projected": {"sources": sources}}


def _joined(
    ours: list[dict[str, Any]], theirs: list[dict[str, Any]] | None, *, key: str
) -> list[dict[str, Any]]:
    taken = {one[key] for one in ours}
    return [*ours, *(one for one in theirs or () if one.get(key) not in taken)]


def _environment(order: PodOrder) -> list[dict[str, Any]]:
    words = {"THALWEG_TOPOLOGY": order.topology, "THALWEG_DOMAIN": order.berth.domain or ""}
    unit = order.task
    if isinstance(unit, Process):
        words["THALWEG_TASKS"] = _told_tasks(order, unit)
        if order.before:
            words["THALWEG_BEFORE"] = _told_before(order.before)
    else:
        words["THALWEG_VERTEX"] = unit.vertex
        words["THALWEG_TASK"] = unit.name
        words["THALWEG_INCARNATION"] = str(order.incarnation)
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


def _told_before(pods: Collection[PodFact]) -> str:
    told = [
        {"incarnation": naming.incarnation_of(pod.labels), "address": pod.pod_ip} for pod in pods
    ]
    return json.dumps(told, separators=(",", ":"))


def _told_tasks(order: PodOrder, process: Process) -> str:
    """Every task has the pod's incarnation: so routes tell who is in the same process."""
    told = [
        {
            "vertex": task.vertex,
            "task": task.name,
            "incarnation": order.incarnation,
            "routes": f"{ROUTES_DIRECTORY}/{task.vertex}.json"
            if task.vertex in order.senders
            else None,
        }
        for task in process.tasks
    ]
    return json.dumps(told, separators=(",", ":"))
