"""The writes that follow from a survey and a plan, in an order that survives being cut anywhere.

First pods that are beyond help go, so that nothing waits for them. Then the incarnations are
reserved in the StreamVertex's status, then the pods are made: a crash between the two skips numbers
and makes no pod twice. Pods that make way are marked as retiring before the routes are written, and
deleted a while after.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import Berth, Owner, PodOrder, pod_manifest
from thalweg_operator.api.topology import TopologySpec, VertexSpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import NODES, PODS, STREAM_VERTICES, Object
from thalweg_operator.errors import AlreadyExists, Conflict, NotFound, Refused
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
        node = need.target or assigned.get(need.task.name)
        if node is not None and need.pinned:
            domain = nodes[node].labels.get(label, "")
            berth = Berth(domain_label=label, domain=domain, node=node if binds_node else None)
            posts.append(Post(need=need, berth=berth, planned_node=node))
        elif need.replaces is None or node is not None:
            posts.append(Post(need=need, berth=Berth(domain_label=label), planned_node=None))
    return tuple(posts)


def without_room_for_two(
    needs: Iterable[Need],
    posts: Sequence[Post],
    *,
    disrupted: int,
    fits_instead: Callable[[Need], bool] = lambda _: True,
) -> tuple[Ending, ...]:
    """Pods that leave before their successor is there, because both do not fit at once.

    Only for a changed template, one at a time, and only while every other task is served.
    `fits_instead` tells whether the successor would fit where the pod is now: a template that asks
    for more than there is must not cost the task its pod.
    """
    if disrupted:
        return ()
    posted = {post.need.task for post in posts}
    for need in needs:
        if need.replaces is None or need.why is not Why.CHANGED or need.task in posted:
            continue
        if fits_instead(need):
            return (Ending(pod=need.replaces, why=Why.NO_ROOM_FOR_TWO),)
    return ()


def make_pods(
    client: Client, vertex: Object, spec: VertexSpec, posts: Sequence[Post], *, sends: bool
) -> Iterator[Happening]:
    """Reserve incarnations, then make the pods; yields what was done as it is done.

    What the API server refuses is told, not raised: the rest of the topology has to be kept alive
    all the same. The pods of a vertex differ in nothing that a quota or a policy looks at, so the
    first refusal is the answer for all of them.
    """
    if not posts or vertex["metadata"].get("deletionTimestamp"):
        return  # A vertex that is being deleted could never go if it always had new pods.
    try:
        first = _reserve_incarnations(client, vertex, posts)
    except (Conflict, NotFound):
        return  # Scaled or deleted since it was read: the next turn sees that.
    owner = Owner(
        api_version=vertex["apiVersion"],
        kind=vertex["kind"],
        name=vertex["metadata"]["name"],
        uid=vertex["metadata"]["uid"],
    )
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
        except Refused as error:
            yield _refused(order, error)
            return
        yield _made(post)


def end_pods(client: Client, endings: Iterable[Ending]) -> Iterator[Happening]:
    """Delete pods exactly as they were seen: one that has changed since is looked at again."""
    came_back: dict[str, bool] = {}
    for ending in endings:
        pod = ending.pod
        if ending.why is Why.NODE_LOST and pod.node is not None:
            if pod.node not in came_back:
                came_back[pod.node] = _has_come_back(client, pod.node)
            if came_back[pod.node]:
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
        yield _ended(ending, "is deleted")


def retire_pods(client: Client, endings: Iterable[Ending], now_s: float) -> Iterator[Happening]:
    """Mark pods as retiring: they leave the routes, the budget and the scale at once."""
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
        except (Conflict, NotFound):
            continue
        yield _ended(ending, "retires")


def _reserve_incarnations(client: Client, vertex: Object, posts: Sequence[Post]) -> int:
    """Count up in the StreamVertex's status before any pod carries the numbers."""
    metadata = vertex["metadata"]
    counted = int((vertex.get("status") or {}).get("nextIncarnation") or 1)
    first = max(1, counted, *(post.need.after + 1 for post in posts))
    written = client.merge(
        STREAM_VERTICES,
        metadata["namespace"],
        metadata["name"],
        {"status": {"nextIncarnation": first + len(posts)}},
        subresource="status",
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
    vertex["status"] = written.get("status") or {}
    metadata["resourceVersion"] = written["metadata"]["resourceVersion"]
    return first


def _has_come_back(client: Client, node: str) -> bool:
    found = client.get(NODES, None, node)
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
        Why.MOVING: f"{task} moves and starts {where}",
        Why.FAILED: f"the pod of {task} failed; it starts again {where}",
    }
    message = words.get(post.need.why, f"{task} lost its pod and starts {where}")
    return Happening(task=task, why=post.need.why, message=message)


def _refused(order: PodOrder, error: Refused) -> Happening:
    """Without the pod's name, which is another one at each attempt: so the words stay the same."""
    name = naming.pod_name(order.topology, order.task, order.incarnation)
    words = str(error).replace(name, f"{order.topology}-{order.task.name}")
    return Happening(
        task=order.task.name,
        why=Why.REFUSED,
        message=f"no pod can be made for vertex {order.task.vertex}: {words}",
    )


def _ended(ending: Ending, verb: str) -> Happening:
    pod = ending.pod
    task = naming.task_of(pod.labels)
    failure = f" ({pod.failure})" if pod.failure else ""
    return Happening(
        task=task.name if task else pod.name,
        why=ending.why,
        message=f"{pod.name} {verb}: {ending.why}{failure}",
    )
