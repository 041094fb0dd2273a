"""Clusters on which something runs everywhere and less would do, from a seed."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.graph import Vertex
from thalweg_scheduling.model.matrices import Observed, TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot

NOW_S = 1_000.0
DOMAINS = 3

_ALIKE = np.array([[8.0, 32.0]])
_SIZES = np.array([[4.0, 16.0], [8.0, 32.0], [16.0, 64.0]])
_SHAPES = np.array([[8.0, 16.0], [4.0, 32.0]])
_CPU = (0.25, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0)
_MEMORY = (0.5, 1.0, 2.0, 4.0, 6.0, 8.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cluster:
    """A snapshot and a word on its nodes."""

    kind: str
    snapshot: Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    capacity: Floats
    demand: Floats
    """Shape (vertices, 2)."""
    allowed: Bools
    """Shape (vertices, nodes)."""


def small_cluster(seed: int) -> Cluster:
    """Six to thirty nodes, alike, of several sizes, of several shapes, or all different."""
    rng = np.random.default_rng([seed, 11])
    nodes, vertices = int(rng.integers(6, 31)), int(rng.integers(3, 11))
    kind = ("alike", "sizes", "different", "shapes")[seed % 4]
    capacity = {
        "alike": _ALIKE[np.zeros(nodes, dtype=np.int64)],
        "sizes": _SIZES[rng.integers(0, 3, nodes)],
        "different": rng.uniform([4.0, 8.0], [16.0, 64.0], (nodes, 2)),
        "shapes": _SHAPES[rng.integers(0, 2, nodes)],
    }[kind]
    ground = _Ground(
        capacity=capacity,
        demand=np.column_stack([rng.choice(_CPU, vertices), rng.choice(_MEMORY, vertices)]),
        allowed=_allowed(rng, (vertices, nodes), restricted=seed % 3 == 0),
    )
    name = f"{kind}, restricted" if seed % 3 == 0 else kind
    return Cluster(kind=name, snapshot=_filled(ground, rng.uniform(0.3, 0.75), rng))


def large_cluster(nodes: int, vertices: int, seed: int) -> Cluster:
    """Nodes of three sizes, half full."""
    rng = np.random.default_rng([seed, 12])
    ground = _Ground(
        capacity=_SIZES[rng.integers(0, 3, nodes)],
        demand=np.column_stack([rng.choice(_CPU[:5], vertices), rng.choice(_MEMORY, vertices)]),
        allowed=np.ones((vertices, nodes), dtype=np.bool_),
    )
    return Cluster(kind=f"{vertices} vertices", snapshot=_filled(ground, 0.5, rng))


def _allowed(rng: np.random.Generator, shape: tuple[int, int], *, restricted: bool) -> Bools:
    allowed = np.ones(shape, dtype=np.bool_)
    if restricted:
        allowed = rng.random(shape) < 0.6
        allowed[:, :2] = True
    return allowed


def _filled(ground: _Ground, share: float, rng: np.random.Generator) -> Snapshot:
    """Deal tasks to random nodes until one resource is used to that share."""
    free = np.array(ground.capacity)
    total = ground.capacity.sum(axis=0)
    vertex_of: list[int] = []
    placement: list[int] = []
    misses = 0
    while misses < 50 and np.max((total - free.sum(axis=0)) / total) < share:
        vertex = int(rng.integers(len(ground.demand)))
        room = ground.allowed[vertex] & np.all(free >= ground.demand[vertex], axis=1)
        if not room.any():
            misses += 1
            continue
        node = int(rng.choice(np.flatnonzero(room)))
        free[node] -= ground.demand[vertex]
        vertex_of.append(vertex)
        placement.append(node)
    order = np.argsort(vertex_of, kind="stable")
    return _snapshot(ground, np.array(vertex_of)[order], np.array(placement)[order])


def _snapshot(ground: _Ground, vertex_of: Ints, placement: Ints) -> Snapshot:
    nodes, tasks = len(ground.capacity), len(vertex_of)
    replicas = np.bincount(vertex_of, minlength=len(ground.demand))
    demand = ground.demand[vertex_of]
    unknown = np.full(tasks, np.nan)
    return Snapshot(
        topology="sleepers",
        vertices=tuple(Vertex(name=f"v{v}", replicas=int(n)) for v, n in enumerate(replicas)),
        edges=(),
        nodes=tuple(f"n{n}" for n in range(nodes)),
        domains=tuple(f"d{d}" for d in range(DOMAINS)),
        domain_of=np.arange(nodes) % DOMAINS,
        resources=("cpu", "memory"),
        demand=demand,
        capacity=ground.capacity,
        eligible=ground.allowed[vertex_of],
        placement=placement,
        loads=TaskLoad(
            cpu_cores=0.5 * demand[:, 0],
            memory_bytes=0.5 * demand[:, 1],
            busy_share=unknown,
            backpressured_share=unknown,
            wait_s=unknown,
            processed_per_s=unknown,
            true_rate_per_s=unknown,
            queue_tuples=unknown,
            observed=Observed(at_s=NOW_S, window_s=30.0, samples=10, coverage=1.0),
        ),
    )
