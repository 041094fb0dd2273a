"""Our own placement of large topologies, in the way of multilevel graph partitioning.

Domains are dealt first (see `domains`). Inside each, tasks that talk much are drawn together up to
a share of a node, dealt to the nodes, and moved wherever J falls, from coarse to fine. A short
annealing of single tasks ends it.
"""

import numpy as np

from thalweg_scheduling.kernels.layout import Parts, Scene, Sites
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.domains import deal_domains
from thalweg_scheduling.place.effort import Effort
from thalweg_scheduling.place.levels import Level, coarsened
from thalweg_scheduling.place.polishing import polished, refined
from thalweg_scheduling.place.terrain import Terrain, desk_for, stand


def place_multilevel(
    terrain: Terrain, snapshot: Snapshot, effort: Effort, rng: np.random.Generator
) -> Ints:
    """A node for each task, UNPLACED where there was no room."""
    home = np.where(terrain.parts.movable, UNPLACED, terrain.parts.home)
    # The way there does not matter here: what moving costs is weighed against the result.
    free = terrain.parts._replace(home=home, price=np.zeros_like(terrain.parts.price))
    ground = Terrain(graph=terrain.graph, sites=terrain.sites, parts=free, tools=terrain.tools)
    domain = deal_domains(ground, snapshot, effort, rng)
    node = _deal_nodes(ground, snapshot.domain_of, domain, effort, rng)
    return polished(ground, node, effort, rng)


def _deal_nodes(
    ground: Terrain, domain_of: Ints, domain: Ints, effort: Effort, rng: np.random.Generator
) -> Ints:
    """A node for each task, from coarse to fine, at first in its own domain."""
    domains = int(domain_of.max()) + 1
    confined = ground.parts._replace(kind=ground.parts.kind * domains + np.maximum(domain, 0))
    finest = Level(graph=ground.graph, parts=confined, label=None)
    limit = effort.node_share * _smallest(ground.sites.capacity)
    levels = coarsened(finest, limit, 2 * len(domain_of), ground.tools, rng)
    node = _first_deal(ground, levels[-1], _inside(ground.sites, domain_of))
    for level in reversed(levels):
        parts = level.parts._replace(kind=level.parts.kind // domains)
        here = Terrain(graph=level.graph, sites=ground.sites, parts=parts, tools=ground.tools)
        node = refined(here, node, effort.passes)
        if level.label is not None:
            node = node[level.label]
    return node


def _inside(sites: Sites, domain_of: Ints) -> Sites:
    """The sites, with a kind of part for each domain, which may only be there."""
    domains = int(domain_of.max()) + 1
    own = domain_of[None, :] == np.arange(domains)[:, None]
    allowed = sites.allowed[:, None, :] & own[None, :, :]
    return sites._replace(allowed=allowed.reshape(-1, len(domain_of)))


def _first_deal(ground: Terrain, level: Level, sites: Sites) -> Ints:
    """Fill nodes in an order that keeps together what talks."""
    parts: Parts = level.parts
    largest = np.argsort(-parts.demand.sum(axis=1), kind="stable")
    order = ground.tools.coarsening.by_proximity(level.graph, largest)
    standing = stand(sites, parts, np.where(parts.movable, UNPLACED, parts.home))
    movable = order[parts.movable[order]]
    scene = Scene(graph=level.graph, sites=sites, parts=parts)
    ground.tools.placing.fill(scene, standing, desk_for(sites), movable)
    return standing.site


def _smallest(capacity: Floats) -> Floats:
    """The least of each resource that a node has, leaving out nodes that have none of it."""
    some = np.where(capacity > 0, capacity, np.inf).min(axis=0)
    return np.where(np.isfinite(some), some, 0.0)
