"""A few tasks on many nodes: only the roomiest nodes of each domain are worth a thorough search."""

from dataclasses import replace

import numpy as np

from thalweg_scheduling.measure.needs import taken
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.problem import Problem, problem_of


def shortlist(problem: Problem, most: int) -> Ints | None:
    """At most about `most` nodes, in order; nothing where nodes of one domain are not alike far."""
    snapshot = problem.snapshot
    if len(problem.far.between) > len(snapshot.domains):
        return None
    there = np.where(problem.movable, UNPLACED, snapshot.placement)
    free = problem.needs.capacity - taken(problem.needs, there)
    share = free / np.maximum(problem.needs.capacity.max(axis=0), 1e-300)
    room = share.min(axis=1, initial=np.inf)
    total, largest = problem.needs.demand[problem.movable].sum(axis=0), free.max(axis=0)
    # As many of the largest as could hold everything, and one to spare.
    enough = int(np.max(np.ceil(total / np.maximum(largest, 1e-300)), initial=1.0)) + 1
    each = max(1, min(enough, most // max(1, len(snapshot.domains))))
    chosen = [
        _roomiest(room, np.flatnonzero(snapshot.domain_of == d), each) for d in _domains(snapshot)
    ]
    hosts = snapshot.placement[snapshot.placement != UNPLACED]
    nodes = np.unique(np.concatenate([*chosen, hosts, _for_the_choosy(snapshot, room, chosen)]))
    return nodes.astype(np.int64)


def on_nodes(problem: Problem, nodes: Ints) -> Problem:
    """The same problem as if there were no other nodes."""
    snapshot = problem.snapshot
    position = np.full(len(snapshot.nodes) + 1, UNPLACED, dtype=np.int64)
    position[nodes] = np.arange(len(nodes))
    pairs = snapshot.latency.pairs_s
    latency = snapshot.latency
    if pairs is not None:
        latency = replace(latency, pairs_s=pairs[np.ix_(nodes, nodes)])
    fewer = replace(
        snapshot,
        nodes=tuple(snapshot.nodes[node] for node in nodes),
        domain_of=snapshot.domain_of[nodes],
        capacity=snapshot.capacity[nodes],
        eligible=snapshot.eligible[:, nodes],
        placement=position[snapshot.placement],
        latency=latency,
    )
    return problem_of(fewer, problem.movable)


def _domains(snapshot: Snapshot) -> range:
    return range(len(snapshot.domains))


def _roomiest(room: Floats, nodes: Ints, count: int) -> Ints:
    return nodes[np.lexsort((nodes, -room[nodes]))[:count]]


def _for_the_choosy(snapshot: Snapshot, room: Floats, chosen: list[Ints]) -> Ints:
    """The roomiest node of each task that may run on none of the chosen ones."""
    among = np.concatenate(chosen)
    stuck = np.flatnonzero(~snapshot.eligible[:, among].any(axis=1))
    able = [np.flatnonzero(snapshot.eligible[task]) for task in stuck]
    found = [_roomiest(room, nodes, 1) for nodes in able if nodes.size]
    return np.concatenate(found) if found else np.zeros(0, dtype=np.int64)
