"""Linear deterministic greedy, the streaming partitioner that Sgp-Stream places with.

A task goes to the node with which it exchanges most, times the share of the node that is free; to
the freest node where it knows nobody. It is blind for domains.
"""

import numpy as np

from thalweg_scheduling.measure.needs import needs
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.dealing import by_vertex_in_turn, deal
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_by_ldg(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """Deal tasks in the order of the stream."""
    capacity = np.maximum(needs(snapshot).capacity, 1e-300)
    near = Neighbours(problem_of(snapshot, movable))

    def fondest(task: int, fitting: Ints, node: Ints, room: Room) -> int:
        there = node[near.of(task)]
        known = there != UNPLACED
        exchanged = np.bincount(
            there[known], near.exchanged(task)[known], minlength=len(snapshot.nodes)
        )
        free = np.clip(room.free / capacity, 0.0, 1.0).min(axis=1, initial=1.0)
        score = exchanged[fitting] * free[fitting]
        return int(np.lexsort((-free[fitting], -score))[0])

    return deal(snapshot, movable, by_vertex_in_turn(snapshot), fondest)
