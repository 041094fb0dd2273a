"""Large clusters of few kinds of nodes and tasks, as a cutting-stock problem.

A pattern is what one node could hold. Which patterns to use, and how often, is a linear program
with a row for each kind of task and each kind of node; new patterns are sought where its prices say
that they would pay (Gilmore and Gomory 1961). The whole part of the answer is packed as it says;
the rest, less than one node for each row, goes node by node.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.hibernate.packers import best_match
from thalweg_scheduling.hibernate.packing import Filling, Packing
from thalweg_scheduling.hibernate.sleeping import SleepLimits
from thalweg_scheduling.model.arrays import Floats, Ints

MOST_ROWS = 120
MOST_ROUNDS = 30

# So near to the bound there is nothing left to gain.
_NEAR_ENOUGH = 0.0025


@dataclass(frozen=True, slots=True, kw_only=True)
class _Nodes:
    """Nodes that are alike, in the order in which they are used."""

    members: Ints
    price: float
    """What it costs to have one of them awake: nothing where it is awake anyhow."""


@dataclass(slots=True, kw_only=True)
class _Pool:
    """The patterns found so far."""

    counts: list[Ints]
    of: list[int]
    """The kind of node that each is for."""

    def add(self, kind: int, counts: Ints) -> bool:
        """Keep a pattern, unless it is there already."""
        known = any(
            self.of[i] == kind and np.array_equal(self.counts[i], counts)
            for i in range(len(self.of))
        )
        if not known:
            self.counts.append(counts)
            self.of.append(kind)
        return not known


def pack_by_patterns(
    packing: Packing, limits: SleepLimits, start: Filling, *, fewest: int
) -> Filling | None:
    """Pack anew by patterns, beginning with those of `start`.

    It ends when `fewest` nodes, which is a bound, are as good as reached. None where there are
    too many kinds, or where domains matter, of which patterns know nothing.
    """
    nodes = _kinds_of_nodes(packing, limits)
    if packing.minds_domains or len(nodes) + len(packing.wanted) > MOST_ROWS:
        return None
    pool = _Pool(counts=[], of=[])
    for kind, group in enumerate(nodes):
        for column in np.unique(start.counts[:, group.members], axis=1).T:
            if column.any():
                pool.add(kind, column)
    for_nothing = sum(len(group.members) for group in nodes if group.price == 0)
    usage = _solve(packing, nodes, pool)
    for _ in range(MOST_ROUNDS):
        if usage is None or usage.price + for_nothing <= fewest * (1 + _NEAR_ENOUGH):
            break
        if not _grow(packing, nodes, pool, usage):
            break
        usage = _solve(packing, nodes, pool)
    return None if usage is None else _realised(packing, nodes, pool, usage.times)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usage:
    """An answer of the linear program."""

    price: float
    """What it costs: the nodes that are awake for it."""
    times: Floats
    """How often each pattern is used."""
    worth: Floats
    """Shape (kinds,): what placing one task of a kind saves."""
    rent: Floats
    """Shape (kinds of nodes,): what one more node of a kind would save."""


def _solve(packing: Packing, nodes: list[_Nodes], pool: _Pool) -> _Usage | None:
    from scipy.optimize import linprog

    holds = np.array(pool.counts, dtype=np.float64).T
    is_on = (np.arange(len(nodes))[:, None] == np.array(pool.of)[None, :]).astype(np.float64)
    there = np.array([len(group.members) for group in nodes], dtype=np.float64)
    answer = linprog(
        np.array([nodes[kind].price for kind in pool.of]),
        A_ub=np.vstack([-holds, is_on]),
        b_ub=np.concatenate([-packing.wanted.astype(np.float64), there]),
        method="highs",
    )
    if answer.x is None:
        return None
    marginals = np.asarray(answer.ineqlin.marginals)
    kinds = len(packing.wanted)
    return _Usage(
        price=float(answer.fun),
        times=answer.x,
        worth=-marginals[:kinds],
        rent=-marginals[kinds:],
    )


def _grow(packing: Packing, nodes: list[_Nodes], pool: _Pool, usage: _Usage) -> bool:
    """Add patterns that would pay; False when none is found."""
    found = False
    best: dict[tuple[bytes, bytes], Ints] = {}
    for kind, group in enumerate(nodes):
        node = int(group.members[0])
        alike = packing.likeness(node)[:2]
        if alike not in best:
            best[alike] = _worth_most(packing, node, usage.worth)
        gain = float(usage.worth @ best[alike]) - group.price - float(usage.rent[kind])
        if gain > 1e-6:
            found |= pool.add(kind, best[alike])
    return found


def _worth_most(packing: Packing, node: int, worth: Floats) -> Ints:
    """What one node could hold that is worth most, or nearly so.

    A knapsack with several limits: the linear answer rounded down is short of a few tasks at most;
    what is left is filled by worth for what it takes, at the prices that the linear answer has.
    """
    from scipy.optimize import linprog

    counts = np.zeros(len(packing.wanted), dtype=np.int64)
    most = Filling(packing, np.ones(packing.nodes, dtype=np.bool_)).most_on(node)
    able = np.flatnonzero((most > 0) & (worth > 1e-9))
    limiting = np.flatnonzero(packing.demand[able].any(axis=0))
    if not able.size or not limiting.size:
        counts[able] = most[able]
        return counts
    share = packing.demand[able][:, limiting] / packing.capacity[node, limiting]
    answer = linprog(
        -worth[able],
        A_ub=share.T,
        b_ub=np.ones(len(limiting)),
        bounds=np.column_stack([np.zeros(len(able)), most[able]]),
        method="highs",
    )
    prices = -np.asarray(answer.ineqlin.marginals)
    counts[able] = _rounded(answer.x, share, worth[able], prices, most[able])
    return counts


def _rounded(linear: Floats, share: Floats, worth: Floats, prices: Floats, most: Ints) -> Ints:
    order = np.argsort(-worth / np.maximum(share @ prices, 1e-12), kind="stable")
    floor = np.floor(linear + 1e-9).astype(np.int64)
    # As the linear answer says, or with one less of something that it uses.
    starts = [floor]
    for kind in np.flatnonzero(floor):
        fewer = np.array(floor)
        fewer[kind] -= 1
        starts.append(fewer)
    filled = [_filled_up(start, share, order, most) for start in starts]
    return max(filled, key=lambda counts: float(worth @ counts))


def _filled_up(start: Ints, share: Floats, order: Ints, most: Ints) -> Ints:
    """Add as many as fit of each kind, in this order."""
    counts = np.array(start)
    free = 1 + 1e-9 - counts @ share
    for kind in order.tolist():
        asked = share[kind] > 0
        room = np.min(free[asked] / share[kind][asked], initial=float(most[kind]))
        more = min(int(max(0.0, room)), int(most[kind] - counts[kind]))
        counts[kind] += more
        free = free - more * share[kind]
    return counts


def _realised(packing: Packing, nodes: list[_Nodes], pool: _Pool, times: Floats) -> Filling | None:
    """Pack the whole part by patterns, the rest node by node."""
    filling = Filling(packing, np.ones(packing.nodes, dtype=np.bool_))
    left = np.array(packing.wanted)
    unused = [group.members.tolist() for group in nodes]
    for position in np.argsort(-times, kind="stable").tolist():
        kind = pool.of[position]
        for _ in range(int(times[position] + 1e-9)):
            counts = np.minimum(pool.counts[position], left)
            if not counts.any() or not unused[kind]:
                break
            node = unused[kind].pop(0)
            filling.counts[:, node] += counts
            filling.free[node] -= counts @ packing.demand
            left -= counts
    size = np.maximum(packing.capacity, 0.0) @ filling.worth
    return best_match(packing, filling.awake, np.argsort(-size, kind="stable"), begun=filling)


def _kinds_of_nodes(packing: Packing, limits: SleepLimits) -> list[_Nodes]:
    """Nodes that are alike, those with much on them first: they are the better ones to keep."""
    used = packing.present().sum(axis=0)
    order = np.argsort(-used, kind="stable")
    kept = limits.awake_anyhow(packing, order)
    groups: dict[tuple[bytes, bytes, bool], list[int]] = {}
    for node in order.tolist():
        capacity, allowed, _ = packing.likeness(node)
        groups.setdefault((capacity, allowed, bool(kept[node])), []).append(node)
    return [
        _Nodes(members=np.array(members), price=0.0 if for_nothing else 1.0)
        for (_, _, for_nothing), members in groups.items()
    ]
