"""From probabilities to places: the surest first, each on its likeliest node that has room."""

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.dealing import by_vertex_in_turn
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room

DIGITS = 2
"""Probabilities that differ by less say nothing, and a processor's rounding decides nothing."""


def place_likeliest(
    problem: Problem, likely: Floats, nodes: Ints, *, weight: Floats, most: Floats
) -> Ints:
    """A node for each movable task, UNPLACED where none of `nodes` has room.

    `likely` has shape (tasks, len(nodes)); what is put on nodes[i] weighs at most most[i]. Among
    equally sure tasks the vertices take turns, so that a node of the undecided gets some of each.
    """
    rounded = np.round(likely, DIGITS)
    room = Room(problem.snapshot, ~problem.movable)
    node = np.where(problem.movable, UNPLACED, problem.snapshot.placement)
    left = np.array(most)
    turns = np.array(by_vertex_in_turn(problem.snapshot), dtype=np.int64)
    surest = turns[np.argsort(-rounded[turns].max(axis=1, initial=0.0), kind="stable")]
    for task in surest[problem.movable[surest]].tolist():
        fits = room.fitting(task)[nodes] & (weight[task] <= left)
        if fits.any():
            part = int(np.argmax(np.where(fits, rounded[task], -1.0)))
            node[task] = nodes[part]
            left[part] -= weight[task]
            room.put(task, int(node[task]))
    return node
