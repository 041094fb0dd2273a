"""Lc-Stream-like: the critical path first, each task in the domain nearest to what feeds it.

After the description of Lc-Stream in Md-Stream, which compares with it: it keeps the latency of the
critical path low across domains and balances the load inside them. It knows latencies and rates of
whole edges, and not which of the tasks talk most.
"""

import numpy as np

from thalweg_scheduling.measure.distance import distances, seconds_between
from thalweg_scheduling.measure.rates import search_rates
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.dealing import deal
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room


def place_like_lc_stream(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
) -> Proposal:
    """Deal vertices from the busiest path on, each task near its senders, then where it is idle."""
    far = distances(snapshot)
    feeds = np.zeros((len(snapshot.vertices), len(snapshot.vertices)), dtype=np.bool_)
    for edge in snapshot.edges:
        feeds[edge.target, edge.source] = True

    def nearest(task: int, fitting: Ints, node: Ints, room: Room) -> int:
        placed = node != UNPLACED
        above = feeds[snapshot.vertex_of[task]][snapshot.vertex_of] & placed
        # Nothing feeds a source: it goes to the others.
        there = node[above] if above.any() else node[placed]
        reach = np.zeros(len(fitting))
        if there.size:
            seconds = seconds_between(far, there[:, None], fitting[None, :])
            # Of a domain all nodes are alike to it: it balances them.
            reach = _least_of(snapshot.domain_of[fitting], seconds.mean(axis=0))
        return int(np.lexsort((fitting, room.tasks_on[fitting], reach))[0])

    return deal(snapshot, movable, _busiest_path_first(snapshot), nearest)


def _least_of(group: Ints, values: Floats) -> Floats:
    least = np.full(int(group.max()) + 1, np.inf)
    np.minimum.at(least, group, values)
    return least[group]


def _busiest_path_first(snapshot: Snapshot) -> list[int]:
    """One task of each vertex in turn; of vertices equally far from the source, the busier one."""
    rates = search_rates(snapshot)
    busy = np.bincount(
        snapshot.vertex_of[rates.target], rates.per_s, minlength=len(snapshot.vertices)
    )
    depth = np.zeros(len(snapshot.vertices), dtype=np.int64)
    for _ in snapshot.vertices:
        for edge in snapshot.edges:
            depth[edge.target] = max(depth[edge.target], depth[edge.source] + 1)
    index = np.array([task.index for task in snapshot.tasks], dtype=np.int64)
    vertex = snapshot.vertex_of
    return [int(task) for task in np.lexsort((-busy[vertex], depth[vertex], index))]
