"""Making pods: incarnations are reserved in the status before any pod carries them.

The StreamTopology's status tells the number that is above all that any pod of it has had. It
outlives vertices, so a task's incarnations never begin again: not when its vertex is taken out and
put back, nor when tasks begin or cease to share pods. A StreamVertex counts for its own tasks. A
crash after a reservation skips numbers and makes no pod twice.
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
    def record(self) -> Mapping[str, Any]:
        """What else the topology's status is to tell."""
        return _NOTHING

    @property
    def is_due(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.posts)

    def orders(self, client: Client, first: int) -> list[list[Order]]:
        """The pods to make: of one vertex, so all alike."""
        counted = {"nextIncarnation": first + len(self.posts)}
        _write_status(client, STREAM_VERTICES, self.vertex, counted)
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
    processes: Sequence[Mapping[str, Any]]
    """As the status should have them."""
    pods: Sequence[PodFact] = ()
    """The topology's, as they are now."""

    @property
    def owner(self) -> Object:
        """Whose status counts the incarnations."""
        return self.topology

    @property
    def record(self) -> Mapping[str, Any]:
        """What else the topology's status is to tell."""
        return {"processes": list(self.processes)}

    @property
    def is_due(self) -> bool:
        """Whether there is anything to write: a process is on record before it has a pod."""
        recorded = (self.topology.get("status") or {}).get("processes") or []
        return bool(self.posts) or recorded != self.processes

    def orders(self, _client: Client, first: int) -> list[list[Order]]:
        """The pods to make; those with one template and as many tasks are alike."""
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


def make_pods(
    client: Client, topology: Object, batches: Sequence[Batch | SharedBatch]
) -> Iterator[Happening]:
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
    firsts = _reserve(client, topology, wanted)
    numbered = zip(wanted, firsts, strict=True) if firsts else ()
    ordered = at_once([partial(_orders, client, *one) for one in numbered], most)
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


def _orders(client: Client, batch: Batch | SharedBatch, first: int) -> list[list[Order]]:
    """The pods to make, each with a number of its own; none if the owner has changed."""
    try:
        return batch.orders(client, first)
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


def _reserve(client: Client, topology: Object, batches: Sequence[Batch | SharedBatch]) -> list[int]:
    """Count up in the topology's status; the first number of each batch, or none if it changed."""
    if not batches:
        return []
    firsts = [
        max(
            1,
            _counted(topology),
            _counted(batch.owner),
            *(post.need.after + 1 for post in batch.posts),
        )
        for batch in batches
    ]
    until = max(first + len(batch.posts) for first, batch in zip(firsts, batches, strict=True))
    status: dict[str, Any] = {"nextIncarnation": until}
    for batch in batches:
        status |= batch.record
    try:
        _write_status(client, STREAM_TOPOLOGIES, topology, status)
    except (Conflict, NotFound):
        return []  # Edited or deleted since it was read: the next turn sees that.
    return firsts


def _counted(owner: Object) -> int:
    return int((owner.get("status") or {}).get("nextIncarnation") or 1)


def _write_status(
    client: Client, resource: Resource, owner: Object, status: Mapping[str, Any]
) -> None:
    """Write a part of the status, and let whoever writes next know how it is now."""
    metadata = owner["metadata"]
    written = client.merge(
        resource,
        metadata["namespace"],
        metadata["name"],
        {"status": dict(status)},
        subresource="status",
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
    owner["status"] = written.get("status") or {}
    metadata["resourceVersion"] = written["metadata"]["resourceVersion"]


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
