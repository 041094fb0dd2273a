"""NetworkOverhead, the network-aware plugin of kubernetes-sigs/scheduler-plugins (KEP-260).

Pods come in topological order. A node's cost is the sum over the pod's dependencies that run
already: 0 on the same host, 1 in the same zone, else the cost between the zones. It knows who talks
with whom and not how much. Ties go to the node with the least allocated.
"""

import numpy as np

from thalweg_scheduling.measure.distance import dense_s, distances
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.dealing import by_vertex_in_turn, deal
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_network_aware(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """Deal tasks to the node that is nearest to what they depend on."""
    cost = _zone_costs(snapshot)
    linked = np.zeros((len(snapshot.vertices), len(snapshot.vertices)), dtype=np.bool_)
    for edge in snapshot.edges:
        linked[edge.source, edge.target] = linked[edge.target, edge.source] = True

    def cheapest(task: int, fitting: Ints, node: Ints, room: Room) -> int:
        related = linked[snapshot.vertex_of[task]][snapshot.vertex_of] & (node != UNPLACED)
        there = np.bincount(node[related], minlength=len(snapshot.nodes))
        total = cost[fitting] @ there
        return int(np.lexsort((room.tasks_on[fitting], total))[0])

    order = sorted(by_vertex_in_turn(snapshot), key=lambda task: int(snapshot.vertex_of[task]))
    return deal(snapshot, movable, order, cheapest)


def _zone_costs(snapshot: Snapshot) -> Floats:
    """Shape (nodes, nodes): 0 on the host, 1 in the zone, else in units of that."""
    seconds = dense_s(distances(snapshot))
    near = snapshot.domain_of[:, None] == snapshot.domain_of[None, :]
    inside = near & ~np.eye(len(seconds), dtype=np.bool_)
    unit = float(seconds[inside].mean()) if inside.any() else snapshot.latency.classes.same_domain_s
    cost = np.where(near, 1.0, np.round(seconds / max(unit, 1e-300)))
    np.fill_diagonal(cost, 0.0)
    return cost
