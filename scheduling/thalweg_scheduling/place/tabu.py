"""Tabu search over moves and swaps, for problems small enough to weigh all of them at each step.

It may walk through overload, at a price that rises while it stays there; only placements without
overload are kept. That is what finds its way where capacity is tight.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.place.dense import Dense
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.walk import Walk

_NOTHING_OVER = 1e-12
_HARDER, _SOFTER = 1.3, 0.9


class Search:
    """One tabu search: where it is, what it may not undo yet, and the best it has seen."""

    def __init__(self, problem: Problem, dense: Dense, start: Ints) -> None:
        """Begin at a placement of all tasks, overloaded or not."""
        self.walk = Walk(problem, dense, start)
        self.best: Ints | None = None
        self.best_value = float("inf")
        tasks, nodes = dense.allowed.shape
        self._until = np.zeros((tasks, nodes), dtype=np.int64)
        self._penalty = max(4.0 * self.walk.value / max(tasks, 1), 1e-9)
        self._floor = _unavoidable(dense, self.walk.node)
        self._keep()

    def run(self, steps: int, patience: int, rng: np.random.Generator) -> None:
        """Walk until `steps` are done or `patience` of them brought nothing better."""
        since = 0
        for step in range(steps):
            if since > patience or not self._step(step, rng):
                return
            since = 0 if self._keep() else since + 1
            crowded = self.walk.over > self._floor + _NOTHING_OVER
            self._penalty *= _HARDER if crowded else _SOFTER

    def _step(self, step: int, rng: np.random.Generator) -> bool:
        gain, pressed, may = self.walk.weigh_moves(self._penalty)
        move, move_change = self._choose(gain, pressed, may, self._until > step)
        gain, pressed, may = self.walk.weigh_swaps(self._penalty)
        node = self.walk.node
        barred = self._until[:, node] > step
        swap, swap_change = self._choose(gain, pressed, may, barred & barred.T)
        if min(move_change, swap_change) == float("inf"):
            return False
        tenure = step + 3 + int(rng.integers(0, 4 + len(node) // 4))
        if move_change <= swap_change:
            self._carry_out(*divmod(move, self._until.shape[1]), tenure)
        else:
            first, second = divmod(swap, len(node))
            here, there = int(node[first]), int(node[second])
            self._carry_out(first, there, tenure)
            self._carry_out(second, here, tenure)
        return True

    def _choose(
        self, gain: Floats, pressed: Floats, may: Bools, barred: Bools
    ) -> tuple[int, float]:
        # What is barred may still be done if it leads to the best placement so far.
        relieved = self.walk.over + (pressed - gain) / self._penalty <= self._floor + _NOTHING_OVER
        better = relieved & (self.walk.value + gain < self.best_value - _margin(self.best_value))
        open_ = may & (~barred | better)
        change = np.where(open_, pressed, np.inf)
        if change.size == 0:
            return 0, float("inf")
        position = int(np.argmin(change))
        return position, float(change.flat[position])

    def _carry_out(self, task: int, target: int, tenure: int) -> None:
        self._until[task, self.walk.node[task]] = tenure
        self.walk.move(task, target)

    def _keep(self) -> bool:
        walk = self.walk
        if walk.over > self._floor + _NOTHING_OVER:
            return False
        if walk.value >= self.best_value - _margin(self.best_value):
            return False
        self.best, self.best_value = walk.placement, walk.value
        return True


def _margin(value: float) -> float:
    """Less than this is rounding, not a gain."""
    return 1e-12 * abs(value) if value != float("inf") else 0.0


def _unavoidable(dense: Dense, node: Ints) -> float:
    """The overload that tasks make which may not be moved."""
    fixed = ~dense.allowed.any(axis=1)
    used = np.zeros_like(dense.capacity)
    np.add.at(used, node[fixed], dense.demand[fixed])
    return float(np.maximum(used - dense.capacity, 0.0).sum())
