"""What tasks take from nodes: what they request, and what they were seen to use.

Requests may fill a node, as kube-scheduler allows. Measured use may fill only a share of it, since
a node that is really full queues. Both are columns of one table, so that nobody forgets one.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints, frozen_floats
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

# Requests are sums of decimal fractions: what fits on paper must fit here too.
TOLERANCE = 1e-9

_MEASURED = (("cpu", "cpu_cores"), ("memory", "memory_bytes"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Needs:
    """Named columns of what is taken and what is there."""

    words: tuple[str, ...]
    demand: Floats
    """Shape (tasks, columns)."""
    capacity: Floats
    """Shape (nodes, columns), with the tolerance already added."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "demand", frozen_floats(self.demand))
        object.__setattr__(self, "capacity", frozen_floats(self.capacity))


def needs(snapshot: Snapshot) -> Needs:
    """Requests, and measured use where there is any."""
    words, demand, capacity = list(snapshot.resources), [snapshot.demand], [snapshot.capacity]
    headroom = snapshot.limits.placement.use_headroom
    for word, field in _MEASURED:
        if snapshot.loads is None or word not in snapshot.resources:
            continue
        used = getattr(snapshot.loads, field)
        known = np.isfinite(used) & (used >= 0)
        if not known.any():
            continue
        requested = snapshot.demand[:, snapshot.resources.index(word)]
        # An unmeasured task counts so that requests alone can still fill the node.
        demand.append(np.where(known, used, requested * headroom)[:, None])
        capacity.append(snapshot.capacity[:, [snapshot.resources.index(word)]] * headroom)
        words.append(f"{word} (measured use)")
    there = np.concatenate(capacity, axis=1)
    return Needs(
        words=tuple(words),
        demand=np.concatenate(demand, axis=1),
        capacity=there + TOLERANCE * np.maximum(1.0, np.abs(there)),
    )


def taken(wanted: Needs, node: Ints) -> Floats:
    """Shape (nodes, columns): what the placed tasks take."""
    placed = np.flatnonzero(node != UNPLACED)
    nodes, columns = wanted.capacity.shape
    sums = np.zeros((nodes, columns))
    for column in range(columns):
        sums[:, column] = np.bincount(
            node[placed], weights=wanted.demand[placed, column], minlength=nodes
        )
    return sums


def exceeded(wanted: Needs, node: Ints) -> Bools:
    """Shape (nodes, columns): where more is taken than there is; nothing taken exceeds nothing."""
    sums = taken(wanted, node)
    over: Bools = (sums > wanted.capacity) & (sums > 0)
    return over


def overloaded(wanted: Needs, node: Ints) -> Bools:
    """Shape (nodes,): the nodes on which anything is exceeded."""
    return np.asarray(exceeded(wanted, node).any(axis=1), dtype=np.bool_)
