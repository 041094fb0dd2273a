"""Making a placement better bit by bit: plain descent, and annealing."""

import numpy as np

from thalweg_scheduling.kernels.layout import Graph, Tries
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.effort import Effort
from thalweg_scheduling.place.terrain import Terrain, desk_for, members_for, stand

ENTRIES_LOOKED_AT = 1_500_000
"""About how many task pairs the last annealing looks at."""


def refined(terrain: Terrain, site: Ints, passes: int) -> Ints:
    """Parts without a site get one, then all move while J falls."""
    sites, parts, placing = terrain.sites, terrain.parts, terrain.tools.placing
    standing, desk = stand(sites, parts, site), desk_for(sites)
    homeless = np.flatnonzero((site == UNPLACED) & parts.movable)
    if homeless.size:
        placing.fill(terrain.scene, standing, desk, homeless)
    awake = parts.movable.copy()
    placing.refine(terrain.scene, standing, desk, awake, passes)
    return standing.site


def annealed(terrain: Terrain, site: Ints, heat: Floats, rng: np.random.Generator) -> Ints:
    """The placement after one try for each entry of `heat`."""
    parts, sites, annealing = terrain.parts, terrain.sites, terrain.tools.annealing
    pool = np.flatnonzero(parts.movable & (site != UNPLACED))
    if pool.size == 0 or len(heat) == 0:
        return site
    standing, members = stand(sites, parts, site), members_for(sites, parts)
    annealing.enlist(standing, members)
    tries = Tries(
        chance=rng.random((len(heat), 3)),
        # The logarithm is taken here: compiled, its last digit might be another.
        luck=np.log1p(-rng.random(len(heat))),
        heat=heat,
    )
    annealing.anneal(terrain.scene, standing, members, pool, tries)
    return standing.site


def polished(terrain: Terrain, site: Ints, effort: Effort, rng: np.random.Generator) -> Ints:
    """A last annealing, not hot enough to undo what was done, and a last descent."""
    tasks = max(len(site), 1)
    # Steps are as dear as tasks have neighbours.
    affordable = ENTRIES_LOOKED_AT * tasks // max(len(terrain.graph.other), 1) + tasks
    steps = min(effort.anneal_steps, affordable)
    heat = cooling(worth(terrain, site)[1], tasks, steps, first=0.2, last=0.02)
    return refined(terrain, annealed(terrain, site, heat, rng), effort.passes)


def cooling(value: float, parts: int, steps: int, *, first: float, last: float) -> Floats:
    """A heat for each step, falling from `first` to `last` times what a part costs on average."""
    mean = max(value / max(parts, 1), 1e-300)
    return mean * np.geomspace(first, last, steps) if steps else np.zeros(0)


def worth(terrain: Terrain, site: Ints) -> tuple[int, float]:
    """Parts left over, then J of the others without what moves cost."""
    graph, sites = terrain.graph, terrain.sites
    own = _rows(graph)
    here, there = site[own], site[graph.other]
    across = sites.between[sites.group_of[here], sites.group_of[there]]
    seconds = np.where(here == there, sites.same[here], across)
    seconds[(here == UNPLACED) | (there == UNPLACED)] = 0.0
    homeless = int(np.count_nonzero(site == UNPLACED))
    if np.array_equal(graph.split, graph.indptr[1:]):
        # There and back are alike, and each pair is in both rows.
        return homeless, 0.5 * float(graph.weight @ seconds)
    sent = np.arange(len(own)) < graph.split[own]
    return homeless, float(graph.weight[sent] @ seconds[sent])


def _rows(graph: Graph) -> Ints:
    return np.repeat(np.arange(len(graph.split)), np.diff(graph.indptr))
