"""Greedy placement: each task in turn where it costs least just now.

Fast and never overloading, it gives searches a place to start from and answers where they find
nothing.
"""

import numpy as np

from thalweg_scheduling.measure.distance import seconds_between
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.plan import Missing
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room


def place_greedily(problem: Problem, order: Ints) -> tuple[Ints, tuple[Missing, ...]]:
    """Put the movable tasks down in the given order; ties go to the node with the least left."""
    snapshot = problem.snapshot
    room = Room(snapshot, ~problem.movable)
    node = np.array(snapshot.placement)
    node[problem.movable] = UNPLACED
    missing: list[Missing] = []
    adjacent = Neighbours(problem)
    for task in order:
        fitting = np.flatnonzero(room.fitting(int(task)))
        if fitting.size == 0:
            missing.append(room.missing(int(task)))
            continue
        cost = adjacent.costs(int(task), node, fitting)
        cost += _price(problem, int(task), fitting)
        tightness = room.free[fitting].sum(axis=1)
        best = int(fitting[np.lexsort((fitting, tightness, cost))[0]])
        node[task] = best
        room.put(int(task), best)
    return node, tuple(missing)


def largest_first(problem: Problem) -> Ints:
    """The movable tasks, those that take the largest share of all nodes first."""
    whole = np.maximum(problem.needs.capacity, 0.0).sum(axis=0)
    demand = problem.needs.demand
    share = np.divide(demand, whole, out=np.zeros_like(demand), where=whole > 0)
    most = share.max(axis=1, initial=0.0)
    movable = np.flatnonzero(problem.movable)
    return movable[np.lexsort((movable, -most[movable]))]


def busiest_first(problem: Problem) -> Ints:
    """The movable tasks, each next to the one with which the placed ones talk most."""
    tasks = len(problem.movable)
    adjacent = Neighbours(problem)
    talk = np.zeros(tasks)
    left = problem.movable.copy()
    for task in np.flatnonzero(~problem.movable & (problem.snapshot.placement != UNPLACED)):
        adjacent.add_to(talk, int(task))
    volume = np.bincount(problem.rates.source, problem.rates.per_s, tasks)
    volume += np.bincount(problem.rates.target, problem.rates.per_s, tasks)
    order = []
    for _ in range(int(left.sum())):
        waiting = np.flatnonzero(left)
        first = int(waiting[np.lexsort((-volume[waiting], -talk[waiting]))[0]])
        left[first] = False
        order.append(first)
        adjacent.add_to(talk, first)
    return np.array(order, dtype=np.int64)


class Neighbours:
    """Who talks with whom, by task."""

    def __init__(self, problem: Problem) -> None:
        """Sort the rates by either end once."""
        rates = problem.rates
        tasks = len(problem.movable)
        self._far = problem.far
        self._sent = _by_task(rates.source, tasks)
        self._got = _by_task(rates.target, tasks)
        self._rates = rates

    def costs(self, task: int, node: Ints, candidates: Ints) -> Floats:
        """What the task's traffic with placed tasks would cost on each candidate node."""
        total = np.zeros(len(candidates))
        for mine, others, sends in (
            (self._sent[task], self._rates.target, True),
            (self._got[task], self._rates.source, False),
        ):
            there = node[others[mine]]
            placed = (there != UNPLACED) & (others[mine] != task)
            away, per_s = there[placed][:, None], self._rates.per_s[mine][placed]
            source, target = (candidates[None, :], away) if sends else (away, candidates[None, :])
            total += per_s @ seconds_between(self._far, *np.broadcast_arrays(source, target))
        return total

    def of(self, task: int) -> list[int]:
        """Everyone whom the task talks with."""
        others = np.concatenate(
            [self._rates.target[self._sent[task]], self._rates.source[self._got[task]]]
        )
        return [int(other) for other in np.unique(others)]

    def add_to(self, talk: Floats, task: int) -> None:
        """Count what each other task exchanges with this one."""
        np.add.at(talk, self._rates.target[self._sent[task]], self._rates.per_s[self._sent[task]])
        np.add.at(talk, self._rates.source[self._got[task]], self._rates.per_s[self._got[task]])


def _by_task(ends: Ints, tasks: int) -> list[Ints]:
    order = np.argsort(ends, kind="stable")
    bounds = np.searchsorted(ends[order], np.arange(tasks + 1))
    return [order[bounds[task] : bounds[task + 1]] for task in range(tasks)]


def _price(problem: Problem, task: int, candidates: Ints) -> Floats:
    present = problem.snapshot.placement[task]
    if present == UNPLACED:
        return np.zeros(len(candidates))
    return np.where(candidates == present, 0.0, problem.move_cost)
