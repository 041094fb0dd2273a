"""The instances of the benchmarks: small ones with a name, large ones from a seed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from bench.catalog import CAPSYS, USUAL, Query, Stage
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.graph import Edge, Vertex
from thalweg_scheduling.model.limits import Limits, Permits
from thalweg_scheduling.model.matrices import (
    DependencyMatrix,
    NodeLatency,
    Observed,
)
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

NOW_S = 1_000.0
OBSERVED = Observed(at_s=NOW_S, window_s=300.0, samples=20, coverage=1.0)
LIMITS = Limits(permits=Permits(move=True))
BYTES_PER_TUPLE = 1000.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes by what they have and where they are."""

    cpu_milli: tuple[int, ...]
    domain_of: tuple[int, ...]
    pairs_s: Floats | None = None
    """Shape (nodes, nodes): measured latency, or the classes where absent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """A snapshot with a name."""

    name: str
    snapshot: Snapshot


def small_instances() -> Iterator[Instance]:
    """At most 30 tasks each: what CP-SAT may prove the optimum of."""
    for name, query in USUAL.items():
        for nodes, domains in ((3, 1), (4, 2), (6, 3)):
            yield _on_equal_nodes(name, query, nodes, domains)
    for name, query in CAPSYS.items():
        for nodes, domains in ((4, 2), (6, 2), (6, 3), (8, 4)):
            yield _on_equal_nodes(name, query, nodes, domains)
    for seed in range(28):
        yield _random(seed)


def _on_equal_nodes(name: str, query: Query, nodes: int, domains: int) -> Instance:
    total = sum(stage.tasks * stage.cpu_milli for stage in query.stages)
    largest = max(stage.cpu_milli for stage in query.stages)
    each = max(round(1.25 * total / nodes), largest)
    cluster = Cluster(
        cpu_milli=_enough(query, np.full(nodes, float(each))),
        domain_of=tuple(n * domains // nodes for n in range(nodes)),
    )
    return Instance(name=f"{name} {nodes}/{domains}", snapshot=snapshot_of(query, cluster))


def _random(seed: int) -> Instance:
    """Unlike nodes, uneven latencies, capacity tight or, for each fourth, ample."""
    rng = np.random.default_rng([seed, 20])
    query = _random_query(rng)
    nodes, domains = int(rng.integers(3, 7)), int(rng.integers(2, 4))
    total = sum(stage.tasks * stage.cpu_milli for stage in query.stages)
    shares = rng.choice([1.0, 2.0, 4.0], size=nodes)
    slack = (1.1, 1.2, 1.4, 2.5)[seed % 4]
    largest = max(stage.cpu_milli for stage in query.stages)
    cpu = np.maximum(shares / shares.sum() * slack * total, largest)
    domain_of = np.arange(nodes) % domains
    kind = ("classes", "domains", "nodes")[seed % 3]
    cluster = Cluster(
        cpu_milli=_enough(query, cpu),
        domain_of=tuple(int(each) for each in domain_of),
        pairs_s=_uneven(rng, kind, domain_of),
    )
    return Instance(name=f"random {seed} ({kind})", snapshot=snapshot_of(query, cluster))


def _enough(query: Query, cpu_milli: Floats) -> tuple[int, ...]:
    """The same nodes, each a little larger until all tasks fit, the largest first."""
    tasks = [stage.cpu_milli for stage in query.stages for _ in range(stage.tasks)]
    while True:
        left = np.floor(cpu_milli).astype(np.int64)
        for task in sorted(tasks, reverse=True):
            fitting = np.flatnonzero(left >= task)
            if fitting.size == 0:
                break
            left[fitting[0]] -= task
        else:
            return tuple(int(each) for each in np.floor(cpu_milli))
        cpu_milli = 1.03 * cpu_milli


def _random_query(rng: np.random.Generator) -> Query:
    vertices = int(rng.integers(3, 7))
    tasks = rng.integers(1, 7, size=vertices)
    while tasks.sum() > 30:
        tasks[int(np.argmax(tasks))] -= 1
    stages = tuple(
        Stage(
            name=f"v{position}",
            tasks=int(count),
            cpu_milli=int(rng.choice([200, 350, 500, 800, 1200])),
            sends_per_s=float(np.round(10 ** rng.uniform(2, 4))),
        )
        for position, count in enumerate(tasks)
    )
    edges = {(int(rng.integers(0, v)), v) for v in range(1, vertices)}
    edges |= {
        (a, b) for a in range(vertices) for b in range(a + 1, vertices) if rng.random() < 0.15
    }
    return Query(stages=stages, edges=tuple(sorted(edges)))


def _uneven(rng: np.random.Generator, kind: str, domain_of: Ints) -> Floats | None:
    if kind == "classes":
        return None
    nodes, domains = len(domain_of), int(domain_of.max()) + 1
    if kind == "domains":
        between: Floats = np.round(rng.uniform(0.002, 0.02, size=(domains, domains)), 4)
        np.fill_diagonal(between, np.round(rng.uniform(0.0003, 0.001, size=domains), 4))
        pairs: Floats = between[domain_of][:, domain_of]
    else:
        near = domain_of[:, None] == domain_of[None, :]
        inside = rng.uniform(0.0003, 0.0015, size=(nodes, nodes))
        across = rng.uniform(0.002, 0.02, size=(nodes, nodes))
        pairs = np.round(np.where(near, inside, across), 4).astype(np.float64)
    np.fill_diagonal(pairs, 0.0001)
    return pairs


def snapshot_of(query: Query, cluster: Cluster) -> Snapshot:
    """The query on the cluster, nothing placed, every edge spread evenly over its task pairs."""
    tasks = sum(stage.tasks for stage in query.stages)
    counts = [stage.tasks for stage in query.stages]
    demand = np.repeat([stage.cpu_milli / 1000 for stage in query.stages], counts)
    return Snapshot(
        topology="bench",
        vertices=tuple(Vertex(name=stage.name, replicas=stage.tasks) for stage in query.stages),
        edges=tuple(Edge(source=a, target=b) for a, b in query.edges),
        nodes=tuple(f"n{node:04}" for node in range(len(cluster.cpu_milli))),
        domains=tuple(f"d{domain}" for domain in range(max(cluster.domain_of) + 1)),
        domain_of=np.array(cluster.domain_of),
        resources=("cpu",),
        demand=demand[:, None],
        capacity=np.array(cluster.cpu_milli)[:, None] / 1000,
        eligible=everywhere(tasks, len(cluster.cpu_milli)),
        placement=np.full(tasks, UNPLACED),
        traffic=_even_traffic(query, counts),
        latency=NodeLatency(pairs_s=cluster.pairs_s, observed=OBSERVED),
        limits=LIMITS,
    )


def everywhere(tasks: int, nodes: int) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    """Every task may run on every node; one byte, however many there are."""
    return np.broadcast_to(np.True_, (tasks, nodes))


def _even_traffic(query: Query, counts: Sequence[int]) -> DependencyMatrix:
    first = np.concatenate([[0], np.cumsum(counts)])
    pairs = {}
    for a, b in query.edges:
        per_s = query.stages[a].sends_per_s / counts[b]
        for source in range(first[a], first[a + 1]):
            for target in range(first[b], first[b + 1]):
                pairs[source, target] = (per_s, BYTES_PER_TUPLE * per_s)
    return DependencyMatrix.from_pairs(int(first[-1]), pairs, OBSERVED)
