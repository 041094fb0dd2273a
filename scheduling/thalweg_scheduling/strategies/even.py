"""Even: as many tasks here as there, Storm's default.

Tasks are dealt one by one to the node that has the fewest of this topology, nodes of different
domains taking turns, and nodes on which a task does not fit are passed over. It looks at no metric.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.dealing import deal
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_evenly(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """Deal the movable tasks to the nodes in turn."""
    turn = _turns(snapshot.domain_of)

    def emptiest(task: int, fitting: Ints, node: Ints, room: Room) -> int:  # noqa: ARG001
        return int(np.lexsort((turn[fitting], room.tasks_on[fitting]))[0])

    return deal(snapshot, movable, range(len(snapshot.placement)), emptiest)


def _turns(domain_of: Ints) -> Ints:
    """Each node's place in the round: the first of every domain, then the second of each."""
    within = np.zeros(len(domain_of), dtype=np.int64)
    seen: dict[int, int] = {}
    for node, domain in enumerate(domain_of):
        within[node] = seen.get(int(domain), 0)
        seen[int(domain)] = int(within[node]) + 1
    turns = np.empty(len(domain_of), dtype=np.int64)
    turns[np.lexsort((domain_of, within))] = np.arange(len(domain_of))
    return turns
