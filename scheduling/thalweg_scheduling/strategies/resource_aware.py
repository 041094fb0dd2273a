"""ResourceAware: Storm's resource-aware scheduler, as its documentation describes it today.

Vertices with the most connections come first, each task followed by one of every neighbour. A task
goes to the first node with room, domains and nodes being tried in the order of

1. how many tasks of this topology they already hold, the most first,
2. the resource of which they have least left, relative to the whole, the most first,
3. the mean of what they have left,
4. their position.

It looks at requests and the graph, at no metric. Storm calls a domain a rack.
"""

from collections import deque

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.dealing import deal
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_resource_aware(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """First fit of the movable tasks in Storm's order."""

    def first(task: int, fitting: Ints, node: Ints, room: Room) -> int:  # noqa: ARG001
        return _first(snapshot, room, fitting)

    return deal(snapshot, movable, tasks_by_connections(snapshot), first)


def tasks_by_connections(snapshot: Snapshot) -> list[int]:
    """All tasks, those of the most connected vertex first, its neighbours taking turns with it."""
    neighbours: list[set[int]] = [set() for _ in snapshot.vertices]
    for edge in snapshot.edges:
        neighbours[edge.source].add(edge.target)
        neighbours[edge.target].add(edge.source)
    replicas = [vertex.replicas for vertex in snapshot.vertices]
    connections = [
        sum(replicas[vertex] * replicas[other] for other in others)
        for vertex, others in enumerate(neighbours)
    ]
    ranked = sorted(range(len(replicas)), key=lambda vertex: (-connections[vertex], vertex))
    waiting: list[deque[int]] = [deque() for _ in replicas]
    for task, vertex in enumerate(snapshot.vertex_of):
        waiting[vertex].append(task)
    order: list[int] = []
    for vertex in ranked:
        turn = [vertex, *(other for other in ranked if other in neighbours[vertex])]
        while waiting[vertex]:
            order.extend(waiting[each].popleft() for each in turn if waiting[each])
    return order


def _first(snapshot: Snapshot, room: Room, fitting: Ints) -> int:
    """Which of the fitting nodes Storm would try first."""
    domain_of, domains = snapshot.domain_of, len(snapshot.domains)
    free = np.maximum(room.free, 0.0)
    held = np.bincount(domain_of, weights=room.tasks_on, minlength=domains)
    by_domain = np.zeros((domains, free.shape[1]))
    np.add.at(by_domain, domain_of, free)
    least_of, mean_of = _left(by_domain, by_domain.sum(axis=0))
    near = domain_of[fitting]
    least, mean = _left(free[fitting], by_domain[near])
    keys = (
        fitting,
        -mean,
        -least,
        -room.tasks_on[fitting],
        near,
        -mean_of[near],
        -least_of[near],
        -held[near],
    )
    return int(np.lexsort(keys)[0])


def _left(free: Floats, whole: Floats) -> tuple[Floats, Floats]:
    """The scarcest and the mean share of what is left."""
    if free.shape[1] == 0:
        return np.ones(len(free)), np.ones(len(free))
    share = np.divide(free, whole, out=np.zeros_like(free), where=whole > 0)
    return share.min(axis=1), share.mean(axis=1)
