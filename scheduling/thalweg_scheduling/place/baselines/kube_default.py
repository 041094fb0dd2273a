"""kube-scheduler with its default plugins, as far as they tell our nodes apart.

NodeResourcesFit (least allocated) and NodeResourcesBalancedAllocation with weight 1, and
PodTopologySpread with its built-in constraints (zone and host, soft) with weight 2. Scores go from
0 to 100; the spread score is counted down from the node with most pods of the same vertex. Ties go
to the first node, where kube-scheduler draws one.
"""

import numpy as np

from thalweg_scheduling.measure.needs import needs
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.dealing import deal
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_like_kube(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """Deal tasks in their order, each to the node with the highest score."""
    wanted = needs(snapshot)
    capacity = np.maximum(wanted.capacity, 1e-300)

    def highest(task: int, fitting: Ints, node: Ints, room: Room) -> int:
        used = 1.0 - (room.free[fitting] - wanted.demand[task]) / capacity[fitting]
        used = np.clip(used, 0.0, 1.0)
        least = 100 * (1.0 - used.mean(axis=1)) if used.shape[1] else np.zeros(len(fitting))
        balanced = 100 * (1.0 - used.std(axis=1)) if used.shape[1] else np.zeros(len(fitting))
        return int(np.argmax(least + balanced + 2 * _spread(snapshot, task, node, fitting)))

    return deal(snapshot, movable, range(len(snapshot.placement)), highest)


def _spread(snapshot: Snapshot, task: int, node: Ints, fitting: Ints) -> Floats:
    """100 where the fewest siblings are, by host and by domain."""
    siblings = node[(snapshot.vertex_of == snapshot.vertex_of[task]) & (node != UNPLACED)]
    hosts = np.bincount(siblings, minlength=len(snapshot.nodes)).astype(np.float64)
    domains = np.bincount(snapshot.domain_of[siblings], minlength=len(snapshot.domains))
    crowd = hosts[fitting] + domains[snapshot.domain_of[fitting]]
    low, high = float(crowd.min()), float(crowd.max())
    if high == low:
        return np.full(len(fitting), 100.0)
    score: Floats = 100.0 * (high - crowd) / (high - low)
    return score
