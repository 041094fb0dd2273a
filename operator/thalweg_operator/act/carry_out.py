"""The writes that follow from a survey and a plan, in an order that survives being cut anywhere.

First pods that are beyond help go, so that nothing waits for them. Then the incarnations are
reserved in the StreamVertex's status, then the pods are made: a crash between the two skips numbers
and makes no pod twice. Pods that make way are marked as retiring before the routes are written, and
deleted a while after.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import Berth, Owner, PodOrder, pod_manifest
from thalweg_operator.api.topology import TopologySpec, VertexSpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import NODES, PODS, STREAM_VERTICES, Object
from thalweg_operator.errors import AlreadyExists, Conflict
from thalweg_operator.observe.facts import NodeFact, node_fact
from thalweg_operator.observe.survey import Ending, Need, Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """A need and where its pod goes."""

    need: Need
    berth: Berth
    planned_node: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that was done, for the event about it."""

    task: str
    why: Why
    message: str


def posts_for(
    needs: Iterable[Need],
    assigned: Mapping[str, str],
    nodes: Mapping[str, NodeFact],
    spec: TopologySpec,
    *,
    binds_node: bool,
) -> tuple[Post, ...]:
    """Where each needed pod goes.

    A task that nobody serves gets a pod even if it fits nowhere: it waits, bound to no node, so
    that a cluster autoscaler can see it. One that is still served waits without a pod.
    """
    label = spec.placement.domain_label
    posts = []
    for need in needs:
        node = assigned.get(need.task.name)
        if node is not None and need.pinned:
            domain = nodes[node].labels.get(label, "")
            berth = Berth(domain_label=label, domain=domain, node=node if binds_node else None)
            posts.append(Post(need=need, berth=berth, planned_node=node))
        elif need.replaces is None or node is not None:
            posts.append(Post(need=need, berth=Berth(domain_label=label), planned_node=None))
    return tuple(posts)


def without_room_for_two(
    needs: Iterable[Need], posts: Sequence[Post], *, disrupted: int
) -> tuple[Ending, ...]:
    """Pods that leave before their successor is there, because both do not fit at once.

    Only for a changed template, one at a time, and only while every other task is served.
    """
    posted = {post.need.task for post in posts}
    stuck = [
        need
        for need in needs
        if need.task not in posted and need.why is Why.CHANGED and need.replaces is not None
    ]
    if disrupted or not stuck:
        return ()
    pod = stuck[0].replaces
    return (Ending(pod=pod, why=Why.NO_ROOM_FOR_TWO),) if pod is not None else ()


def make_pods(
    client: Client, vertex: Object, spec: VertexSpec, posts: Sequence[Post], *, sends: bool
) -> tuple[Happening, ...]:
    """Reserve incarnations, then make the pods."""
    if not posts:
        return ()
    first = _reserve_incarnations(client, vertex, len(posts))
    owner = Owner(
        api_version=vertex["apiVersion"],
        kind=vertex["kind"],
        name=vertex["metadata"]["name"],
        uid=vertex["metadata"]["uid"],
    )
    happenings = []
    for number, post in enumerate(posts):
        order = PodOrder(
            namespace=vertex["metadata"]["namespace"],
            topology=vertex["spec"]["topology"],
            task=post.need.task,
            incarnation=first + number,
            template=spec.template,
            sends=sends,
            berth=post.berth,
            planned_node=post.planned_node,
            owner=owner,
        )
        try:
            client.create(PODS, pod_manifest(order))
        except AlreadyExists:
            continue  # An earlier topology's pod of that name is still going: next turn.
        happenings.append(_made(post))
    return tuple(happenings)


def end_pods(client: Client, endings: Iterable[Ending]) -> tuple[Happening, ...]:
    """Delete pods exactly as they were seen: one that has changed since is looked at again."""
    happenings = []
    for ending in endings:
        pod = ending.pod
        if ending.why is Why.NODE_LOST and _has_come_back(client, pod.node):
            continue
        try:
            client.delete(
                PODS,
                pod.namespace,
                pod.name,
                uid=pod.uid,
                resource_version=pod.resource_version,
            )
        except Conflict:
            continue
        happenings.append(_ended(ending))
    return tuple(happenings)


def retire_pods(client: Client, endings: Iterable[Ending], now_s: float) -> tuple[Happening, ...]:
    """Mark pods as retiring: they leave the routes, the budget and the scale at once."""
    happenings = []
    patch: dict[str, Any] = {
        "metadata": {
            "labels": {naming.STATE: naming.RETIRING},
            "annotations": {naming.RETIRED_AT: str(int(now_s))},
        }
    }
    for ending in endings:
        pod = ending.pod
        try:
            client.merge(
                PODS,
                pod.namespace,
                pod.name,
                patch,
                uid=pod.uid,
                resource_version=pod.resource_version,
            )
        except Conflict:
            continue
        happenings.append(_ended(ending))
    return tuple(happenings)


def _reserve_incarnations(client: Client, vertex: Object, count: int) -> int:
    """Count up in the StreamVertex's status before any pod carries the numbers."""
    metadata = vertex["metadata"]
    first = max(1, int((vertex.get("status") or {}).get("nextIncarnation") or 1))
    written = client.merge(
        STREAM_VERTICES,
        metadata["namespace"],
        metadata["name"],
        {"status": {"nextIncarnation": first + count}},
        subresource="status",
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
    vertex["status"] = written.get("status") or {}
    metadata["resourceVersion"] = written["metadata"]["resourceVersion"]
    return first


def _has_come_back(client: Client, node: str | None) -> bool:
    found = client.get(NODES, None, node or "")
    return found is not None and node_fact(found).is_ready


def _made(post: Post) -> Happening:
    task = post.need.task.name
    where = f"on {post.planned_node}" if post.planned_node else "wherever it fits"
    words = {
        Why.FIRST: f"{task} starts {where}",
        Why.CHANGED: f"{task} gets the changed template {where}",
        Why.DRAINING: f"{task} leaves its cordoned node and starts {where}",
        Why.STUCK: f"{task} could not be scheduled as planned and starts {where}",
        Why.NODE_LOST: f"{task} lost its node and starts {where}",
    }
    message = words.get(post.need.why, f"{task} lost its pod and starts {where}")
    return Happening(task=task, why=post.need.why, message=message)


def _ended(ending: Ending) -> Happening:
    pod = ending.pod
    task = naming.task_of(pod.labels)
    failure = f" ({pod.failure})" if pod.failure else ""
    return Happening(
        task=task.name if task else pod.name,
        why=ending.why,
        message=f"{pod.name} ends: {ending.why}{failure}",
    )
