"""Greedy placement: each task in turn where it costs least just now.

Fast and never overloading, it gives searches a place to start from and answers where they find
nothing.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.plan import Missing
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.neighbours import Neighbours
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
        np.add.at(talk, adjacent.of(int(task)), adjacent.exchanged(int(task)))
    volume = np.bincount(problem.rates.source, problem.rates.per_s, tasks)
    volume += np.bincount(problem.rates.target, problem.rates.per_s, tasks)
    order = []
    for _ in range(int(left.sum())):
        waiting = np.flatnonzero(left)
        first = int(waiting[np.lexsort((-volume[waiting], -talk[waiting]))[0]])
        left[first] = False
        order.append(first)
        np.add.at(talk, adjacent.of(first), adjacent.exchanged(first))
    return np.array(order, dtype=np.int64)


def _price(problem: Problem, task: int, candidates: Ints) -> Floats:
    present = problem.snapshot.placement[task]
    if present == UNPLACED:
        return np.zeros(len(candidates))
    return np.where(candidates == present, 0.0, problem.move_cost)
