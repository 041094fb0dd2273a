"""Graph partitioners as peers: what they place, and where that overloads a node.

METIS knows nothing of latency between parts, so it is asked twice: for a part for each domain, then
inside each for a part for each node. Mt-KaHyPar maps onto a graph of nodes whose edges are the
latencies, which is J up to a constant. Both want whole numbers for weights.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

import numpy as np
import scipy.sparse as sparse

from thalweg_scheduling.measure.distance import dense_s, distances
from thalweg_scheduling.measure.needs import needs, taken
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import Snapshot

if TYPE_CHECKING:
    from mtkahypar import Initializer

THREADS = os.cpu_count() or 1
LARGEST_WEIGHT = 10_000
"""Of an edge; the sum of all must fit into 32 bits, which is what METIS adds up in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violations:
    """How far a placement overloads nodes."""

    nodes: int
    worst: float
    """The fullest node's load in its most taken resource, 1 = full."""

    def __str__(self) -> str:
        return f"{self.nodes} ({self.worst:.2f})"


def violations(snapshot: Snapshot, node: Ints) -> Violations:
    """Which share of nodes got more than they have."""
    wanted = needs(snapshot)
    load = (taken(wanted, node) / wanted.capacity).max(axis=1)
    return Violations(nodes=int(np.count_nonzero(load > 1)), worst=float(load.max()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Undirected:
    """Traffic both ways together, in whole numbers, as a symmetric CSR matrix."""

    indptr: Ints
    other: Ints
    weight: Ints
    demand: Ints

    def part(self, members: Ints) -> "Undirected":
        """The graph of some of its vertices."""
        whole = sparse.csr_matrix(
            (self.weight, self.other, self.indptr), shape=(len(self.demand),) * 2
        )
        inner = whole[members][:, members].tocsr()
        return Undirected(
            indptr=inner.indptr, other=inner.indices, weight=inner.data, demand=self.demand[members]
        )


def undirected(snapshot: Snapshot) -> Undirected:
    """The snapshot's traffic as partitioners want it."""
    traffic = snapshot.traffic
    assert traffic is not None
    shape = (traffic.tasks, traffic.tasks)
    one_way = sparse.csr_matrix(
        (traffic.tuples_per_s, traffic.targets, traffic.indptr), shape=shape
    )
    both = (one_way + one_way.T).tocsr()
    both.setdiag(0)
    both.eliminate_zeros()
    both.sort_indices()
    largest = float(both.data.max()) if both.nnz else 1.0
    return Undirected(
        indptr=both.indptr,
        other=both.indices,
        weight=np.maximum(1, np.round(both.data * LARGEST_WEIGHT / largest)).astype(np.int64),
        demand=np.round(1000 * snapshot.demand[:, 0]).astype(np.int64),
    )


def metis_two_level(snapshot: Snapshot, graph: Undirected, seed: int) -> Ints:
    """A part for each domain, then one for each of its nodes."""
    node = np.empty(len(graph.demand), dtype=np.int64)
    domain = _metis(graph, _shares(snapshot, snapshot.domain_of), seed)
    for number in range(len(snapshot.domains)):
        members = np.flatnonzero(domain == number)
        nodes = np.flatnonzero(snapshot.domain_of == number)
        if members.size:
            shares = snapshot.capacity[nodes, 0] / snapshot.capacity[nodes, 0].sum()
            node[members] = nodes[_metis(graph.part(members), shares, seed)]
    return node


def _shares(snapshot: Snapshot, group_of: Ints) -> Floats:
    total = np.bincount(group_of, weights=snapshot.capacity[:, 0])
    return np.asarray(total / total.sum(), dtype=np.float64)


def _metis(graph: Undirected, shares: Floats, seed: int) -> Ints:
    import pymetis

    if len(shares) == 1:
        return np.zeros(len(graph.demand), dtype=np.int64)
    found = pymetis.part_graph(
        len(shares),
        pymetis.CSRAdjacency(adj_starts=graph.indptr, adjacent=graph.other),
        vweights=graph.demand,
        eweights=graph.weight,
        tpwgts=shares.tolist(),
        options=pymetis.Options(seed=seed),
    )
    return np.asarray(found.vertex_part, dtype=np.int64)


def mtkahypar_mapping(snapshot: Snapshot, graph: Undirected, seed: int) -> Callable[[], Ints]:
    """Everything made ready; calling the result is what is timed."""
    import mtkahypar

    library = _mtkahypar()
    context = library.context_from_preset(mtkahypar.PresetType.DEFAULT)
    nodes = len(snapshot.nodes)
    mean = snapshot.demand[:, 0].sum() / nodes
    context.set_mapping_parameters(nodes, float(snapshot.capacity[0, 0] / mean - 1))
    mtkahypar.set_seed(seed)
    upper = sparse.triu(
        sparse.csr_matrix((graph.weight, graph.other, graph.indptr), shape=(len(graph.demand),) * 2)
    ).tocoo()
    pairs = list(zip(upper.row.tolist(), upper.col.tolist(), strict=True))
    made = library.create_graph(
        context, len(graph.demand), len(pairs), pairs, graph.demand.tolist(), upper.data.tolist()
    )
    target = library.create_target_graph(context, nodes, *_target(snapshot))

    def work() -> Ints:
        return np.asarray(made.map_onto_graph(target, context).get_partition(), dtype=np.int64)

    return work


@cache
def _mtkahypar() -> "Initializer":
    import mtkahypar

    return mtkahypar.initialize(THREADS)


def _target(snapshot: Snapshot) -> tuple[int, list[tuple[int, int]], list[int]]:
    """All pairs of nodes, by how much farther they are than one node from itself."""
    far = distances(snapshot)
    table = dense_s(far) - float(far.same[0])
    upper = np.triu_indices(len(table), 1)
    tenths_of_ms = np.round(1e4 * table[upper]).astype(int)
    pairs = list(zip(upper[0].tolist(), upper[1].tolist(), strict=True))
    return len(pairs), pairs, tenths_of_ms.tolist()
