"""The fewest nodes that hold everything.

Three ways, and the best of them counts: evacuate one node after the other from where everything
is now (few moves); pack everything anew, big things first, in several orders, and evacuate from
there (few nodes); and, on small clusters where neither reaches the bound, solve it exactly. Of two
answers with as many sleepers the one with fewer moves is taken.
"""

from collections.abc import Iterator

import numpy as np

from thalweg_scheduling.hibernate.exact import pack_exactly
from thalweg_scheduling.hibernate.packers import (
    ORDERS,
    Packer,
    best_fit,
    best_match,
    first_fit,
    scarcity,
)
from thalweg_scheduling.hibernate.packing import Filling, Packing, filled_as_it_is
from thalweg_scheduling.hibernate.sleeping import Sleep, SleepLimits
from thalweg_scheduling.model.arrays import Ints

# Up to this many counts, kinds times nodes, the exact answer takes about a second.
SMALL = 600

# After so many nodes in a row that cannot be emptied, fuller ones are not tried any more.
PATIENCE = 20


def sleep_most(packing: Packing, limits: SleepLimits) -> Sleep:
    """Find as many nodes as possible that may sleep at the same time."""
    best = evacuated(packing, limits)
    enough = most_that_may_sleep(packing, limits)
    if len(best.asleep) < enough:
        tightest = min(_packings(packing, limits), key=_nodes_used, default=None)
        if tightest is not None:
            best = _better(packing, best, _closed(tightest, limits))
    if len(best.asleep) < enough and packing.nodes * len(packing.wanted) <= SMALL:
        exact = pack_exactly(
            packing,
            limits,
            fewest=packing.nodes - enough,
            most=packing.nodes - len(best.asleep) - 1,
        )
        if exact is not None:
            best = _better(packing, best, _closed(exact, limits))
    return _settled(packing, best)


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
    return Sleep.nobody(packing) if filling is None else _closed(filling, limits)


def _closed(filling: Filling, limits: SleepLimits) -> Sleep:
    """Close as many nodes as possible, idle ones first, then the least loaded."""
    packing = filling.packing
    gate = limits.gate(packing)
    now = packing.present().sum(axis=0)
    asleep: list[int] = []
    failures = 0
    for node in np.lexsort((now, filling.load())).tolist():
        if not gate.lets(node):
            continue
        if evacuate(filling, node):
            gate.pass_through(node)
            asleep.append(node)
            failures = 0
        else:
            failures += 1
        if failures > PATIENCE:
            break
    return Sleep(asleep=np.array(asleep, dtype=np.int64), node=packing.assigned(filling.counts))


def evacuate(filling: Filling, node: int) -> bool:
    """Move everything off one node and close it, or leave all as it was."""
    packing = filling.packing
    here = np.flatnonzero(filling.counts[:, node])
    worth = scarcity(packing)
    filling.awake[node] = False
    done: list[tuple[int, Ints]] = []
    for kind in here[np.argsort(-(packing.demand[here] @ worth), kind="stable")].tolist():
        leaving = np.zeros(packing.nodes, dtype=np.int64)
        leaving[node] = -filling.counts[kind, node]
        filling.put(kind, leaving)
        fullest_first = np.argsort(filling.free @ worth, kind="stable")
        taken = filling.fill(kind, int(-leaving[node]), fullest_first)
        done.append((kind, taken + leaving))
        if int(taken.sum()) < -leaving[node]:
            break
    else:
        if filling.is_spread():
            return True
    for kind, change in done:
        filling.put(kind, -change)
    filling.awake[node] = True
    return False


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


def _nodes_used(filling: Filling) -> int:
    return int(np.count_nonzero(filling.counts.sum(axis=0)))


def _orders_of_nodes(packing: Packing, limits: SleepLimits) -> tuple[Ints, ...]:
    """Nodes that stay awake anyhow, then the largest; or, then the fullest as it is now."""
    size = np.maximum(packing.capacity, 0.0) @ scarcity(packing)
    used = (packing.present().T @ packing.demand) @ scarcity(packing)
    forced = ~limits.may_sleep(packing)
    orders = []
    for first, second in ((size, used), (used, size)):
        order = np.lexsort((-second, -first, ~forced))
        rank = _rank_in_domain(packing.domain_of[order])
        kept = forced[order] | (rank < limits.min_awake)
        orders.append(order[np.argsort(~kept, kind="stable")])
    return tuple(orders)


def _rank_in_domain(domain: Ints) -> Ints:
    seen: dict[int, int] = {}
    rank = np.empty(len(domain), dtype=np.int64)
    for position, value in enumerate(domain.tolist()):
        rank[position] = seen.get(value, 0)
        seen[value] = int(rank[position]) + 1
    return rank


def _settled(packing: Packing, sleep: Sleep) -> Sleep:
    """The same sleepers with fewer moves: only what is on them moves, if that fits."""
    filling = filled_as_it_is(packing)
    if filling is None:
        return sleep
    filling.awake[sleep.asleep] = False
    if not all(evacuate(filling, node) for node in sleep.asleep.tolist()):
        return sleep
    settled = Sleep(asleep=sleep.asleep, node=packing.assigned(filling.counts))
    return _better(packing, sleep, settled)


def _better(packing: Packing, one: Sleep, other: Sleep) -> Sleep:
    return min(one, other, key=lambda sleep: (-len(sleep.asleep), sleep.moved(packing)))
