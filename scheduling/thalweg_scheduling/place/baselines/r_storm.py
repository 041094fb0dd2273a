"""R-Storm: the node whose free resources are nearest to what the task asks for.

Nodes are points in a space of resources and of distance to a reference node, the one with the most
resources in the richest domain. Tasks come breadth first from the sources, one of each vertex in
turn. The formula is from memory of the paper (arXiv 1904.05456), which treats memory as hard and
processors as soft; here all resources are hard.
"""

import numpy as np

from thalweg_scheduling.measure.distance import distances, seconds_between
from thalweg_scheduling.measure.needs import needs
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.dealing import by_vertex_in_turn, deal
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_like_r_storm(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """Deal tasks to the nearest node in resources and network."""
    wanted = needs(snapshot)
    scale = np.maximum(np.maximum(wanted.capacity, 0.0).max(axis=0, initial=0.0), 1e-300)
    network = _network(snapshot)

    def nearest(task: int, fitting: Ints, node: Ints, room: Room) -> int:  # noqa: ARG001
        apart = (room.free[fitting] - wanted.demand[task]) / scale
        return int(np.argmin((apart**2).sum(axis=1) + network[fitting]))

    return deal(snapshot, movable, by_vertex_in_turn(snapshot), nearest)


def _network(snapshot: Snapshot) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    """Shape (nodes,): distance to the reference node, the farthest being 1."""
    nodes = len(snapshot.nodes)
    if nodes == 0:
        return np.zeros(0)
    room = Room(snapshot, np.ones(len(snapshot.placement), dtype=np.bool_))
    whole = np.maximum(room.free, 0.0)
    share = (whole / np.maximum(whole.sum(axis=0), 1e-300)).sum(axis=1)
    by_domain = np.bincount(snapshot.domain_of, weights=share, minlength=len(snapshot.domains))
    richest = np.flatnonzero(snapshot.domain_of == int(np.argmax(by_domain)))
    reference = richest[np.argmax(share[richest])]
    seconds = seconds_between(distances(snapshot), np.full(nodes, reference), np.arange(nodes))
    return seconds / max(float(seconds.max()), 1e-300)
