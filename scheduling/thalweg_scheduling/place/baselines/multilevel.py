"""Multilevel partitioning alone, in the way of METIS: without annealing and without a portfolio."""

from dataclasses import replace

import numpy as np

from thalweg_scheduling.model.arrays import Bools
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.large import means_for
from thalweg_scheduling.place.mending import mend_spread
from thalweg_scheduling.place.multilevel import place_multilevel
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.terrain import terrain_of


def place_by_multilevel(
    snapshot: Snapshot, *, movable: Bools, rng: np.random.Generator
) -> Proposal:
    """Coarsen, deal, refine."""
    problem = problem_of(snapshot, movable)
    if not movable.any() or not snapshot.nodes:
        return proposed(snapshot, np.where(movable, UNPLACED, snapshot.placement))
    tools, effort = means_for(problem)
    once = replace(effort, deals=1, anneal_steps=0)
    node = place_multilevel(terrain_of(problem, tools), snapshot, once, rng)
    return proposed(snapshot, mend_spread(problem, node))
