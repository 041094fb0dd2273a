"""The writes that follow from a survey and a plan, in an order that survives being cut anywhere.

First pods that are beyond help go, so that nothing waits for them. Then pods are made (making.py).
Pods that make way are marked as retiring before the routes are written, and deleted a while after.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import Berth
from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import NODES, PODS
from thalweg_operator.errors import Conflict, NotFound
from thalweg_operator.observe.facts import NodeFact, PodFact, node_fact
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


def retire_pods(
    client: Client,
    endings: Iterable[Ending],
    now_s: float,
    last_routes: Callable[[PodFact], str],
) -> Iterator[Happening]:
    """Mark pods as retiring: they leave the routes, the budget and the scale at once.

    `last_routes` tells the versions of the routes that still name a pod.
    """
    for ending in endings:
        pod = ending.pod
        notes = {naming.RETIRED_AT: str(int(now_s)), naming.RETIRED_ROUTES: last_routes(pod)}
        labels = {naming.STATE: naming.RETIRING}
        patch: dict[str, Any] = {"metadata": {"labels": labels, "annotations": notes}}
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


def _has_come_back(client: Client, node: str) -> bool:
    found = client.get(NODES, None, node)
    return found is not None and node_fact(found).is_ready


def _ended(ending: Ending, verb: str) -> Happening:
    pod = ending.pod
    failure = f" ({pod.failure})" if pod.failure else ""
    return Happening(
        task=naming.unit_name_of(pod.labels) or pod.name,
        why=ending.why,
        message=f"{pod.name} {verb}: {ending.why}{failure}",
    )
