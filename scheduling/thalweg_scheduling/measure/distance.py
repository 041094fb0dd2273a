"""How far apart two nodes are, in as few numbers as the measurements allow.

Where only domains differ, sixteen domains make a table of 256 numbers, which stays in a processor's
first cache; a table of all pairs of 2,000 nodes does not.
"""

from typing import NamedTuple

import numpy as np

from thalweg_scheduling.kernels.layout import Ways
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import Snapshot


class Distances(NamedTuple):
    """One-way seconds between tasks: `same[a]` on one node, else `between` of the nodes' groups.

    A tuple, because compiled kernels take tuples of arrays and no other values.
    """

    group_of: Ints
    """Shape (nodes,)."""
    between: Floats
    """Shape (groups, groups)."""
    same: Floats
    """Shape (nodes,)."""

    @property
    def is_symmetric(self) -> bool:
        """Whether there and back take equally long everywhere."""
        return bool(np.array_equal(self.between, self.between.T))


def distances(snapshot: Snapshot) -> Distances:
    """The snapshot's distances, by domain where all nodes of a domain are alike."""
    classes = snapshot.latency.classes
    domain_of, domains = snapshot.domain_of, len(snapshot.domains)
    if snapshot.latency.pairs_s is None:
        between = np.full((domains, domains), classes.cross_domain_s)
        np.fill_diagonal(between, classes.same_domain_s)
        same = np.full(len(snapshot.nodes), classes.same_node_s)
        return Distances(group_of=np.array(domain_of), between=between, same=same)
    pairs = snapshot.node_cost_s
    same = np.array(np.diagonal(pairs))
    by_domain = _by_domain(pairs, domain_of, domains)
    if by_domain is not None:
        return Distances(group_of=np.array(domain_of), between=by_domain, same=same)
    everyone = np.arange(len(snapshot.nodes), dtype=np.int64)
    return Distances(group_of=everyone, between=np.array(pairs), same=same)


def ways_of(far: Distances) -> Ways:
    """The same for kernels, which want arrays that may be written."""
    return Ways(
        group_of=np.array(far.group_of, order="C"),
        between=np.array(far.between, order="C"),
        same=np.array(far.same, order="C"),
    )


def seconds_between(far: Distances, source: Ints, target: Ints) -> Floats:
    """One-way seconds for each pair of nodes, tasks in processes of their own."""
    across = far.between[far.group_of[source], far.group_of[target]]
    seconds: Floats = np.where(source == target, far.same[source], across)
    return seconds


def dense_s(far: Distances) -> Floats:
    """Shape (nodes, nodes): the whole table, for instances that are small."""
    table: Floats = far.between[far.group_of][:, far.group_of]
    np.fill_diagonal(table, far.same)
    return table


def _by_domain(pairs: Floats, domain_of: Ints, domains: int) -> Floats | None:
    """The table of domains, if every pair of nodes agrees with it."""
    between = np.zeros((domains, domains))
    between[domain_of[:, None], domain_of[None, :]] = pairs
    for domain in range(domains):
        members = np.flatnonzero(domain_of == domain)
        # A node's distance to itself is kept apart: a domain of one node has no other.
        between[domain, domain] = pairs[members[0], members[1]] if members.size > 1 else 0.0
    expected = between[domain_of][:, domain_of]
    np.fill_diagonal(expected, np.diagonal(pairs))
    return between if np.array_equal(expected, pairs) else None
