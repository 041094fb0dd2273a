"""A small problem as full tables, so that one numpy call weighs every move and every swap."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.measure.distance import dense_s
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Dense:
    """T tasks, N nodes, R columns of needs."""

    sent: Floats
    """Shape (T, T): tuples/s from row to column."""
    both: Floats
    """Shape (T, T): tuples/s either way."""
    seconds: Floats
    """Shape (N, N)."""
    price: Floats
    """Shape (T, N): what being there costs in moves."""
    demand: Floats
    """Shape (T, R), in units of a mean node."""
    capacity: Floats
    """Shape (N, R), in the same units, at least 0."""
    allowed: Bools
    """Shape (T, N): whether the task may be put there at all."""
    alike: Bools
    """Shape (T, T): tasks that can stand in for each other."""
    ghost: Bools
    """Shape (T,): tasks that get no node whatever is decided; they weigh nothing here."""

    def costs(self, node: Ints) -> Floats:
        """Shape (T, N): what each task would cost on each node, all others as they are."""
        sending = self.sent @ self.seconds.T[node]
        receiving = self.sent.T @ self.seconds[node]
        total: Floats = sending + receiving + self.price
        return total


def dense_of(problem: Problem) -> Dense:
    """All tables of a small problem."""
    snapshot, rates = problem.snapshot, problem.rates
    tasks, nodes = snapshot.eligible.shape
    sent = np.zeros((tasks, tasks))
    np.add.at(sent, (rates.source, rates.target), rates.per_s)
    # A task's traffic with itself is on one node wherever that is.
    np.fill_diagonal(sent, 0.0)
    allowed = snapshot.eligible & problem.movable[:, None]
    ghost = (snapshot.placement == UNPLACED) | problem.movable
    ghost = ghost & ~allowed.any(axis=1)
    sent[ghost] = sent[:, ghost] = 0.0
    capacity = np.maximum(problem.needs.capacity, 0.0)
    scale = np.maximum(capacity.sum(axis=0) / max(nodes, 1), 1e-300)
    price = np.zeros((tasks, nodes))
    settled = np.flatnonzero(snapshot.placement != UNPLACED)
    price[settled] = problem.move_cost
    price[settled, snapshot.placement[settled]] = 0.0
    price[ghost] = 0.0
    demand = np.where(ghost[:, None], 0.0, problem.needs.demand / scale)
    return Dense(
        sent=sent,
        both=sent + sent.T,
        seconds=dense_s(problem.far),
        price=price,
        demand=demand,
        capacity=capacity / scale,
        allowed=allowed,
        alike=_alike(problem, sent, price),
        ghost=ghost,
    )


def _alike(problem: Problem, sent: Floats, price: Floats) -> Bools:
    """Tasks of one vertex that no search needs to tell apart."""
    snapshot = problem.snapshot
    tasks = len(sent)
    traits = np.concatenate(
        [problem.needs.demand, snapshot.eligible, price, problem.movable[:, None]], axis=1
    )
    alike = np.zeros((tasks, tasks), dtype=np.bool_)
    for first in range(tasks):
        for second in range(first + 1, tasks):
            if snapshot.vertex_of[first] != snapshot.vertex_of[second]:
                break
            same = np.array_equal(traits[first], traits[second]) and _same_traffic(
                sent, first, second
            )
            alike[first, second] = alike[second, first] = same
    return alike


def _same_traffic(sent: Floats, first: int, second: int) -> bool:
    others = np.ones(len(sent), dtype=np.bool_)
    others[[first, second]] = False
    return bool(
        np.array_equal(sent[first, others], sent[second, others])
        and np.array_equal(sent[others, first], sent[others, second])
        and sent[first, second] == sent[second, first]
    )
