"""Large instances from a seed: many small topologies, or a single giant one.

Vertices of 4 to 32 tasks; an edge is a shuffle (everybody with everybody), fields with skewed keys
(the same, in unequal shares) or a forward (one to one). Nodes are alike, with a quarter more than
the mean that they have to carry; tasks are not.
"""

from dataclasses import dataclass

import numpy as np

from bench.instances import BYTES_PER_TUPLE, LIMITS, OBSERVED, everywhere
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.graph import Edge, GroupingType, Vertex
from thalweg_scheduling.model.matrices import DependencyMatrix, NodeLatency
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

SLACK = 1.25
_GROUPINGS = (GroupingType.SHUFFLE, GroupingType.FIELDS, GroupingType.NEAR_SOURCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large an instance is."""

    tasks: int
    nodes: int
    domains: int

    @property
    def label(self) -> str:
        """As tables name it."""
        return f"{self.tasks:,} × {self.nodes:,} × {self.domains}"


def many_topologies(size: Size, seed: int) -> Snapshot:
    """Topologies of 4 to 10 vertices each that do not talk with each other."""
    rng = np.random.default_rng([seed, 1])
    counts = _counts(rng, size.tasks)
    edges: list[tuple[int, int]] = []
    first = 0
    while first < len(counts):
        length = min(int(rng.integers(4, 11)), len(counts) - first)
        edges += [(first + int(rng.integers(0, v)), first + v) for v in range(1, length)]
        first += length
    return _snapshot(rng, size, counts, edges)


def one_topology(size: Size, seed: int) -> Snapshot:
    """All vertices in one graph; edges lead to near ones mostly, as in a long program."""
    rng = np.random.default_rng([seed, 2])
    counts = _counts(rng, size.tasks)
    edges = set()
    for v in range(1, len(counts)):
        edges.add((max(0, v - int(rng.geometric(0.3))), v))
        if rng.random() < 0.3:
            edges.add((max(0, v - int(rng.integers(1, 200))), v))
    return _snapshot(rng, size, counts, sorted(edges))


def _counts(rng: np.random.Generator, tasks: int) -> Ints:
    """Tasks of each vertex; the last one has what is left."""
    counts = rng.integers(4, 33, size=tasks // 4 + 1)
    ends = np.cumsum(counts)
    last = int(np.searchsorted(ends, tasks))
    counts = counts[: last + 1]
    counts[last] -= ends[last] - tasks
    return counts


def _snapshot(
    rng: np.random.Generator, size: Size, counts: Ints, edges: list[tuple[int, int]]
) -> Snapshot:
    kinds = rng.integers(0, len(_GROUPINGS), size=len(edges))
    demand = np.repeat(rng.choice([0.25, 0.5, 1.0, 2.0], size=len(counts)), counts)
    demand *= rng.uniform(0.8, 1.2, size=len(demand))
    each = SLACK * demand.sum() / size.nodes
    return Snapshot(
        topology="bench",
        vertices=tuple(Vertex(name=f"v{v}", replicas=int(n)) for v, n in enumerate(counts)),
        edges=tuple(
            Edge(source=a, target=b, grouping=_GROUPINGS[kind])
            for (a, b), kind in zip(edges, kinds, strict=True)
        ),
        nodes=tuple(f"n{node:05}" for node in range(size.nodes)),
        domains=tuple(f"d{domain:02}" for domain in range(size.domains)),
        domain_of=np.arange(size.nodes) * size.domains // size.nodes,
        resources=("cpu",),
        demand=demand[:, None],
        capacity=np.full((size.nodes, 1), max(each, float(demand.max()))),
        eligible=everywhere(size.tasks, size.nodes),
        placement=np.full(size.tasks, UNPLACED),
        traffic=_traffic(rng, counts, edges, kinds),
        latency=NodeLatency(observed=OBSERVED),
        limits=LIMITS,
    )


def _traffic(
    rng: np.random.Generator, counts: Ints, edges: list[tuple[int, int]], kinds: Ints
) -> DependencyMatrix:
    first = np.concatenate([[0], np.cumsum(counts)])
    sources, targets, rates = [], [], []
    for (a, b), kind in zip(edges, kinds, strict=True):
        u, v, share = _pairs(rng, int(counts[a]), int(counts[b]), _GROUPINGS[kind])
        sources.append(first[a] + u)
        targets.append(first[b] + v)
        rates.append(share * 10 ** rng.uniform(2, 4))
    return _matrix(
        int(first[-1]), np.concatenate(sources), np.concatenate(targets), np.concatenate(rates)
    )


def _pairs(
    rng: np.random.Generator, senders: int, receivers: int, kind: GroupingType
) -> tuple[Ints, Ints, Floats]:
    """Task pairs of an edge and the share of its stream that each carries."""
    if kind is GroupingType.NEAR_SOURCE:
        u = np.arange(max(senders, receivers))
        return u % senders, u % receivers, np.full(len(u), 1 / len(u))
    keys = np.ones(receivers)
    if kind is GroupingType.FIELDS:
        keys = rng.permutation(1 / np.arange(1, receivers + 1))
    shares = np.tile(keys / keys.sum() / senders, senders)
    return np.repeat(np.arange(senders), receivers), np.tile(np.arange(receivers), senders), shares


def _matrix(tasks: int, source: Ints, target: Ints, per_s: Floats) -> DependencyMatrix:
    order = np.lexsort((target, source))
    counts = np.bincount(source, minlength=tasks)
    return DependencyMatrix(
        indptr=np.concatenate([[0], np.cumsum(counts)]),
        targets=target[order],
        tuples_per_s=per_s[order],
        bytes_per_s=BYTES_PER_TUPLE * per_s[order],
        observed=OBSERVED,
    )
