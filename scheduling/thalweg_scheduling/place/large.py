"""Our own placement of topologies too large for full tables."""

import numpy as np

from thalweg_scheduling.kernels.compiling import can_compile
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.mending import mend_spread
from thalweg_scheduling.place.multilevel import Effort, effort_for, place_multilevel
from thalweg_scheduling.place.polishing import refined
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.terrain import (
    Terrain,
    Toolbox,
    compiled_tools,
    interpreted_tools,
    stand,
    terrain_of,
)

INTERPRETED_ENTRIES = 3_000
"""Task pairs up to which interpreting the kernels is quicker than loading numba."""
INTERPRETED_EFFORT = Effort(deals=4, anneal_steps=3_000)
PASSES = 8


def place_large(problem: Problem, rng: np.random.Generator) -> list[Ints]:
    """Placements worth comparing: one from the present, and where much may move, a fresh one."""
    terrain = terrain_of(problem, _tools(problem))
    found = [_from_present(terrain)]
    if 2 * np.count_nonzero(problem.movable) > len(problem.movable):
        effort = effort_for(len(problem.movable))
        if len(problem.rates.per_s) <= INTERPRETED_ENTRIES:
            effort = INTERPRETED_EFFORT
        found.append(place_multilevel(terrain, problem.snapshot, effort, rng))
    if all(np.any(_lost(problem, node)) for node in found):
        found.append(packed(terrain))
    if problem.spread.binds:
        found = [mend_spread(problem, node) for node in found]
    return found


def _tools(problem: Problem) -> Toolbox:
    if len(problem.rates.per_s) > INTERPRETED_ENTRIES and can_compile():
        return compiled_tools()
    return interpreted_tools()


def _from_present(terrain: Terrain) -> Ints:
    """Newcomers go where they cost least, and everyone who may looks for something better."""
    parts, sites = terrain.parts, terrain.sites
    begun = np.array(parts.home)
    placed = np.flatnonzero(begun != UNPLACED)
    banned = ~sites.allowed[parts.kind[placed], begun[placed]] & parts.movable[placed]
    begun[placed[banned]] = UNPLACED
    return refined(terrain, _relieved(terrain, begun), PASSES)


def _relieved(terrain: Terrain, node: Ints) -> Ints:
    """The placement without the tasks that are too much for their node, the largest first."""
    parts = terrain.parts
    free = stand(terrain.sites, parts, node).free
    crowded = np.asarray((free < 0).any(axis=1), dtype=np.bool_)
    largest = np.argsort(-parts.demand.sum(axis=1), kind="stable")
    for task in largest[parts.movable[largest] & crowded[node[largest]]]:
        burden = (free[node[task]] < 0) & (parts.demand[task] > 0)
        if node[task] != UNPLACED and burden.any():
            free[node[task]] += parts.demand[task]
            node[task] = UNPLACED
    return node


def packed(terrain: Terrain) -> Ints:
    """Where room is tight: make everything fit first, then look at the traffic."""
    parts = terrain.parts
    standing = stand(terrain.sites, parts, np.where(parts.movable, UNPLACED, parts.home))
    largest = np.argsort(-parts.demand.max(axis=1, initial=0.0), kind="stable")
    terrain.tools.placing.pack(terrain.sites, parts, standing, largest[parts.movable[largest]])
    return refined(terrain, standing.site, PASSES)


def _lost(problem: Problem, node: Ints) -> Ints:
    """Tasks without a node that some node may run."""
    homeless = np.flatnonzero(node == UNPLACED)
    return homeless[problem.snapshot.eligible[homeless].any(axis=1)]
