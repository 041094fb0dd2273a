"""Simulated annealing from an even start, as Ra-Stream and many others anneal.

Each step weighs what it alone changes. It gets many more steps than Auto takes, and is hotter.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.dealing import deal
from thalweg_scheduling.place.large import means_for
from thalweg_scheduling.place.mending import mend_spread
from thalweg_scheduling.place.polishing import annealed, cooling, worth
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.room import Room
from thalweg_scheduling.place.terrain import terrain_of

STEPS_PER_TASK = 200


def place_by_annealing(snapshot: Snapshot, *, movable: Bools, rng: np.random.Generator) -> Proposal:
    """Anneal an even placement."""
    problem = problem_of(snapshot, movable)
    start = _even(snapshot, movable)
    if not np.any(start != UNPLACED):
        return proposed(snapshot, start)
    terrain = terrain_of(problem, means_for(problem)[0])
    steps = STEPS_PER_TASK * len(start)
    heat = cooling(worth(terrain, start)[1], len(start), steps, first=3.0, last=0.01)
    return proposed(snapshot, mend_spread(problem, annealed(terrain, start, heat, rng)))


def _even(snapshot: Snapshot, movable: Bools) -> Ints:
    def emptiest(task: int, fitting: Ints, node: Ints, room: Room) -> int:  # noqa: ARG001
        return int(np.argmin(room.tasks_on[fitting]))

    return deal(snapshot, movable, range(len(snapshot.placement)), emptiest).node
