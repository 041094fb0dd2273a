"""Karpenter's consolidation, as a baseline.

Nodes are sorted by what disrupting them costs (the tasks on them); of at most a hundred of them
the longest prefix that can go at once is found by halving, each probe a simulation in which their
tasks, largest first, go to the first of the other nodes that has room. When no prefix of two or
more can go, nodes are tried one by one. Both are repeated until nothing changes, as its loop does.
What it can do and we leave out: replacing nodes by cheaper ones.
"""

import numpy as np

from thalweg_scheduling.hibernate.packers import by_largest
from thalweg_scheduling.hibernate.packing import Filling, Packing, filled_as_it_is
from thalweg_scheduling.hibernate.sleeping import Gate, Sleep, SleepLimits
from thalweg_scheduling.model.arrays import Ints

MOST_CANDIDATES = 100


def sleep_by_prefix(packing: Packing, limits: SleepLimits) -> Sleep:
    """Say what Karpenter would consolidate."""
    filling = filled_as_it_is(packing)
    if filling is None:
        return Sleep.nobody(packing)
    gate = limits.gate(packing)
    asleep: list[int] = []
    while True:
        candidates = _candidates(filling, gate)
        gone = _longest_prefix(filling, candidates) or _first_single(filling, candidates)
        if not gone:
            break
        for node in gone:
            gate.pass_through(node)
        asleep += gone
    return Sleep(asleep=np.array(asleep, dtype=np.int64), node=packing.assigned(filling.counts))


def _candidates(filling: Filling, gate: Gate) -> list[int]:
    """Those that may go together, the cheapest to disrupt first."""
    tasks = filling.counts.sum(axis=0)
    order = np.argsort(tasks, kind="stable")
    return gate.leaving(order[filling.awake[order]])[:MOST_CANDIDATES]


def _longest_prefix(filling: Filling, candidates: list[int]) -> list[int]:
    best, low, high = 0, 2, len(candidates)
    while low <= high:
        middle = (low + high) // 2
        if _try(filling, candidates[:middle], keep=False):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    return candidates[:best] if best and _try(filling, candidates[:best], keep=True) else []


def _first_single(filling: Filling, candidates: list[int]) -> list[int]:
    return next(([node] for node in candidates if _try(filling, [node], keep=True)), [])


def _try(filling: Filling, nodes: list[int], *, keep: bool) -> bool:
    """Whether the tasks of these nodes fit on the others; if so and asked to, put them there."""
    packing = filling.packing
    leaving = filling.counts[:, nodes].sum(axis=1)
    filling.awake[nodes] = False
    order = np.flatnonzero(filling.awake)
    done: list[tuple[int, Ints]] = []
    fits = True
    for kind in by_largest(packing).tolist():
        if not leaving[kind]:
            continue
        out = np.zeros(packing.nodes, dtype=np.int64)
        out[nodes] = -filling.counts[kind, nodes]
        filling.put(kind, out)
        taken = filling.fill(kind, int(leaving[kind]), order)
        done.append((kind, taken + out))
        fits = int(taken.sum()) == leaving[kind]
        if not fits:
            break
    fits = fits and filling.is_spread()
    if not (fits and keep):
        for kind, change in done:
            filling.put(kind, -change)
        filling.awake[nodes] = True
    return fits
