"""A placement as a proposal, with a word on each task that got no node."""

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.plan import Missing
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.proposal import Proposal, processes_for
from thalweg_scheduling.place.room import Room


def proposed(snapshot: Snapshot, node: Ints, notes: tuple[str, ...] = ()) -> Proposal:
    """The placement, with processes and what is missing."""
    return Proposal(
        node=node,
        process=processes_for(snapshot, node),
        missing=_missing(snapshot, node),
        notes=notes,
    )


def _missing(snapshot: Snapshot, node: Ints) -> tuple[Missing, ...]:
    homeless = np.flatnonzero(node == UNPLACED)
    if homeless.size == 0:
        return ()
    room = Room(snapshot, np.zeros(len(node), dtype=np.bool_))
    for task in np.flatnonzero(node != UNPLACED):
        room.put(int(task), int(node[task]))
    return tuple(room.missing(int(task)) for task in homeless)
