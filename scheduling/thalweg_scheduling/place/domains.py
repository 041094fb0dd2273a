"""Which domain each task goes to: the choice that costs most when it is wrong.

The tasks of a vertex mostly talk with the same others, so whole vertices are dealt, cut only where
one is too large for its share of a domain. They are drawn together further, dealt, and moved while
J falls, several times from other beginnings; the best deal is kept and put right task by task.
"""

import numpy as np

from thalweg_scheduling.kernels.layout import Parts, Sites
from thalweg_scheduling.measure.distance import Distances
from thalweg_scheduling.measure.objective import objective_of
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.effort import Effort
from thalweg_scheduling.place.levels import Level, coarsened, joined
from thalweg_scheduling.place.polishing import annealed, cooling, refined, worth
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.terrain import Terrain, desk_for, stand

CUT_SHARE = 0.1
"""A vertex that takes more than this share of the smallest domain is cut."""
GROWN_SHARE = 0.2
"""Parts grow to this share of the smallest domain before they are dealt."""
LEAST_FILL, MOST_FILL = 0.90, 0.98
"""Domains are dealt only so much of what they have: nodes never fill to the last drop."""
PASSES = 8
ENOUGH = 8
"""Parts for each domain below which nothing is drawn together any more."""


def deal_domains(
    terrain: Terrain, snapshot: Snapshot, effort: Effort, rng: np.random.Generator
) -> Ints:
    """A domain for each task, UNPLACED where none had room."""
    sites = domains_as_sites(terrain.sites, snapshot.domain_of)
    wanted = terrain.parts.demand.sum(axis=0) / np.maximum(sites.capacity.sum(axis=0), 1e-300)
    fill = np.clip(1.05 * wanted.max(initial=0.0), LEAST_FILL, MOST_FILL)
    sites = sites._replace(capacity=fill * sites.capacity)
    if len(sites.group_of) == 1:
        return np.zeros(len(snapshot.placement), dtype=np.int64)
    tasks = _seen_from_domains(terrain, sites, snapshot.domain_of)
    smallest = sites.capacity.min(axis=0)
    label, count = _cut_vertices(snapshot, tasks.parts, CUT_SHARE * smallest)
    chunks = joined(
        Level(graph=tasks.graph, parts=tasks.parts, label=None), label, count, tasks.tools
    )
    ground = _on(tasks, chunks)
    grown, steps = GROWN_SHARE * smallest, effort.deal_steps
    found = [_one_deal(ground, grown, steps, rng) for _ in range(effort.deals)]
    best = min(found, key=lambda domain: worth(ground, domain))
    return refined(tasks, best[label], PASSES)


def across_domains(problem: Problem, sites: Sites, domain: Ints) -> float:
    """What traffic between domains costs beyond what it would cost inside of them."""
    domains = domains_as_sites(sites, problem.snapshot.domain_of)
    within = np.minimum.outer(domains.same, domains.same)
    extra = np.maximum(domains.between - within, 0.0)
    far = Distances(group_of=domains.group_of, between=extra, same=np.zeros_like(domains.same))
    return objective_of(problem.rates, far, domain)


def domains_as_sites(sites: Sites, domain_of: Ints) -> Sites:
    """Each domain as one site; distances are means over their nodes."""
    count = int(domain_of.max()) + 1
    member = np.zeros((len(domain_of), count))
    member[np.arange(len(domain_of)), domain_of] = 1.0
    nodes = np.maximum(member.sum(axis=0), 1.0)
    groups = np.zeros((len(sites.between), count))
    np.add.at(groups, sites.group_of, member)
    between = groups.T @ sites.between @ groups / np.outer(nodes, nodes)
    return Sites(
        capacity=member.T @ sites.capacity,
        group_of=np.arange(count),
        between=between,
        same=np.array(np.diagonal(between)),
        allowed=sites.allowed.astype(np.float64) @ member > 0,
    )


def _seen_from_domains(terrain: Terrain, sites: Sites, domain_of: Ints) -> Terrain:
    """The same tasks, with domains for sites; only those that stay have a home."""
    parts = terrain.parts
    stays = ~parts.movable & (parts.home != UNPLACED)
    home = np.where(stays, domain_of[parts.home], UNPLACED)
    free = parts._replace(home=home, price=np.zeros_like(parts.price))
    return Terrain(graph=terrain.graph, sites=sites, parts=free, tools=terrain.tools)


def _cut_vertices(snapshot: Snapshot, parts: Parts, limit: Floats) -> tuple[Ints, int]:
    """A chunk for each task: its vertex, or an even cut of it; tasks unlike each other apart."""
    vertex_of, demand = snapshot.vertex_of, parts.demand
    vertices = len(snapshot.vertices)
    total = np.zeros((vertices, demand.shape[1]))
    np.add.at(total, vertex_of, demand)
    share = np.divide(total, limit, out=np.zeros_like(total), where=limit > 0)
    pieces = np.maximum(1, np.ceil(share.max(axis=1, initial=0.0))).astype(np.int64)
    replicas = np.bincount(vertex_of, minlength=vertices)
    first = np.concatenate([[0], np.cumsum(replicas)[:-1]])
    within = np.arange(len(vertex_of)) - first[vertex_of]
    piece = within * np.minimum(pieces, replicas)[vertex_of] // replicas[vertex_of]
    # Those that stay keep to themselves: each has a home of its own.
    alone = np.where(parts.movable, 0, 1 + np.arange(len(vertex_of)))
    keys = np.stack([vertex_of, piece, parts.kind, alone], axis=1)
    _, label = np.unique(keys, axis=0, return_inverse=True)
    flat = label.reshape(-1).astype(np.int64)
    return flat, int(flat.max(initial=-1)) + 1


def _on(ground: Terrain, level: Level) -> Terrain:
    return Terrain(graph=level.graph, sites=ground.sites, parts=level.parts, tools=ground.tools)


def _one_deal(ground: Terrain, limit: Floats, steps: int, rng: np.random.Generator) -> Ints:
    """Draw together, deal, and move on the way back."""
    chunks = Level(graph=ground.graph, parts=ground.parts, label=None)
    enough = ENOUGH * len(ground.sites.group_of)
    levels = coarsened(chunks, limit, enough, ground.tools, rng)
    site = _first_deal(_on(ground, levels[-1]), steps, rng)
    for level in reversed(levels):
        site = refined(_on(ground, level), site, PASSES)
        if level.label is not None:
            site = site[level.label]
    return site


def _first_deal(ground: Terrain, steps: int, rng: np.random.Generator) -> Ints:
    parts, tools = ground.parts, ground.tools
    order = tools.coarsening.by_proximity(ground.graph, rng.permutation(len(parts.kind)))
    standing = stand(ground.sites, parts, np.where(parts.movable, UNPLACED, parts.home))
    desk = desk_for(ground.sites)
    tools.placing.fill(ground.scene, standing, desk, order[parts.movable[order]])
    tries = min(60 * len(order), steps)
    heat = cooling(worth(ground, standing.site)[1], len(order), tries, first=1.0, last=0.04)
    return annealed(ground, standing.site, heat, rng)
