"""Snapshots for tests and benchmarks: one plain builder, and hypothesis strategies over it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
from hypothesis import strategies as st

from thalweg_scheduling.measure.fluctuation import surroundings_of
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.graph import Edge, GroupingType, Vertex
from thalweg_scheduling.model.limits import Limits, Permits, PlacementLimits
from thalweg_scheduling.model.matrices import (
    LOAD_FIELDS,
    DependencyMatrix,
    NodeLatency,
    Observed,
    TaskLoad,
)
from thalweg_scheduling.model.memory import Lull, Memory, Raise
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

NOW_S = 1_700_000_000.0
OBSERVED = Observed(at_s=NOW_S - 5, window_s=300, samples=20, coverage=1.0)
MAY_MOVE = Limits(permits=Permits(move=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """Nodes alike, dealt to domains in turn; `cpu` and `pods` are what each has."""

    nodes: int = 4
    domains: int = 2
    cpu: float = 4.0
    pods: float = 110.0


def make_snapshot(
    replicas: Mapping[str, int] | None = None,
    edges: Sequence[tuple[str, str]] | None = None,
    cluster: Cluster | None = None,
    *,
    rates: Mapping[tuple[str, str], float] | None = None,
    placement: Sequence[int] | None = None,
    cpu: float = 0.5,
    limits: Limits | None = None,
) -> Snapshot:
    """A topology on a cluster; `rates` are tuples/s of whole edges, spread evenly, fresh and whole.

    Without arguments: WordCount of ten tasks on four nodes in two domains, nothing placed.
    """
    replicas = replicas if replicas is not None else {"read": 2, "split": 3, "count": 3, "out": 2}
    names = list(replicas)
    pairs = edges if edges is not None else list(pairwise(names))
    cluster = cluster or Cluster()
    tasks = sum(replicas.values())
    vertices = tuple(Vertex(name=name, replicas=count) for name, count in replicas.items())
    wired = tuple(Edge(source=names.index(a), target=names.index(b)) for a, b in pairs)
    flows = rates if rates is not None else dict.fromkeys(pairs, 100.0)
    return Snapshot(
        topology="word-count",
        vertices=vertices,
        edges=wired,
        nodes=tuple(f"n{node:04}" for node in range(cluster.nodes)),
        domains=tuple(f"d{domain}" for domain in range(cluster.domains)),
        domain_of=np.arange(cluster.nodes) % cluster.domains,
        resources=("cpu", "pods"),
        demand=np.tile([cpu, 1.0], (tasks, 1)),
        capacity=np.tile([cluster.cpu, cluster.pods], (cluster.nodes, 1)),
        eligible=np.ones((tasks, cluster.nodes), dtype=np.bool_),
        placement=np.full(tasks, UNPLACED) if placement is None else np.array(placement),
        traffic=spread_traffic(
            vertices, {(names.index(a), names.index(b)): f for (a, b), f in flows.items()}
        ),
        latency=NodeLatency(observed=OBSERVED),
        limits=limits or MAY_MOVE,
    )


def spread_traffic(
    vertices: tuple[Vertex, ...], flows: Mapping[tuple[int, int], float]
) -> DependencyMatrix:
    """Each edge's tuples/s evenly over its task pairs."""
    first = np.concatenate([[0], np.cumsum([vertex.replicas for vertex in vertices])])
    entries = {}
    for (a, b), per_s in flows.items():
        count = vertices[a].replicas * vertices[b].replicas
        for source in range(first[a], first[a + 1]):
            for target in range(first[b], first[b + 1]):
                entries[source, target] = (per_s / count, 100 * per_s / count)
    return DependencyMatrix.from_pairs(int(first[-1]), entries, OBSERVED)


def applied(snapshot: Snapshot, plan: Plan, now_s: float) -> Snapshot:
    """The snapshot once the plan has been carried out."""
    position = {name: node for node, name in enumerate(snapshot.nodes)}
    node = [position.get(plan.assignments.get(task.name, ""), UNPLACED) for task in snapshot.tasks]
    return replace(
        snapshot,
        placement=np.array(node, dtype=np.int64),
        last_moved_at_s=now_s if plan.moves else snapshot.last_moved_at_s,
    )


@st.composite
def snapshots(draw: st.DrawFn, *, most_tasks: int = 10, placed: bool | None = None) -> Snapshot:
    """Any small topology on any small cluster: unlike nodes, uneven latency, tight or roomy.

    What its tasks do may have been measured, and how much of the nodes they use.
    """
    vertices = tuple(
        Vertex(name=f"v{position}", replicas=count)
        for position, count in enumerate(_replicas(draw, most_tasks))
    )
    tasks = sum(vertex.replicas for vertex in vertices)
    nodes = draw(st.integers(1, 5))
    domain_of = np.array([draw(st.integers(0, 2)) for _ in range(nodes)])
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = _edges(draw, len(vertices))
    eligible = _eligible(draw, rng, tasks, nodes)
    return Snapshot(
        topology="any",
        vertices=vertices,
        edges=edges,
        nodes=tuple(f"n{node}" for node in range(nodes)),
        domains=("d0", "d1", "d2"),
        domain_of=domain_of,
        resources=("cpu", "memory"),
        demand=rng.choice([0.0, 0.1, 0.25, 0.5, 1.0], size=(tasks, 2)),
        capacity=draw(st.sampled_from([1.0, 2.0, 8.0])) * rng.choice([0.5, 1.0, 1.5], (nodes, 2)),
        eligible=eligible,
        placement=_placement(draw, rng, eligible, placed=placed),
        traffic=_traffic(draw, rng, vertices, edges),
        latency=_latency(draw, rng, nodes),
        limits=_limits(draw),
        loads=_loads(draw, rng, tasks),
    )


@st.composite
def running_snapshots(draw: st.DrawFn, *, most_tasks: int = 10) -> Snapshot:
    """A topology that has been running: everything is placed, measured, remembered and permitted.

    Tasks that share a process are on one node, and may be bound to stay together.
    """
    snapshot = draw(snapshots(most_tasks=most_tasks, placed=True))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shared = draw(st.booleans())
    placement = replace(
        snapshot.limits.placement,
        shared_processes=shared,
        whole_processes=shared and draw(st.booleans()),
    )
    permits = Permits(
        move=draw(st.booleans()),
        scale=draw(st.booleans()),
        regroup=draw(st.booleans()),
        sleep=draw(st.booleans()),
    )
    return replace(
        snapshot,
        loads=snapshot.loads or measured_loads(rng, len(snapshot.tasks)),
        process=_process(rng, snapshot.placement) if shared else None,
        limits=replace(snapshot.limits, placement=placement, permits=permits),
        memory=_memory(draw, snapshot) if draw(st.booleans()) else None,
        last_moved_at_s=draw(st.sampled_from([None, NOW_S - 1e4])),
        last_scaled_at_s=draw(st.sampled_from([None, NOW_S - 1e4])),
    )


def measured_loads(rng: np.random.Generator, tasks: int) -> TaskLoad:
    """Tasks that are busy, idle or full, with queues here and there; all of it known."""
    busy = rng.choice([0.02, 0.3, 0.6, 0.95, 1.0], tasks)
    processed = rng.choice([1.0, 50.0, 400.0], tasks)
    return TaskLoad(
        cpu_cores=busy * rng.choice([0.1, 1.0], tasks),
        memory_bytes=np.full(tasks, 1e6),
        busy_share=busy,
        backpressured_share=rng.choice([0.0, 0.0, 0.3], tasks),
        wait_s=rng.choice([0.0, 0.001, 0.1], tasks),
        processed_per_s=processed,
        true_rate_per_s=processed / busy,
        queue_tuples=rng.choice([0.0, 10.0, 1e4], tasks),
        observed=OBSERVED,
    )


def _loads(draw: st.DrawFn, rng: np.random.Generator, tasks: int) -> TaskLoad | None:
    kind = draw(st.sampled_from(["none", "none", "whole", "holes"]))
    if kind == "none":
        return None
    loads = measured_loads(rng, tasks)
    if kind == "whole":
        return loads
    holes = {
        name: np.where(rng.random(tasks) < 0.3, np.nan, getattr(loads, name))
        for name in LOAD_FIELDS
    }
    return TaskLoad(**holes, observed=OBSERVED)


def _process(rng: np.random.Generator, placement: Ints) -> Ints:
    """Up to two processes on every node."""
    return np.asarray(2 * placement + rng.integers(0, 2, len(placement)), dtype=np.int64)


def _memory(draw: st.DrawFn, snapshot: Snapshot) -> Memory:
    """What all that remember anything have remembered a while ago."""
    names = [vertex.name for vertex in snapshot.vertices]
    long_ago = NOW_S - draw(st.sampled_from([10.0, 1e4]))
    return Memory(
        at_s=NOW_S - 35,
        queue_tuples=dict.fromkeys(names, 5.0),
        growth_per_s=dict.fromkeys(names, 0.0),
        lulls={name: Lull(since_s=long_ago, most_wanted=1) for name in names},
        raises={
            name: Raise(at_s=NOW_S - 300, from_replicas=1, to_replicas=2, capacity_per_s=10.0)
            for name in names
        },
        began_s=long_ago,
        placed_by=surroundings_of(snapshot),
    )


def _replicas(draw: st.DrawFn, most_tasks: int) -> list[int]:
    counts = draw(st.lists(st.integers(1, 4), max_size=5))
    while sum(counts) > most_tasks:
        counts.pop()
    return counts


def _edges(draw: st.DrawFn, vertices: int) -> tuple[Edge, ...]:
    every = [(a, b) for a in range(vertices) for b in range(a + 1, vertices)]
    chosen = draw(st.lists(st.sampled_from(every), unique=True, max_size=5)) if every else []
    grouping = draw(st.sampled_from(GroupingType))
    return tuple(Edge(source=a, target=b, grouping=grouping) for a, b in sorted(chosen))


def _eligible(draw: st.DrawFn, rng: np.random.Generator, tasks: int, nodes: int) -> Bools:
    if draw(st.booleans()):
        return np.ones((tasks, nodes), dtype=np.bool_)
    return np.asarray(rng.random((tasks, nodes)) < 0.8, dtype=np.bool_)


def _placement(
    draw: st.DrawFn, rng: np.random.Generator, eligible: Bools, *, placed: bool | None
) -> Ints:
    tasks, nodes = eligible.shape
    everywhere = np.asarray(rng.integers(0, nodes, size=tasks), dtype=np.int64)
    if placed if placed is not None else draw(st.booleans()):
        return everywhere
    return np.where(rng.random(tasks) < draw(st.sampled_from([0.0, 0.7])), everywhere, UNPLACED)


def _traffic(
    draw: st.DrawFn, rng: np.random.Generator, vertices: tuple[Vertex, ...], edges: tuple[Edge, ...]
) -> DependencyMatrix | None:
    if draw(st.integers(0, 5)) == 0:
        return None
    scale = draw(st.sampled_from([0.0, 1.0, 1e9]))
    even = draw(st.booleans())
    flows = {(edge.source, edge.target): scale * float(rng.random()) for edge in edges}
    traffic = spread_traffic(vertices, flows)
    if even:
        return traffic
    return replace(traffic, tuples_per_s=traffic.tuples_per_s * rng.random(len(traffic.targets)))


def _latency(draw: st.DrawFn, rng: np.random.Generator, nodes: int) -> NodeLatency:
    if draw(st.booleans()):
        return NodeLatency(observed=OBSERVED)
    pairs: Floats = rng.random((nodes, nodes)) * 0.01
    return NodeLatency(pairs_s=pairs, observed=OBSERVED)


def _limits(draw: st.DrawFn) -> Limits:
    placement = PlacementLimits(
        min_domains=draw(st.sampled_from([1, 1, 2])),
        max_share_percent=draw(st.sampled_from([100, 100, 50])),
        min_gain_percent=draw(st.sampled_from([0.0, 5.0])),
        move_cost=draw(st.sampled_from([0.0, 0.01])),
        max_moves=draw(st.sampled_from([None, 1, 3])),
        shared_processes=draw(st.booleans()),
    )
    return Limits(placement=placement, permits=Permits(move=True))
