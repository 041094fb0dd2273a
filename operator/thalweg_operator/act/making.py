"""Making pods: incarnations are reserved in the StreamVertex's status before any pod carries them.

A crash between the two skips numbers and makes no pod twice.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from thalweg_operator import naming
from thalweg_operator.act.at_once import at_once
from thalweg_operator.act.carry_out import Happening, Post
from thalweg_operator.act.manifests import PodOrder, pod_manifest
from thalweg_operator.act.structure import owner_of
from thalweg_operator.api.topology import VertexSpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import PODS, STREAM_VERTICES, Object
from thalweg_operator.errors import AlreadyExists, Conflict, NotFound, Refused
from thalweg_operator.observe.survey import Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The pods that one vertex needs now."""

    vertex: Object
    spec: VertexSpec
    posts: Sequence[Post]
    sends: bool


Order = tuple[PodOrder, Post]


def make_pods(client: Client, batches: Sequence[Batch]) -> Iterator[Happening]:
    """Reserve incarnations, then make the pods; yields what was done as it is done.

    What the API server refuses is told, not raised: the rest of the topology has to be kept alive
    all the same. The pods of a vertex differ in nothing that a quota or a policy looks at, so one
    is tried first, and its refusal is the answer for all of them.
    """
    most = client.writes_at_once
    # A vertex that is being deleted could never go if it always had new pods.
    wanted = [
        one for one in batches if one.posts and not one.vertex["metadata"].get("deletionTimestamp")
    ]
    orders = [
        one for one in at_once([partial(_orders, client, one) for one in wanted], most) if one
    ]
    rest: list[Order] = []
    tried = at_once([partial(_make, client, *one[0]) for one in orders], most)
    for one, done in zip(orders, tried, strict=True):
        if done is not None:
            yield done
        if done is None or done.why is not Why.REFUSED:
            rest += one[1:]
    made = at_once([partial(_make, client, *order) for order in rest], most)
    yield from (done for done in made if done is not None)


def _orders(client: Client, batch: Batch) -> list[Order]:
    """The pods to make, each with a number of its own; none if the vertex has changed."""
    try:
        first = _reserve_incarnations(client, batch.vertex, batch.posts)
    except (Conflict, NotFound):
        return []  # Scaled or deleted since it was read: the next turn sees that.
    owner = owner_of(batch.vertex)
    return [
        (
            PodOrder(
                namespace=batch.vertex["metadata"]["namespace"],
                topology=batch.vertex["spec"]["topology"],
                task=post.need.task,
                incarnation=first + number,
                template=batch.spec.template,
                sends=batch.sends,
                berth=post.berth,
                planned_node=post.planned_node,
                owner=owner,
            ),
            post,
        )
        for number, post in enumerate(batch.posts)
    ]


def _make(client: Client, order: PodOrder, post: Post) -> Happening | None:
    try:
        client.create(PODS, pod_manifest(order))
    except AlreadyExists:
        return None  # An earlier topology's pod of that name is still going: next turn.
    except Refused as error:
        return _refused(order, error)
    return _made(post)


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
