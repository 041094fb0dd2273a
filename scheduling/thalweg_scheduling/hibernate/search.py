"""The fewest nodes that hold everything.

Several ways, from the cheap to the dear, until a bound is reached that none can beat: evacuate one
node after the other from where everything is now (few moves); pack everything anew, big things
first; pack by patterns (large clusters of few kinds); and, for small clusters, solve it exactly.
Of two answers with as many sleepers the one with fewer moves is taken.
"""

from collections.abc import Iterator

import numpy as np

from thalweg_scheduling.hibernate.evacuation import closed, evacuate
from thalweg_scheduling.hibernate.exact import pack_exactly
from thalweg_scheduling.hibernate.packers import (
    ORDERS,
    Packer,
    best_fit,
    best_match,
    first_fit,
)
from thalweg_scheduling.hibernate.packing import Filling, Packing, filled_as_it_is
from thalweg_scheduling.hibernate.patterns import pack_by_patterns
from thalweg_scheduling.hibernate.sleeping import Sleep, SleepLimits
from thalweg_scheduling.model.arrays import Ints

# Up to this many counts, kinds times nodes, the exact answer takes about a second.
SMALL = 600

# Above this many nodes only one order of nodes is tried: more take longer and find no more.
MANY = 100


def sleep_most(packing: Packing, limits: SleepLimits) -> Sleep:
    """Find as many nodes as possible that may sleep at the same time."""
    fewest = packing.nodes - most_that_may_sleep(packing, limits)
    best = evacuated(packing, limits)
    if packing.nodes - len(best.asleep) <= fewest:
        return best
    for filling in _anew(packing, limits, fewest):
        best = _better(packing, best, closed(filling, limits))
        if packing.nodes - len(best.asleep) <= fewest:
            break
    awake = packing.nodes - len(best.asleep)
    if awake > fewest and _is_small(packing):
        exact = pack_exactly(packing, limits, fewest=fewest, most=awake - 1)
        if exact is not None:
            best = _better(packing, best, closed(exact, limits))
    return _settled(packing, best)


def _anew(packing: Packing, limits: SleepLimits, fewest: int) -> Iterator[Filling]:
    """Everything packed anew: the tightest of several packings, and what patterns make of it."""
    tightest = min(_packings(packing, limits), key=_nodes_used, default=None)
    if tightest is None:
        return
    yield tightest.copy()
    if _is_small(packing):
        return
    by_patterns = pack_by_patterns(packing, limits, tightest, fewest=fewest)
    if by_patterns is not None:
        yield by_patterns


def most_that_may_sleep(packing: Packing, limits: SleepLimits) -> int:
    """A bound that no packing can beat: what the largest nodes hold, and what the limits say."""
    wanted = packing.wanted @ packing.demand
    largest = -np.sort(-np.maximum(packing.capacity, 0.0), axis=0)
    held = np.cumsum(largest, axis=0)
    needed = np.count_nonzero(held < wanted * (1 - 1e-9), axis=0) + (wanted > 0)
    fewest = int(np.max(needed, initial=0))
    return min(packing.nodes - fewest, len(limits.thinned(packing, np.arange(packing.nodes))))


def evacuated(packing: Packing, limits: SleepLimits) -> Sleep:
    """Empty one node after the other, the least loaded first, moving nothing else."""
    filling = filled_as_it_is(packing)
    return Sleep.nobody(packing) if filling is None else closed(filling, limits)


def _packings(packing: Packing, limits: SleepLimits) -> Iterator[Filling]:
    """Everything packed anew, in several ways."""
    for nodes in _orders_of_nodes(packing, limits):
        for packer in _packers(packing):
            filling = packer(packing, np.ones(packing.nodes, dtype=np.bool_), nodes)
            if filling is not None:
                yield filling


def _packers(packing: Packing) -> tuple[Packer, ...]:
    orders = ORDERS if not packing.allowed.all() else ORDERS[:2]
    packers: list[Packer] = [fit(order) for fit in (first_fit, best_fit) for order in orders]
    # Node by node nothing is known of domains; where they matter, it is left out.
    if not packing.minds_domains:
        packers.append(best_match)
    return tuple(packers)


def _is_small(packing: Packing) -> bool:
    return packing.nodes * len(packing.wanted) <= SMALL


def _nodes_used(filling: Filling) -> int:
    return int(np.count_nonzero(filling.counts.sum(axis=0)))


def _orders_of_nodes(packing: Packing, limits: SleepLimits) -> tuple[Ints, ...]:
    """Nodes that stay awake anyhow, then the largest; or, then the fullest as it is now."""
    size = np.maximum(packing.capacity, 0.0) @ packing.scarcity()
    used = (packing.present().T @ packing.demand) @ packing.scarcity()
    orders = []
    for first, second in ((size, used), (used, size)):
        order = np.lexsort((-second, -first))
        kept = limits.awake_anyhow(packing, order)
        orders.append(order[np.argsort(~kept[order], kind="stable")])
    return tuple(orders) if packing.nodes <= MANY else tuple(orders[:1])


def _settled(packing: Packing, sleep: Sleep) -> Sleep:
    """The same sleepers with fewer moves: only what is on them moves, if that fits."""
    filling = filled_as_it_is(packing)
    if filling is None or not evacuate(filling, sleep.asleep.tolist()):
        return sleep
    settled = Sleep(asleep=sleep.asleep, node=packing.assigned(filling.counts))
    return _better(packing, sleep, settled)


def _better(packing: Packing, one: Sleep, other: Sleep) -> Sleep:
    return min(one, other, key=lambda sleep: (-len(sleep.asleep), sleep.moved(packing)))
