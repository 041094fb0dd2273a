"""Making pods: incarnations are reserved in their owner's status before any pod carries them.

The owner is the StreamVertex, or the StreamTopology of pods that tasks share. A crash between the
two skips numbers and makes no pod twice.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.at_once import at_once
from thalweg_operator.act.carry_out import Happening, Post
from thalweg_operator.act.manifests import PodOrder, pod_manifest, template_hash
from thalweg_operator.act.structure import owner_of
from thalweg_operator.api.topology import VertexSpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import (
    PODS,
    STREAM_TOPOLOGIES,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_operator.errors import AlreadyExists, Conflict, NotFound, Refused
from thalweg_operator.naming import Process, TaskKey, Unit
from thalweg_operator.observe.facts import PodFact, tasks_in
from thalweg_operator.observe.survey import Why

Order = tuple[PodOrder, Post]
_NOTHING: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The pods that one vertex needs now."""

    vertex: Object
    spec: VertexSpec
    posts: Sequence[Post]
    sends: bool

    @property
    def owner(self) -> Object:
        """Whose status counts the incarnations."""
        return self.vertex

    @property
    def is_due(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.posts)

    def orders(self, client: Client) -> list[list[Order]]:
        """The pods to make: of one vertex, so all alike."""
        first = reserve(client, STREAM_VERTICES, self.vertex, self.posts)
        owner = owner_of(self.vertex)
        alike = [
            (
                PodOrder(
                    namespace=self.vertex["metadata"]["namespace"],
                    topology=self.vertex["spec"]["topology"],
                    task=post.need.task,
                    incarnation=first + number,
                    template=self.spec.template,
                    sends=self.sends,
                    berth=post.berth,
                    planned_node=post.planned_node,
                    owner=owner,
                ),
                post,
            )
            for number, post in enumerate(self.posts)
        ]
        return [alike]


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedBatch:
    """The shared pods that one topology needs now, and the processes to put on record."""

    topology: Object
    templates: Mapping[str, Mapping[str, Any]]
    """By vertex."""
    senders: tuple[str, ...]
    posts: Sequence[Post]
    record: Sequence[Mapping[str, Any]]
    """The processes as the status should have them."""
    pods: Sequence[PodFact] = ()
    """The topology's, as they are now."""

    @property
    def owner(self) -> Object:
        """Whose status counts the incarnations."""
        return self.topology

    @property
    def is_due(self) -> bool:
        """Whether there is anything to write: a process is on record before it has a pod."""
        recorded = (self.topology.get("status") or {}).get("processes") or []
        return bool(self.posts) or recorded != self.record

    def orders(self, client: Client) -> list[list[Order]]:
        """The pods to make; those with one template and as many tasks are alike."""
        record = {"processes": list(self.record)}
        first = reserve(client, STREAM_TOPOLOGIES, self.topology, self.posts, record)
        alike: dict[object, list[Order]] = {}
        for number, post in enumerate(self.posts):
            order = self._order(post, first + number)
            kind = template_hash(order.template, sends=False), len(order.task.tasks)
            alike.setdefault(kind, []).append((order, post))
        return list(alike.values())

    def _order(self, post: Post, incarnation: int) -> PodOrder:
        tasks = post.need.task.tasks
        return PodOrder(
            namespace=self.topology["metadata"]["namespace"],
            topology=self.topology["metadata"]["name"],
            task=post.need.task,
            incarnation=incarnation,
            template=self.templates[tasks[0].vertex],
            sends=any(task.vertex in self.senders for task in tasks),
            senders=self.senders,
            before=tuple(pod for pod in self.pods if _knows_of(pod, tasks)),
            berth=post.berth,
            planned_node=post.planned_node,
            owner=owner_of(self.topology),
        )


def _knows_of(pod: PodFact, tasks: Collection[TaskKey]) -> bool:
    """Whether a pod can be asked about any of the tasks; one that leaves still can."""
    is_there = pod.pod_ip is not None and pod.phase == "Running"
    return is_there and not set(tasks).isdisjoint(tasks_in(pod))


def make_pods(client: Client, batches: Sequence[Batch | SharedBatch]) -> Iterator[Happening]:
    """Reserve incarnations, then make the pods; yields what was done as it is done.

    What the API server refuses is told, not raised: the rest of the topology has to be kept alive
    all the same. Pods that are alike differ in nothing that a quota or a policy looks at, so one is
    tried first, and its refusal is the answer for all of them.
    """
    most = client.writes_at_once
    # A vertex that is being deleted could never go if it always had new pods.
    wanted = [
        one for one in batches if one.is_due and not one.owner["metadata"].get("deletionTimestamp")
    ]
    ordered = at_once([partial(_orders, client, one) for one in wanted], most)
    orders = [alike for of_batch in ordered for alike in of_batch if alike]
    rest: list[Order] = []
    tried = at_once([partial(_make, client, *one[0]) for one in orders], most)
    for one, done in zip(orders, tried, strict=True):
        if done is not None:
            yield done
        if done is None or done.why is not Why.REFUSED:
            rest += one[1:]
    made = at_once([partial(_make, client, *order) for order in rest], most)
    yield from (done for done in made if done is not None)


def _orders(client: Client, batch: Batch | SharedBatch) -> list[list[Order]]:
    """The pods to make, each with a number of its own; none if the owner has changed."""
    try:
        return batch.orders(client)
    except (Conflict, NotFound):
        return []  # Scaled, edited or deleted since it was read: the next turn sees that.


def _make(client: Client, order: PodOrder, post: Post) -> Happening | None:
    try:
        client.create(PODS, pod_manifest(order))
    except AlreadyExists:
        return None  # An earlier topology's pod of that name is still going: next turn.
    except Refused as error:
        return _refused(order, error)
    return _made(post)


def reserve(
    client: Client,
    resource: Resource,
    owner: Object,
    posts: Sequence[Post],
    more: Mapping[str, Any] = _NOTHING,
) -> int:
    """Count up in the owner's status before any pod carries the numbers; gives the first one."""
    metadata = owner["metadata"]
    counted = int((owner.get("status") or {}).get("nextIncarnation") or 1)
    first = max(1, counted, *(post.need.after + 1 for post in posts))
    written = client.merge(
        resource,
        metadata["namespace"],
        metadata["name"],
        {"status": {"nextIncarnation": first + len(posts), **more}},
        subresource="status",
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
    owner["status"] = written.get("status") or {}
    metadata["resourceVersion"] = written["metadata"]["resourceVersion"]
    return first


def _made(post: Post) -> Happening:
    task = post.need.task.name
    where = f"on {post.planned_node}" if post.planned_node else "wherever it fits"
    words = {
        Why.FIRST: f"{task} starts {where}",
        Why.CHANGED: f"{task} gets the changed template{_or_tasks(post.need.task)} {where}",
        Why.DRAINING: f"{task} leaves its cordoned node and starts {where}",
        Why.STUCK: f"{task} could not be scheduled as planned and starts {where}",
        Why.NODE_LOST: f"{task} lost its node and starts {where}",
        Why.MOVING: f"{task} moves and starts {where}",
        Why.FAILED: f"the pod of {task} failed; it starts again {where}",
    }
    message = words.get(post.need.why, f"{task} lost its pod and starts {where}")
    return Happening(task=task, why=post.need.why, message=message)


def _or_tasks(unit: Unit) -> str:
    return f" or set of tasks ({len(unit.tasks)} now)" if isinstance(unit, Process) else ""


def _refused(order: PodOrder, error: Refused) -> Happening:
    """Without the pod's name, which is another one at each attempt: so the words stay the same."""
    name = naming.pod_name(order.topology, order.task, order.incarnation)
    words = str(error).replace(name, f"{order.topology}-{order.task.name}")
    return Happening(
        task=order.task.name,
        why=Why.REFUSED,
        message=f"no pod can be made for {_whose(order.task)}: {words}",
    )


def _whose(unit: Unit) -> str:
    return f"process {unit.name}" if isinstance(unit, Process) else f"vertex {unit.vertex}"
