"""Putting right what a search that knows no domain limits got wrong."""

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room
from thalweg_scheduling.place.spread import breaks_spread


def mend_spread(problem: Problem, node: Ints) -> Ints:
    """Put tasks down again, in order, each where it was if its vertex may still be there.

    A task that may not goes to the cheapest node that takes it, or is left UNPLACED.
    """
    snapshot = problem.snapshot
    if not breaks_spread(snapshot, node, problem.movable):
        return node
    room = Room(snapshot, ~problem.movable)
    near = Neighbours(problem)
    mended = np.where(problem.movable, UNPLACED, node)
    for task in np.flatnonzero(problem.movable & (node != UNPLACED)):
        fitting = room.fitting(int(task))
        if fitting[node[task]]:
            mended[task] = node[task]
        elif fitting.any():
            candidates = np.flatnonzero(fitting)
            costs = near.costs(int(task), node, candidates)
            mended[task] = int(candidates[np.argmin(costs)])
        else:
            continue
        room.put(int(task), int(mended[task]))
    return mended
