"""Builders of what the operator observes: nodes, pods, StreamVertices and topologies, as facts.

Everything has a plain default, so that a test names only what it is about.
"""

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import Owner
from thalweg_operator.api.topology import TopologySpec, parse_topology
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import NodeFact, PodFact, Taint
from thalweg_operator.observe.survey import Patience, Survey, Wanted, survey
from thalweg_operator.observe.world import TopologyFacts

NOW_S = 1_772_366_400.0
NAMESPACE = "shop"
TOPOLOGY = "word-count"
ZONE = "topology.kubernetes.io/zone"
HASH = "aaaa"
"""The template hash that tests take for the current one."""


def node(
    name: str,
    *,
    domain: str | None = "a",
    cpu: float = 4.0,
    allocatable: Mapping[str, float] | None = None,
    cordoned: bool = False,
    ready: bool = True,
    deleting: bool = False,
    changed_at_s: float | None = NOW_S - 3600,
    taints: tuple[Taint, ...] = (),
) -> NodeFact:
    """A node; ready since an hour."""
    labels = {"kubernetes.io/hostname": name}
    if domain is not None:
        labels[ZONE] = domain
    return NodeFact(
        name=name,
        uid=f"uid-{name}",
        labels=labels,
        taints=taints,
        is_cordoned=cordoned,
        is_ready=ready,
        ready_changed_at_s=changed_at_s,
        allocatable={"cpu": cpu, "memory": 8e9, "pods": 110.0} | dict(allocatable or {}),
        is_deleting=deleting,
    )


def by_name(*nodes: NodeFact) -> dict[str, NodeFact]:
    """Nodes as a world holds them."""
    return {one.name: one for one in nodes}


def _task_labels(vertex: str, task: int, incarnation: int) -> dict[str, str]:
    return {
        **naming.common_labels(TOPOLOGY),
        naming.VERTEX: vertex,
        naming.TASK: str(task),
        naming.INCARNATION: str(incarnation),
    }


def pod(
    task: int = 0,
    incarnation: int = 1,
    *,
    vertex: str = "split",
    on: str | None = "n1",
    planned: str | None = None,
    ready: bool = True,
    phase: str = "Running",
    template_hash: str = HASH,
    deleting: bool = False,
    retired_at_s: float | None = None,
    unschedulable_since_s: float | None = None,
    created_at_s: float = NOW_S - 600,
    requests: Mapping[str, float] | None = None,
    failure: str = "",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
) -> PodFact:
    """A pod of a task; by default it runs on n1 and is ready."""
    notes = dict(annotations or {})
    if planned is not None:
        notes[naming.PLANNED_NODE] = planned
    if retired_at_s is not None:
        notes.setdefault(naming.RETIRED_AT, str(int(retired_at_s)))
    name = naming.pod_name(TOPOLOGY, TaskKey(vertex=vertex, index=task), incarnation)
    is_ready = ready and on is not None and phase == "Running"
    return PodFact(
        namespace=NAMESPACE,
        name=name,
        uid=f"uid-{name}",
        resource_version="7",
        labels={
            **_task_labels(vertex, task, incarnation),
            naming.STATE: naming.ACTIVE if retired_at_s is None else naming.RETIRING,
            naming.TEMPLATE_HASH: template_hash,
            **(labels or {}),
        },
        annotations=notes,
        owner_uid=f"uid-{vertex}",
        node=on,
        phase=phase if on is not None or phase != "Running" else "Pending",
        is_ready=is_ready,
        is_deleting=deleting,
        created_at_s=created_at_s,
        requests={"cpu": 1.0, "pods": 1.0} if requests is None else dict(requests),
        is_unschedulable=unschedulable_since_s is not None,
        unschedulable_since_s=unschedulable_since_s,
        pod_ip=f"10.0.0.{task + 1}" if is_ready else None,
        failure=failure,
    )


def shared_pod(process: int, number: int, *tasks: str, **more: Any) -> PodFact:
    """A pod that several tasks share, by the numbers of its process and its incarnation."""
    made = pod(process, number, **more)
    own = {naming.VERTEX, naming.TASK}
    labels = {key: value for key, value in made.labels.items() if key not in own}
    name = f"{TOPOLOGY}-p{process}-{number}"
    return replace(
        made,
        name=name,
        uid=f"uid-{name}",
        owner_uid="uid-topology",
        labels={**labels, naming.PROCESS: str(process)},
        annotations={**made.annotations, naming.TASKS: ",".join(tasks)},
    )


PATIENCE = Patience(not_ready_s=30, unschedulable_s=15, retire_s=60, surge=1)
TWO_NODES = (node("n1"), node("n2", domain="b"))


def look(
    *pods: PodFact,
    replicas: int = 1,
    nodes: tuple[NodeFact, ...] = TWO_NODES,
    surge: int = 1,
    targets: Mapping[int, str] | None = None,
) -> Survey:
    """The survey of vertex `split` with these pods; `targets` are where a plan moves tasks."""
    moving = {TaskKey(vertex="split", index=index): to for index, to in (targets or {}).items()}
    wanted = Wanted(vertex="split", replicas=replicas, template_hash=HASH, targets=moving)
    return survey(wanted, pods, by_name(*nodes), replace(PATIENCE, surge=surge), NOW_S)


def incarnation(one: PodFact | None) -> int | None:
    """By which tests tell the pods of a task apart."""
    return None if one is None else naming.incarnation_of(one.labels)


def template(*, image: str = "worker:1", cpu: str | None = "1", **spec: Any) -> dict[str, Any]:
    """A pod template with one container."""
    container: dict[str, Any] = {"name": "worker", "image": image}
    if cpu is not None:
        container["resources"] = {"requests": {"cpu": cpu}}
    return {"spec": {"containers": [container], **spec}}


def vertex_body(name: str, *, replicas: int = 2, **more: Any) -> dict[str, Any]:
    """One entry of `spec.vertices`."""
    bounds = {"min": 1, "max": 8, "initial": replicas}
    return {"name": name, "replicas": bounds, "template": template(), **more}


def topology_body(*vertices: Mapping[str, Any], **spec: Any) -> dict[str, Any]:
    """The spec of a StreamTopology: the vertices in a row, each sending to the next."""
    rows = [dict(one) for one in vertices] or [vertex_body("read"), vertex_body("split")]
    edges = [{"from": one["name"], "to": other["name"]} for one, other in pairwise(rows)]
    return {"strategy": "Even", "vertices": rows, "edges": edges, **spec}


def topology_spec(*vertices: Mapping[str, Any], **spec: Any) -> TopologySpec:
    """The same, parsed."""
    return parse_topology(topology_body(*vertices, **spec))


def topology(
    spec: Mapping[str, Any] | None = None,
    *,
    generation: int = 1,
    status: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """A StreamTopology as the API server returns it."""
    return {
        "apiVersion": "thalweg.dev/v1alpha1",
        "kind": "StreamTopology",
        "metadata": {
            "name": TOPOLOGY,
            "namespace": NAMESPACE,
            "uid": "uid-topology",
            "generation": generation,
            "resourceVersion": "5",
        },
        "spec": dict(topology_body() if spec is None else spec),
        "status": dict(status or {}),
    }


def stream_vertex(
    vertex: str = "split", *, replicas: int = 2, status: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """A StreamVertex as the API server returns it."""
    return {
        "apiVersion": "thalweg.dev/v1alpha1",
        "kind": "StreamVertex",
        "metadata": {
            "name": naming.vertex_object(TOPOLOGY, vertex),
            "namespace": NAMESPACE,
            "uid": f"uid-{vertex}",
            "generation": 1,
            "resourceVersion": "5",
        },
        "spec": {
            "topology": TOPOLOGY,
            "vertex": vertex,
            "replicas": replicas,
            "min": 1,
            "max": 8,
        },
        "status": dict(status or {}),
    }


def facts(
    body: Mapping[str, Any],
    *,
    vertices: Mapping[str, dict[str, Any]] | None = None,
    config_maps: Mapping[str, dict[str, Any]] | None = None,
    pods: tuple[PodFact, ...] = (),
) -> TopologyFacts:
    """A topology and what it owns."""
    return TopologyFacts(
        topology=dict(body),
        vertices=dict(vertices or {}),
        budgets={},
        config_maps=dict(config_maps or {}),
        pods=pods,
    )


def owner(name: str = TOPOLOGY, *, uid: str = "uid-topology") -> Owner:
    """The topology as an owner."""
    return Owner(api_version="thalweg.dev/v1alpha1", kind="StreamTopology", name=name, uid=uid)
