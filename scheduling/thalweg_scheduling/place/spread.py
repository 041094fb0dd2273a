"""How a vertex's tasks must be spread over domains: `minDomains` and `maxSharePercent`."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.measure.needs import TOLERANCE
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Bounds for each vertex, in tasks and domains."""

    most: Ints
    """Shape (vertices,): the most tasks that one domain may hold."""
    least: Ints
    """Shape (vertices,): the fewest domains that must be used."""
    binds: bool
    """Whether there is anything to keep at all."""


def spread_of(snapshot: Snapshot) -> Spread:
    """The bounds that the user's limits set for this topology."""
    limits = snapshot.limits.placement
    replicas = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.int64)
    share = np.floor(replicas * limits.max_share_percent / 100 + TOLERANCE)
    most = np.maximum(1, share).astype(np.int64)
    least = np.minimum(np.minimum(limits.min_domains, replicas), len(snapshot.domains))
    binds = bool(np.any(most < replicas) or np.any(least > 1))
    return Spread(most=most, least=least, binds=binds)


def tasks_by_domain(snapshot: Snapshot, node: Ints) -> Ints:
    """Shape (vertices, domains): how many tasks of each vertex each domain holds."""
    counts = np.zeros((len(snapshot.vertices), len(snapshot.domains)), dtype=np.int64)
    placed = np.flatnonzero(node != UNPLACED)
    np.add.at(counts, (snapshot.vertex_of[placed], snapshot.domain_of[node[placed]]), 1)
    return counts


def breaks_spread(snapshot: Snapshot, node: Ints, movable: Bools) -> bool:
    """Whether the movable tasks break a bound that they could keep."""
    spread = spread_of(snapshot)
    if not spread.binds:
        return False
    counts = tasks_by_domain(snapshot, node)
    fixed = tasks_by_domain(snapshot, np.where(movable, UNPLACED, node))
    if np.any((counts > spread.most[:, None]) & (counts > fixed)):
        return True
    vertices = len(counts)
    homeless = np.bincount(snapshot.vertex_of[node == UNPLACED], minlength=vertices)
    hands = np.bincount(snapshot.vertex_of[movable], minlength=vertices)
    reachable = np.minimum(spread.least, np.count_nonzero(fixed, axis=1) + hands)
    return bool(np.any(np.count_nonzero(counts, axis=1) + homeless < reachable))


def torn_vertices(snapshot: Snapshot, node: Ints) -> Bools:
    """Shape (vertices,): whose tasks are in too few domains, or too many of them in one."""
    spread, counts = spread_of(snapshot), tasks_by_domain(snapshot, node)
    crowded = np.any(counts > spread.most[:, None], axis=1)
    torn: Bools = crowded | (np.count_nonzero(counts, axis=1) < spread.least)
    return torn


def allowed_moves(spread: Spread, counts: Ints) -> Bools:
    """Shape (vertices, domains, domains): whether a task may go from one domain to another."""
    vertices, domains = counts.shape
    if not spread.binds:
        return np.ones((vertices, domains, domains), dtype=np.bool_)
    used = np.count_nonzero(counts, axis=1)[:, None, None]
    after = used - (counts == 1)[:, :, None] + (counts == 0)[:, None, :]
    # A placement that already breaks a bound may be mended step by step.
    enough = (after >= spread.least[:, None, None]) | (after > used)
    allowed: Bools = enough & (counts < spread.most[:, None])[:, None, :]
    same = np.eye(domains, dtype=np.bool_)
    return allowed | same[None, :, :]
