"""The same placement with other names of nodes, so that as many tasks as possible stay.

A search that starts from nothing does not care which of several equal nodes, or equal domains,
holds which part of a topology. Whoever has to move there does.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.problem import Problem


def aligned(problem: Problem, node: Ints) -> Ints:
    """A placement worth the same, with fewer moves."""
    if not problem.movable.all():
        return node
    twin = _twins(problem)
    by_domain = _through(node, _domain_swaps(problem, node, twin))
    return _through(by_domain, _swaps(by_domain, problem.snapshot.placement, twin))


def _through(node: Ints, becomes: Ints) -> Ints:
    return np.where(node == UNPLACED, UNPLACED, becomes[node])


def _swaps(node: Ints, present: Ints, twin: Ints) -> Ints:
    """For each node, the equal one that shares most tasks with it, each given away once."""
    count = len(twin)
    becomes = np.full(count, UNPLACED, dtype=np.int64)
    taken = np.zeros(count, dtype=np.bool_)
    both = np.flatnonzero((node != UNPLACED) & (present != UNPLACED))
    both = both[twin[node[both]] == twin[present[both]]]
    pairs, shared = np.unique(node[both] * count + present[both], return_counts=True)
    for pair in pairs[np.argsort(-shared, kind="stable")].tolist():
        new, old = divmod(pair, count)
        if becomes[new] == UNPLACED and not taken[old]:
            becomes[new] = old
            taken[old] = True
    for kind in np.unique(twin):
        left = np.flatnonzero((twin == kind) & (becomes == UNPLACED))
        becomes[left] = np.flatnonzero((twin == kind) & ~taken)
    return becomes


def _twins(problem: Problem) -> Ints:
    """Nodes that no task and no other node can tell apart have the same number."""
    snapshot, far = problem.snapshot, problem.far
    if snapshot.eligible.strides[0] == 0:
        able = snapshot.eligible[:1].T.astype(np.float64)
    else:
        able = np.stack(
            [snapshot.eligible.sum(axis=0), np.arange(len(snapshot.eligible)) @ snapshot.eligible],
            axis=1,
        ).astype(np.float64)
    traits = [far.group_of, snapshot.domain_of, far.same, *problem.needs.capacity.T, *able.T]
    _, twin = np.unique(np.stack(traits, axis=1), axis=0, return_inverse=True)
    return np.asarray(twin.reshape(-1), dtype=np.int64)


def _domain_swaps(problem: Problem, node: Ints, twin: Ints) -> Ints:
    """For each node, its counterpart in the domain that shares most tasks with its own.

    Only where all domains are equal: as many nodes of one kind, and equally far from each other.
    """
    snapshot, far = problem.snapshot, problem.far
    stay = np.arange(len(twin), dtype=np.int64)
    kinds = len(np.unique(twin))
    sizes = np.bincount(snapshot.domain_of, minlength=len(snapshot.domains))
    alike = (
        kinds == len(snapshot.domains) == len(far.between)
        and len(np.unique(sizes)) == 1
        and len(np.unique(problem.needs.capacity, axis=0)) == 1
        and _is_uniform(far.between)
        and len(np.unique(far.same)) == 1
    )
    if not alike or not snapshot.eligible[0].all():
        return stay
    domains = np.zeros(len(sizes), dtype=np.int64)
    placed = np.where(node == UNPLACED, UNPLACED, snapshot.domain_of[node])
    present = snapshot.placement
    now = np.where(present == UNPLACED, UNPLACED, snapshot.domain_of[present])
    becomes = _swaps(placed, now, domains)
    order = np.argsort(snapshot.domain_of, kind="stable").reshape(len(sizes), -1)
    moved = np.empty_like(stay)
    moved[order] = order[becomes]
    return moved


def _is_uniform(between: np.ndarray[tuple[int, ...], np.dtype[np.float64]]) -> bool:
    """Whether all domains are equally wide and equally far from each other."""
    apart = between[~np.eye(len(between), dtype=np.bool_)]
    return len(np.unique(np.diagonal(between))) == 1 and len(np.unique(apart)) <= 1
