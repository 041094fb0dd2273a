"""Where searches begin: greedy placements that differ in what they hold dear.

A search by single moves hardly ever carries a whole topology from one domain to another. So there
is a beginning around each node: as much as fits on it, the rest on the nodes nearest to it.
"""

import numpy as np

from thalweg_scheduling.measure.distance import seconds_between
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.greedy import busiest_first, largest_first, place_greedily
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room

MOST_ANCHORS = 16


def starts(problem: Problem) -> list[Ints]:
    """Different placements without overload, the best first; tasks may be left UNPLACED."""
    talk = busiest_first(problem)
    found = [
        place_greedily(problem, talk)[0],
        place_greedily(problem, largest_first(problem))[0],
    ]
    found += [_around(problem, talk, anchor) for anchor in _anchors(problem)]
    distinct = {node.tobytes(): node for node in found}
    return sorted(distinct.values(), key=problem.score)


def _anchors(problem: Problem) -> list[int]:
    """One node of each kind, those that hold most first."""
    snapshot = problem.snapshot
    capacity = np.maximum(problem.needs.capacity, 0.0)
    nodes = np.arange(len(capacity))
    whole = np.maximum(capacity.sum(axis=0), 1e-300)
    order = np.lexsort((nodes, -(capacity / whole).sum(axis=1)))
    kinds: dict[bytes, int] = {}
    for node in order:
        group = problem.far.group_of[node]
        kind = (snapshot.eligible[:, node].tobytes(), capacity[node].tobytes(), int(group))
        kinds.setdefault(repr(kind).encode(), int(node))
    return list(kinds.values())[:MOST_ANCHORS]


def _around(problem: Problem, order: Ints, anchor: int) -> Ints:
    """Tasks in order, each on the nearest node to the anchor that has room."""
    snapshot = problem.snapshot
    nodes = np.arange(len(snapshot.nodes))
    there = np.full(len(nodes), anchor)
    seconds = seconds_between(problem.far, there, nodes) + seconds_between(
        problem.far, nodes, there
    )
    seconds[anchor] = -1.0
    rank = np.empty(len(nodes), dtype=np.int64)
    rank[np.lexsort((nodes, seconds))] = nodes
    room = Room(snapshot, ~problem.movable)
    node = np.where(problem.movable, UNPLACED, snapshot.placement)
    for task in order:
        fitting = np.flatnonzero(room.fitting(int(task)))
        if fitting.size:
            node[task] = fitting[np.argmin(rank[fitting])]
            room.put(int(task), int(node[task]))
    return node
