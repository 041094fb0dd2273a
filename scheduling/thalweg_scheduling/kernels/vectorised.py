"""Stand-ins for the heavy kernels that need no compiler: whole arrays at a time, by numpy, scipy.

They take the same arguments and keep the same promises (no overload, J never rises), but look at
all parts before they move any, so they end at other placements than the kernels do.
"""

from typing import NamedTuple

import numpy as np
import scipy  # Its parts are loaded when they are first used, which takes a while.

from thalweg_scheduling.kernels import coarsening
from thalweg_scheduling.kernels.layout import Desk, Graph, Parts, Scene, Standing
from thalweg_scheduling.model.arrays import Bools, Floats, Ints

by_proximity = coarsening.by_proximity
"""This one is asked only for graphs that have been drawn together."""


def cluster(graph: Graph, parts: Parts, limit: Floats, order: Ints, label: Ints) -> int:
    """Join pairs that are each other's best; `order` decides between equals."""
    count = len(label)
    rows = np.repeat(np.arange(count), np.diff(graph.indptr))
    rank = np.empty(count)
    rank[order] = np.arange(count) / max(count, 1)
    size = parts.demand.sum(axis=1)
    rating = graph.weight / (1e-9 + size[rows] + size[graph.other])
    # Ties are the rule here; a little chance, the same from both ends, breaks them.
    rating *= 1.0 + 0.2 * np.modf((rank[rows] + rank[graph.other]) * 7919.0)[0]
    joined = parts.demand[rows] + parts.demand[graph.other]
    may = ((joined <= limit) | (joined == 0)).all(axis=1) & (graph.weight > 0)
    may &= parts.movable[rows] & parts.movable[graph.other]
    may &= parts.kind[rows] == parts.kind[graph.other]
    partner = _matched(rows[may], graph.other[may], rating[may], count)
    seed = np.minimum(np.arange(count), np.where(partner >= 0, partner, count))
    _, numbers = np.unique(seed, return_inverse=True)
    label[:] = numbers.reshape(-1)
    return int(label.max(initial=-1)) + 1


def _matched(rows: Ints, others: Ints, rating: Floats, count: int) -> Ints:
    """Whom each part is joined with, or -1: a few rounds of everybody naming their best."""
    partner = np.full(count, -1, dtype=np.int64)
    ascending = np.argsort(rating, kind="stable")
    rows, others = rows[ascending], others[ascending]
    for _ in range(6):
        best = np.full(count, -1, dtype=np.int64)
        # The last one written stays: the best.
        best[rows] = others
        named = np.flatnonzero(best >= 0)
        mutual = named[best[best[named]] == named]
        if mutual.size == 0:
            break
        partner[mutual] = best[mutual]
        free = (partner[rows] < 0) & (partner[others] < 0)
        rows, others = rows[free], others[free]
    return partner


def contract(graph: Graph, label: Ints, count: int) -> Graph:
    """The graph between clusters; what stays inside of one is left out."""
    rows = np.repeat(np.arange(len(label)), np.diff(graph.indptr))
    sent = np.arange(len(rows)) < graph.split[rows]
    halves = []
    for half in (sent, ~sent):
        mine, theirs = label[rows[half]], label[graph.other[half]]
        apart = mine != theirs
        entries = (graph.weight[half][apart], (mine[apart], theirs[apart]))
        halves.append(scipy.sparse.csr_matrix(entries, shape=(count, count)))
    both = scipy.sparse.hstack(halves, format="csr")
    indptr = both.indptr.astype(np.int64)
    split = indptr[:-1] + np.diff(halves[0].indptr)
    other = both.indices.astype(np.int64) % max(count, 1)
    return Graph(indptr, split.astype(np.int64), other, both.data)


def fill(scene: Scene, standing: Standing, desk: Desk, order: Ints) -> int:  # noqa: ARG001
    """Put parts down in order, each on the cheapest site with room; returns how many found none."""
    graph, sites, parts = scene.graph, scene.sites, scene.parts
    homeless = 0
    for part in order:
        if standing.site[part] >= 0:
            continue
        fits = _fitting(scene, standing, int(part))
        candidates = np.flatnonzero(fits)
        if candidates.size == 0:
            homeless += 1
            continue
        low, middle, high = graph.indptr[part], graph.split[part], graph.indptr[part + 1]
        cost = np.zeros(len(candidates))
        exchanged = np.zeros(len(sites.same))
        for start, end, between in ((low, middle, sites.between.T), (middle, high, sites.between)):
            there = standing.site[graph.other[start:end]]
            weight = np.where(there >= 0, graph.weight[start:end], 0.0)
            if weight.any():
                groups = np.bincount(sites.group_of[there], weight, len(between))
                cost += (groups @ between)[sites.group_of[candidates]]
                exchanged += np.bincount(np.maximum(there, 0), weight, len(sites.same))
        own = sites.group_of[candidates]
        cost += exchanged[candidates] * (sites.same[candidates] - sites.between[own, own])
        least = standing.free[candidates].min(axis=1, initial=np.inf)
        site = int(candidates[np.lexsort((-least, cost))[0]])
        standing.free[site] -= parts.demand[part]
        standing.site[part] = site
    return homeless


def _fitting(scene: Scene, standing: Standing, part: int) -> Bools:
    demand = scene.parts.demand[part]
    room = ((demand <= standing.free) | (demand == 0)).all(axis=1)
    fits: Bools = room & scene.sites.allowed[scene.parts.kind[part]]
    return fits


def refine(scene: Scene, standing: Standing, desk: Desk, awake: Bools, passes: int) -> int:  # noqa: ARG001
    """Move parts to cheaper sites, those that gain most first; returns how many moves were made."""
    halves = _halves(scene.graph)
    moves = 0
    for _ in range(passes):
        parts, targets = _wishes(scene, standing, halves)
        made = _grant(scene, standing, parts, targets)
        moves += made
        # A pass is as long as the first one; the last few moves are not worth it.
        if made <= len(standing.site) // 200:
            break
    return moves


class Halves(NamedTuple):
    """The graph as matrices: what parts send, what they get, and both."""

    sent: "scipy.sparse.csr_matrix"
    got: "scipy.sparse.csr_matrix"
    both: "scipy.sparse.csr_matrix"


def _halves(graph: Graph) -> Halves:
    count = len(graph.split)
    both = scipy.sparse.csr_matrix((graph.weight, graph.other, graph.indptr), shape=(count, count))
    if np.array_equal(graph.split, graph.indptr[1:]):
        return Halves(sent=both, got=scipy.sparse.csr_matrix((count, count)), both=both)
    rows = np.repeat(np.arange(count), np.diff(graph.indptr))
    sends = np.arange(len(rows)) < graph.split[rows]
    sent, got = (
        scipy.sparse.csr_matrix(
            (graph.weight[half], (rows[half], graph.other[half])), shape=(count, count)
        )
        for half in (sends, ~sends)
    )
    return Halves(sent=sent, got=got, both=both)


def _wishes(scene: Scene, standing: Standing, halves: Halves) -> tuple[Ints, Ints]:
    """Who would gain where, the largest gain first, each part once."""
    sites, parts, here = scene.sites, scene.parts, standing.site
    at, base = _weighed(scene, standing, halves)
    everyone = np.arange(len(here))
    own = sites.group_of[here]
    exchanged = np.asarray(at[everyone, here]).reshape(-1)
    present = base[everyone, own] + exchanged * (sites.same[here] - sites.between[own, own])
    present += _priced(parts, everyone, here)
    rows = np.repeat(everyone, np.diff(at.indptr))
    group = sites.group_of[at.indices]
    cost = base[rows, group] + at.data * (sites.same[at.indices] - sites.between[group, group])
    gain = present[rows] - cost - _priced(parts, rows, at.indices)
    may = gain > 1e-12 * np.abs(present[rows])
    rows, targets, gain = rows[may], at.indices[may], gain[may]
    may = parts.movable[rows] & (here[rows] >= 0) & sites.allowed[parts.kind[rows], targets]
    demand = parts.demand[rows]
    may &= ((demand <= standing.free[targets]) | (demand == 0)).all(axis=1)
    rows, targets, gain = rows[may], targets[may], gain[may]
    order = np.lexsort((targets, rows, -gain))
    _, first = np.unique(rows[order], return_index=True)
    chosen = order[np.sort(first)]
    return rows[chosen], targets[chosen].astype(np.int64)


def _weighed(
    scene: Scene, standing: Standing, halves: Halves
) -> "tuple[scipy.sparse.csr_matrix, Floats]":
    """What each part exchanges with each site, and what it would cost in each group."""
    sites, count = scene.sites, len(standing.site)
    placed = np.flatnonzero(standing.site >= 0)
    there = standing.site[placed]
    ones = np.ones(len(placed))
    where = scipy.sparse.csr_matrix((ones, (placed, there)), shape=(count, len(sites.same)))
    group = scipy.sparse.csr_matrix(
        (ones, (placed, sites.group_of[there])), shape=(count, len(sites.between))
    )
    at = halves.both @ where
    base: Floats = (halves.sent @ group) @ sites.between.T
    if halves.got.nnz:
        base += (halves.got @ group) @ sites.between
    return at, base


def _priced(parts: Parts, rows: Ints, sites: Ints) -> Floats:
    away = (parts.home[rows] >= 0) & (parts.home[rows] != sites)
    return np.where(away, parts.price[rows], 0.0)


def _grant(scene: Scene, standing: Standing, wishing: Ints, targets: Ints) -> int:
    """Make the moves in order, leaving out those whose neighbours have just moved."""
    graph, demand = scene.graph, scene.parts.demand
    settled = np.zeros(len(standing.site), dtype=np.bool_)
    made = 0
    for part, target in zip(wishing.tolist(), targets.tolist(), strict=True):
        if settled[part]:
            continue
        need = demand[part]
        if np.any((need > standing.free[target]) & (need > 0)):
            continue
        standing.free[standing.site[part]] += need
        standing.free[target] -= need
        standing.site[part] = target
        settled[graph.other[graph.indptr[part] : graph.indptr[part + 1]]] = True
        made += 1
    return made


def pack(scene: Scene, standing: Standing, order: Ints) -> int:
    """Put parts down in order, each where least is left afterwards; returns how many found none."""
    homeless = 0
    for part in order:
        candidates = np.flatnonzero(_fitting(scene, standing, int(part)))
        if candidates.size == 0:
            homeless += 1
            continue
        left = standing.free[candidates].sum(axis=1)
        site = int(candidates[np.argmin(left)])
        standing.free[site] -= scene.parts.demand[part]
        standing.site[part] = site
    return homeless


def level(scene: Scene, standing: Standing, order: Ints) -> int:
    """Put parts down in order, each where the fullest resource stays lowest; returns the rest."""
    homeless = 0
    whole = np.where(scene.sites.capacity > 0, scene.sites.capacity, np.inf)
    for part in order:
        candidates = np.flatnonzero(_fitting(scene, standing, int(part)))
        if candidates.size == 0:
            homeless += 1
            continue
        demand = scene.parts.demand[part]
        used = 1.0 - (standing.free[candidates] - demand) / whole[candidates]
        used[np.isinf(whole[candidates])] = 0.0
        height = used.max(axis=1, initial=0.0) + 1e-3 * used.sum(axis=1)
        site = int(candidates[np.argmin(height)])
        standing.free[site] -= demand
        standing.site[part] = site
    return homeless
