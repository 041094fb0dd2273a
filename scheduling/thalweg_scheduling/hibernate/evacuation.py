"""Moving everything off some nodes, so that they can be closed."""

import numpy as np

from thalweg_scheduling.hibernate.packing import Filling
from thalweg_scheduling.hibernate.sleeping import Gate, Sleep, SleepLimits
from thalweg_scheduling.model.arrays import Ints

# After so many nodes in a row that cannot be emptied, fuller ones are not tried any more.
PATIENCE = 20


def evacuate(filling: Filling, nodes: list[int], *, tightly: bool = True) -> bool:
    """Close these nodes and put what is on them on the others; or leave all as it was.

    Largest tasks first; to the fullest nodes, or, if not `tightly`, to the first that have room.
    """
    filling.awake[nodes] = False
    leaving = filling.counts[:, nodes].sum(axis=1)
    kinds = np.flatnonzero(leaving)
    size = filling.packing.demand[kinds] @ filling.worth
    done: list[tuple[int, Ints]] = []
    fits = True
    for kind in kinds[np.argsort(-size, kind="stable")].tolist():
        out = np.zeros(filling.packing.nodes, dtype=np.int64)
        out[nodes] = -filling.counts[kind, nodes]
        filling.put(kind, out)
        order = np.flatnonzero(filling.awake)
        if tightly:
            order = order[np.argsort(filling.free[order] @ filling.worth, kind="stable")]
        taken = filling.fill(kind, int(leaving[kind]), order)
        done.append((kind, taken + out))
        fits = int(taken.sum()) == leaving[kind]
        if not fits:
            break
    if fits and filling.is_spread():
        return True
    for kind, change in done:
        filling.put(kind, -change)
    filling.awake[nodes] = True
    return False


def closed(filling: Filling, limits: SleepLimits) -> Sleep:
    """Close as many nodes as possible, idle ones first, then the least loaded.

    As many as can go all at once are found by halving; after them, one by one.
    """
    packing = filling.packing
    gate = limits.gate(packing)
    now = packing.present().sum(axis=0)
    order = np.lexsort((now, filling.load()))
    asleep = longest_prefix(filling, gate.leaving(order))
    for node in asleep:
        gate.pass_through(node)
    asleep += _one_by_one(filling, gate, order[filling.awake[order]])
    return Sleep(asleep=np.array(asleep, dtype=np.int64), node=packing.assigned(filling.counts))


def longest_prefix(
    filling: Filling, candidates: list[int], *, least: int = 1, tightly: bool = True
) -> list[int]:
    """Close as many of the first candidates as can be closed at once, found by halving."""
    low, high, best = least, len(candidates), 0
    while low <= high:
        middle = (low + high) // 2
        if evacuate(filling.copy(), candidates[:middle], tightly=tightly):
            best, low = middle, middle + 1
        else:
            high = middle - 1
    if best:
        evacuate(filling, candidates[:best], tightly=tightly)
    return candidates[:best]


def _one_by_one(filling: Filling, gate: Gate, order: Ints) -> list[int]:
    asleep: list[int] = []
    failures = 0
    for node in order.tolist():
        if not gate.lets(node):
            continue
        if evacuate(filling, [node]):
            gate.pass_through(node)
            asleep.append(node)
            failures = 0
        else:
            failures += 1
        if failures > PATIENCE:
            break
    return asleep
