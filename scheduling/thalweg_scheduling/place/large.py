"""Our own placement of topologies too large for full tables."""

import numpy as np

from thalweg_scheduling.kernels.compiling import SEARCH_FROM, Warmth, can_compile
from thalweg_scheduling.measure.objective import objective_of
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.aligning import aligned
from thalweg_scheduling.place.domains import across_domains, deal_domains
from thalweg_scheduling.place.effort import INTERPRETED, VECTORISED, Effort, compiled_effort
from thalweg_scheduling.place.mending import mend_spread
from thalweg_scheduling.place.multilevel import place_multilevel
from thalweg_scheduling.place.polishing import polished, refined
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.terrain import (
    Terrain,
    Toolbox,
    compiled_tools,
    interpreted_tools,
    stand,
    terrain_of,
    vectorised_tools,
)

PASSES = 8
CROWDED = 0.85
"""Share of a resource beyond which it is first seen whether everything fits at all."""
TIGHT = 0.97
"""Share of a resource beyond which only packing by size is tried."""
HOPELESS = 0.02
"""Share of the tasks that packing may leave out before nothing else is tried."""
FRESH_GAIN = 0.05
"""Share of J that must be in sight before everything is thought over."""


def place_large(problem: Problem, rng: np.random.Generator) -> list[Ints]:
    """Placements worth comparing: one from the present, and where much may move, a fresh one."""
    tools, effort = means_for(problem)
    terrain = terrain_of(problem, tools)
    found = []
    if np.any(problem.snapshot.placement != UNPLACED):
        found.append(_from_present(terrain))
    if not found or _is_worth_a_fresh_look(problem, terrain, found[0], rng):
        found += [aligned(problem, node) for node in _fresh(problem, terrain, effort, rng)]
    if problem.spread.binds:
        found = [mend_spread(problem, node) for node in found]
    return found


def _fresh(
    problem: Problem, terrain: Terrain, effort: Effort, rng: np.random.Generator
) -> list[Ints]:
    """By traffic, and by size where room is tight or the first leaves tasks out."""
    taken, there = terrain.parts.demand.sum(axis=0), terrain.sites.capacity.sum(axis=0)
    fullest = float(np.max(taken / np.maximum(there, 1e-300), initial=0.0))
    trial = packed(terrain) if fullest > CROWDED else None
    if trial is not None:
        lost = _lost(problem, trial).size
        if lost > HOPELESS * len(trial):
            return [trial]
        if lost == 0 and fullest > TIGHT:
            return [polished(terrain, trial, effort, rng)]
    found = [place_multilevel(terrain, problem.snapshot, effort, rng)]
    if _lost(problem, found[0]).size:
        by_size = packed(terrain) if trial is None else trial
        found.append(polished(terrain, by_size, effort, rng))
    return found


def _is_worth_a_fresh_look(
    problem: Problem, terrain: Terrain, node: Ints, rng: np.random.Generator
) -> bool:
    """Whether much may move, and the present placement seems to be of no good origin.

    What single moves gain from it shows that nobody cared; traffic between domains that a quick
    deal would avoid shows that it got stuck.
    """
    snapshot = problem.snapshot
    if 2 * np.count_nonzero(snapshot.placement == UNPLACED) > len(node):
        return True
    if _lost(problem, node).size:
        return True
    # Whoever has to leave a node leaves it first; whether more should move is the next question.
    if not problem.movable.all() or not problem.is_feasible(snapshot.placement):
        return False
    present = objective_of(problem.rates, problem.far, snapshot.placement)
    value = objective_of(problem.rates, problem.far, node)
    if value < present * (1 - FRESH_GAIN):
        return True
    across = across_domains(problem, terrain.sites, snapshot.domain_of[node])
    if across < FRESH_GAIN * value:
        return False
    quick = deal_domains(terrain, snapshot, Effort(deals=1, deal_steps=1_000), rng)
    return across_domains(problem, terrain.sites, quick) < across - FRESH_GAIN * value


def means_for(problem: Problem) -> tuple[Toolbox, Effort]:
    """What to search with, by size and installation."""
    if len(problem.rates.per_s) <= SEARCH_FROM:
        # Both give the same placements; what is compiled already is faster.
        return compiled_tools() if Warmth.compiled else interpreted_tools(), INTERPRETED
    if can_compile():
        return compiled_tools(), compiled_effort(len(problem.movable))
    return vectorised_tools(), VECTORISED


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
    parts, placing = terrain.parts, terrain.tools.placing
    largest = np.argsort(-parts.demand.max(axis=1, initial=0.0), kind="stable")
    order = largest[parts.movable[largest]]
    fewest, best = len(order) + 1, parts.home
    for fit in (placing.level, placing.pack):
        standing = stand(terrain.sites, parts, np.where(parts.movable, UNPLACED, parts.home))
        homeless = int(fit(terrain.scene, standing, order))
        if homeless < fewest:
            fewest, best = homeless, standing.site
    return best


def _lost(problem: Problem, node: Ints) -> Ints:
    """Tasks without a node that some node may run."""
    homeless = np.flatnonzero(node == UNPLACED)
    return homeless[problem.snapshot.eligible[homeless].any(axis=1)]
