"""Putting tasks down one after the other, each where a rule says: what most schedulers do."""

from collections.abc import Iterable
from typing import Protocol

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.plan import Missing
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.proposal import Proposal, processes_for
from thalweg_scheduling.place.room import Room


class Rule(Protocol):
    """Picks one of the nodes that fit, by its place among them."""

    def __call__(self, task: int, fitting: Ints, node: Ints, room: Room) -> int: ...


def deal(snapshot: Snapshot, movable: Bools, order: Iterable[int], rule: Rule) -> Proposal:
    """Place the movable tasks in the given order; who fits nowhere is missing."""
    room = Room(snapshot, ~movable)
    node = np.where(movable, UNPLACED, snapshot.placement)
    missing: list[Missing] = []
    for task in order:
        if not movable[task]:
            continue
        fitting = np.flatnonzero(room.fitting(task))
        if fitting.size == 0:
            missing.append(room.missing(task))
            continue
        node[task] = fitting[rule(task, fitting, node, room)]
        room.put(task, int(node[task]))
    return Proposal(node=node, process=processes_for(snapshot, node), missing=tuple(missing))


def by_vertex_in_turn(snapshot: Snapshot) -> list[int]:
    """Vertices from the sources on, breadth first; one task of each, then the second of each."""
    followers: dict[int, list[int]] = {vertex: [] for vertex in range(len(snapshot.vertices))}
    fed = set()
    for edge in snapshot.edges:
        followers[edge.source].append(edge.target)
        fed.add(edge.target)
    queue = [vertex for vertex in followers if vertex not in fed]
    # Vertices on a cycle that nothing feeds are taken last.
    rest = [vertex for vertex in followers if vertex in fed]
    seen: dict[int, None] = {}
    for vertex in (*queue, *rest):
        front = [vertex]
        while front:
            here = front.pop(0)
            if here not in seen:
                seen[here] = None
                front += followers[here]
    rank = np.empty(len(snapshot.vertices), dtype=np.int64)
    rank[list(seen)] = np.arange(len(seen))
    index = np.array([task.index for task in snapshot.tasks], dtype=np.int64)
    return [int(task) for task in np.lexsort((rank[snapshot.vertex_of], index))]
