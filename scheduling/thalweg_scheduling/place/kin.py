"""Tasks that can stand in for each other, taken together: only their numbers matter."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.place.dense import Dense
from thalweg_scheduling.place.problem import Problem

_NOTHING = 1e-12
"""Less of any resource than this is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Branch:
    """What is placed so far, and what each class would cost beside it."""

    value: float
    costs: Floats
    """Shape (classes, nodes)."""
    free: Floats
    """Shape (nodes, resources)."""
    held: Ints
    """Shape (nodes,): how many tasks each node has."""
    left: Ints
    """Shape (classes,): how many tasks of each are still to come."""
    floor: int = 0
    """The first node on which the next task of the class in hand may be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Kin:
    """The movable tasks of a small problem, class by class."""

    tasks: Ints
    class_of: Ints
    """Shape (tasks,): ascending."""
    sizes: Ints
    demand: Floats
    """Shape (classes, resources)."""
    allowed: Bools
    """Shape (classes, nodes)."""
    rate: Floats
    """Shape (classes, classes): tuples/s from one task of a class to one of another."""
    seconds: Floats
    """Shape (nodes, nodes)."""
    twin: Ints
    """Shape (nodes,): nodes that can stand in for each other have the same number."""
    begun: Branch
    """With only the tasks that stay."""


def kin_of(problem: Problem, dense: Dense) -> Kin:
    """The classes of a problem, those that talk most first."""
    groups = _classes(dense)
    heads = np.array([group[0] for group in groups], dtype=np.int64)
    sizes = np.array([len(group) for group in groups], dtype=np.int64)
    rate = dense.sent[np.ix_(heads, heads)]
    for position, group in enumerate(groups):
        rate[position, position] = dense.sent[group[0], group[1]] if len(group) > 1 else 0.0
    return Kin(
        tasks=np.array([task for group in groups for task in group], dtype=np.int64),
        class_of=np.repeat(np.arange(len(groups)), sizes),
        sizes=sizes,
        demand=dense.demand[heads],
        allowed=dense.allowed[heads],
        rate=rate,
        seconds=dense.seconds,
        twin=_twins(problem, dense),
        begun=_begun(problem, dense, heads, sizes),
    )


def least_between(kin: Kin) -> Floats:
    """Shape (classes, classes): the least that two classes can cost each other; upper triangle."""
    count = len(kin.sizes)
    least = np.zeros((count, count))
    for first in range(count):
        for second in range(first + 1, count):
            if kin.rate[first, second] + kin.rate[second, first] > 0:
                sides = (_least_beside(kin, first, second), _least_beside(kin, second, first))
                least[first, second] = max(sides)
    return least


def rooms_for(free: Floats, demand: Floats) -> Floats:
    """Shape (demands, nodes): how many tasks of each demand fit on each node."""
    # A task through which next to nothing flows is measured to use next to nothing.
    asks = demand > _NOTHING
    asked = np.where(asks, demand, np.inf)
    counts = np.floor((free[None, :, :] + _NOTHING) / asked[:, None, :])
    counts = np.where(asks[:, None, :], counts, 1e9)
    fits: Floats = np.maximum(counts.min(axis=2, initial=1e9), 0.0)
    return fits


def _least_beside(kin: Kin, one: int, other: int) -> float:
    """The least that the tasks of one class cost if each has its best place among the other's."""
    free, best = kin.begun.free, np.inf
    room = np.where(kin.allowed[other], rooms_for(free, kin.demand[[other]])[0], 0.0)
    for node in np.flatnonzero(kin.allowed[one]):
        near = room.copy()
        shared = rooms_for(free[[node]] - kin.demand[one], kin.demand[[other]])[0, 0]
        near[node] = min(near[node], shared)
        seconds = kin.rate[one, other] * kin.seconds[node]
        seconds = seconds + kin.rate[other, one] * kin.seconds[:, node]
        order = np.argsort(seconds, kind="stable")
        before = np.cumsum(near[order]) - near[order]
        taken = np.clip(kin.sizes[other] - before, 0.0, near[order])
        best = min(best, float(np.sum(taken[taken > 0] * seconds[order][taken > 0])))
    return float(kin.sizes[one] * best) if np.isfinite(best) else 0.0


def _classes(dense: Dense) -> list[list[int]]:
    """Movable tasks by class: first the one that talks most, then whoever talks most with those."""
    groups: list[list[int]] = []
    for task in np.flatnonzero(dense.allowed.any(axis=1)):
        mine = next((group for group in groups if dense.alike[group[0], task]), None)
        if mine is None:
            groups.append([int(task)])
        else:
            mine.append(int(task))
    volume = [float(dense.both[group].sum()) for group in groups]
    tied = np.zeros(len(dense.both))
    ordered = []
    while groups:
        ties = [float(tied[group].sum()) for group in groups]
        pick = max(range(len(groups)), key=lambda p: (ties[p], volume[p], -groups[p][0]))
        ordered.append(groups.pop(pick))
        volume.pop(pick)
        tied += dense.both[ordered[-1]].sum(axis=0)
    return ordered


def _twins(problem: Problem, dense: Dense) -> Ints:
    """Nodes that no task and no other node can tell apart."""
    snapshot = problem.snapshot
    numbers: dict[tuple[object, ...], int] = {}
    twin = np.zeros(len(dense.capacity), dtype=np.int64)
    for node in range(len(twin)):
        key = (
            int(problem.far.group_of[node]),
            float(problem.far.same[node]),
            int(snapshot.domain_of[node]),
            dense.capacity[node].tobytes(),
            dense.allowed[:, node].tobytes(),
            dense.price[:, node].tobytes(),
        )
        twin[node] = numbers.setdefault(key, len(numbers))
    return twin


def _begun(problem: Problem, dense: Dense, heads: Ints, sizes: Ints) -> Branch:
    placement = problem.snapshot.placement
    fixed = np.flatnonzero(~dense.allowed.any(axis=1))
    nodes = placement[fixed]
    costs = dense.price[heads] + dense.sent[np.ix_(heads, fixed)] @ dense.seconds.T[nodes]
    costs = costs + dense.sent[np.ix_(fixed, heads)].T @ dense.seconds[nodes]
    free = np.array(dense.capacity)
    np.subtract.at(free, nodes, dense.demand[fixed])
    pairs = dense.seconds[nodes][:, nodes]
    priced = dense.price[fixed, nodes].sum()
    return Branch(
        value=float(np.sum(dense.sent[np.ix_(fixed, fixed)] * pairs) + priced),
        costs=costs,
        free=free,
        held=np.bincount(nodes, minlength=len(dense.capacity)),
        left=sizes,
    )
