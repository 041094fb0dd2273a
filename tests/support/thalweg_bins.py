"""Clusters whose nodes might sleep."""

from collections.abc import Sequence

import numpy as np
from hypothesis import strategies as st

from thalweg_scheduling.model.graph import Vertex
from thalweg_scheduling.model.limits import Limits
from thalweg_scheduling.model.matrices import Observed, TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot

NOW_S = 1_000_000.0


def bins(
    tasks: Sequence[tuple[float, float]],
    placement: Sequence[int],
    nodes: Sequence[tuple[float, float]],
    *,
    domains: Sequence[int] | None = None,
    vertex_of: Sequence[int] | None = None,
    eligible: Sequence[Sequence[bool]] | None = None,
    limits: Limits | None = None,
    used: float = 0.0,
) -> Snapshot:
    """Tasks and nodes of (cpu, memory); by default one vertex a task and one domain."""
    domain_of = list(domains or [0] * len(nodes))
    vertices = list(vertex_of if vertex_of is not None else range(len(tasks)))
    replicas = [vertices.count(v) for v in range(max(vertices, default=-1) + 1)]
    demand = np.array(tasks, dtype=np.float64).reshape(len(tasks), 2)
    unknown = np.full(len(tasks), np.nan)
    return Snapshot(
        topology="bins",
        vertices=tuple(Vertex(name=f"v{v}", replicas=count) for v, count in enumerate(replicas)),
        edges=(),
        nodes=tuple(f"n{n}" for n in range(len(nodes))),
        domains=tuple(f"d{d}" for d in range(max(domain_of, default=-1) + 1)),
        domain_of=np.array(domain_of, dtype=np.int64),
        resources=("cpu", "memory"),
        demand=demand,
        capacity=np.array(nodes, dtype=np.float64).reshape(len(nodes), 2),
        eligible=(
            np.ones((len(tasks), len(nodes)), dtype=np.bool_)
            if eligible is None
            else np.array(eligible, dtype=np.bool_).reshape(len(tasks), len(nodes))
        ),
        placement=np.array(placement, dtype=np.int64),
        loads=TaskLoad(
            cpu_cores=used * demand[:, 0],
            memory_bytes=used * demand[:, 1],
            busy_share=unknown,
            backpressured_share=unknown,
            wait_s=unknown,
            processed_per_s=unknown,
            true_rate_per_s=unknown,
            queue_tuples=unknown,
            observed=Observed(at_s=NOW_S - 1, window_s=30.0, samples=10, coverage=1.0),
        ),
        limits=limits or Limits(),
    )


@st.composite
def filled_bins(draw: st.DrawFn, *, most_nodes: int = 8, most_tasks: int = 12) -> Snapshot:
    """A cluster on which everything runs where it may and fits."""
    sizes = st.tuples(st.sampled_from([2.0, 4.0, 8.0]), st.sampled_from([4.0, 8.0, 16.0]))
    nodes = draw(st.lists(sizes, min_size=1, max_size=most_nodes))
    kinds = st.tuples(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.sampled_from([0.5, 1.0, 3.0]))
    free = [list(node) for node in nodes]
    tasks: list[tuple[float, float]] = []
    placement: list[int] = []
    wanted = draw(st.lists(st.tuples(kinds, st.integers(0, most_nodes - 1)), max_size=most_tasks))
    for (cpu, memory), start in wanted:
        node = start % len(nodes)
        if free[node][0] >= cpu and free[node][1] >= memory:
            free[node][0] -= cpu
            free[node][1] -= memory
            tasks.append((cpu, memory))
            placement.append(node)
    seed = draw(st.integers(0, 2**16))
    eligible = np.random.default_rng(seed).random((len(tasks), len(nodes))) < 0.8
    eligible[np.arange(len(tasks)), placement] = True
    domains = draw(st.integers(1, 3))
    return bins(
        tasks,
        placement,
        nodes,
        domains=[n % domains for n in range(len(nodes))],
        eligible=eligible.tolist(),
    )
