"""TOP-Storm-like: along the topology, filling the strongest node before the next one is begun.

After the description of TOP-Storm (Cluster Computing 24, 2021) in the papers that compare with it:
it knows the topology and the resources and not the rates. Tasks come so that those of one pipeline
follow each other; a node is left when the next task does not fit any more.
"""

import numpy as np

from thalweg_scheduling.measure.needs import needs
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.dealing import by_vertex_in_turn, deal
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_like_top_storm(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """Deal tasks pipeline by pipeline to the strongest node that still has room."""
    capacity = np.maximum(needs(snapshot).capacity, 0.0)
    share = capacity / np.maximum(capacity.sum(axis=0), 1e-300)
    strength = share.sum(axis=1)

    def strongest(task: int, fitting: Ints, node: Ints, room: Room) -> int:  # noqa: ARG001
        begun = room.tasks_on[fitting] > 0
        return int(np.lexsort((fitting, -strength[fitting], ~begun))[0])

    return deal(snapshot, movable, by_vertex_in_turn(snapshot), strongest)
