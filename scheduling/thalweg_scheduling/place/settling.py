"""From where tasks are wished to where they can be: what papers leave to the reader.

Papers place whole blocks by sums. Here a task may be barred from a node, requests are hard, and
domains may be limited: so each task is put down where its block goes if it fits there, and else
where it costs least.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.greedy import largest_first, place_greedily
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room


def settle(problem: Problem, wish: Ints) -> Ints:
    """Each movable task on its wished node, or on the cheapest that takes it, or UNPLACED.

    The largest come first. Where that leaves more tasks out than packing by size alone, the packing
    is taken: a topology that fits is not left out for the sake of its blocks.
    """
    node = _put_down(problem, wish)
    if not np.any(node == UNPLACED):
        return node
    packed, _ = place_greedily(problem, largest_first(problem))
    fewer = np.count_nonzero(packed == UNPLACED) < np.count_nonzero(node == UNPLACED)
    return packed if fewer else node


def _put_down(problem: Problem, wish: Ints) -> Ints:
    room = Room(problem.snapshot, ~problem.movable)
    node = np.where(problem.movable, UNPLACED, problem.snapshot.placement)
    order = largest_first(problem)
    for task in order:
        there = int(wish[task])
        if there != UNPLACED and room.fitting(int(task))[there]:
            node[task] = there
            room.put(int(task), there)
    near = Neighbours(problem)
    for task in order[node[order] == UNPLACED]:
        fitting = np.flatnonzero(room.fitting(int(task)))
        if fitting.size:
            costs = near.costs(int(task), node, fitting)
            tightness = room.free[fitting].sum(axis=1)
            node[task] = int(fitting[np.lexsort((fitting, tightness, costs))[0]])
            room.put(int(task), int(node[task]))
    return node
