"""A small placement under change, with the cost of every move and every swap at hand."""

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.dense import Dense
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.spread import allowed_moves, tasks_by_domain


class Walk:
    """A placement under change, with what every change of it would cost."""

    def __init__(self, problem: Problem, dense: Dense, node: Ints) -> None:
        """Start from a placement of all tasks, overloaded or not."""
        self._problem, self._dense = problem, dense
        self.node = np.array(node)
        self.node[dense.ghost] = 0
        tasks = len(self.node)
        self._rows = np.arange(tasks)
        self._costs = dense.costs(self.node)
        self._used = np.zeros_like(dense.capacity)
        np.add.at(self._used, self.node, dense.demand)
        self._counts = tasks_by_domain(problem.snapshot, self.placement)
        self.value = self._value()
        self.over = float(np.sum(self._over(self._used, dense.capacity)))

    @property
    def placement(self) -> Ints:
        """The node of each task, UNPLACED for those that no node may run."""
        return np.where(self._dense.ghost, UNPLACED, self.node)

    def weigh_moves(self, penalty: float) -> tuple[Floats, Floats, Bools]:
        """Shape (T, N): change of J, of J with its penalty, and whether the move may be made."""
        dense, node = self._dense, self.node
        gain = self._costs - self._costs[self._rows, node][:, None]
        used, room = self._used, dense.capacity
        present = self._over(used, room)
        joined = self._over(used[None, :, :] + dense.demand[:, None, :], room[None, :, :])
        left = self._over(used[node] - dense.demand, room[node]) - present[node]
        pressed = gain + penalty * (joined - present[None, :] + left[:, None])
        may = dense.allowed.copy()
        may[self._rows, node] = False
        if self._problem.spread.binds:
            may &= self._spread_allows()
        return gain, pressed, may

    def weigh_swaps(self, penalty: float) -> tuple[Floats, Floats, Bools]:
        """Shape (T, T): the same for two tasks changing places; the upper triangle counts."""
        dense, node = self._dense, self.node
        there = self._costs[:, node]
        here = self._costs[self._rows, node]
        gain = there + there.T - here[:, None] - here[None, :]
        apart = dense.seconds[node][:, node]
        together = dense.seconds[node, node]
        gain += dense.both * (apart + apart.T - together[:, None] - together[None, :])
        used, room = self._used[node], dense.capacity[node]
        changed = used[:, None, :] - dense.demand[:, None, :] + dense.demand[None, :, :]
        pressure = self._over(changed, room[:, None, :]) - self._over(used, room)[:, None]
        pressed = gain + penalty * (pressure + pressure.T)
        may = dense.allowed[:, node]
        may = may & may.T & (node[:, None] != node[None, :]) & ~dense.alike
        if self._problem.spread.binds:
            ways = self._spread_allows()[:, node]
            kin = self._problem.snapshot.vertex_of
            may &= (ways & ways.T) | (kin[:, None] == kin[None, :])
        return gain, pressed, np.triu(may)

    def move(self, task: int, target: int) -> None:
        """Put a task elsewhere and keep all tables true."""
        dense, source = self._dense, int(self.node[task])
        self.value += float(self._costs[task, target] - self._costs[task, source])
        there, back = dense.seconds[target], dense.seconds[:, target]
        self._costs += np.outer(dense.sent[task], there - dense.seconds[source])
        self._costs += np.outer(dense.sent[:, task], back - dense.seconds[:, source])
        self._used[source] -= dense.demand[task]
        self._used[target] += dense.demand[task]
        domain_of = self._problem.snapshot.domain_of
        vertex = self._problem.snapshot.vertex_of[task]
        self._counts[vertex, domain_of[source]] -= 1
        self._counts[vertex, domain_of[target]] += 1
        self.node[task] = target
        self.over = float(np.sum(self._over(self._used, dense.capacity)))

    def _value(self) -> float:
        pairs = self._dense.seconds[self.node][:, self.node]
        priced = self._dense.price[self._rows, self.node]
        return float(np.sum(self._dense.sent * pairs) + np.sum(priced))

    def _spread_allows(self) -> Bools:
        snapshot = self._problem.snapshot
        ways = allowed_moves(self._problem.spread, self._counts)
        here = snapshot.domain_of[self.node]
        allowed: Bools = ways[snapshot.vertex_of, here][:, snapshot.domain_of]
        return allowed

    @staticmethod
    def _over(used: Floats, room: Floats) -> Floats:
        over: Floats = np.maximum(used - room, 0.0).sum(axis=-1)
        return over
