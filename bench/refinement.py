"""Our own refinement after somebody else's placement."""

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.polishing import refined as refine
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.terrain import compiled_tools, terrain_of

PASSES = 16


def refined(snapshot: Snapshot, node: Ints) -> Ints:
    """Move single tasks while J falls and they fit; what is overloaded already stays so."""
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    terrain = terrain_of(problem_of(snapshot, everyone), compiled_tools())
    return refine(terrain, node, PASSES)
