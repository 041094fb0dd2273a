"""Small clusters on which a declared workload is tried."""

from collections.abc import Mapping, Sequence

import numpy as np

from thalweg_scheduling.model.graph import Edge, GroupingType, Vertex
from thalweg_scheduling.model.matrices import LatencyClasses, NodeLatency
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate import (
    Analysis,
    EdgeProfile,
    Parameters,
    VertexProfile,
    declared_workload,
    simulate_analytically,
)

FREE = Parameters(serialise_s=0.0, deserialise_s=0.0)
"""Sending costs no CPU, so that closed forms can be compared with."""

NOWHERE = NodeLatency(
    classes=LatencyClasses(same_node_s=0.0, same_domain_s=0.0, cross_domain_s=0.0)
)


def cluster(
    replicas: Mapping[str, int],
    edges: Sequence[tuple[str, str]] = (),
    *,
    cores: Sequence[float] = (1.0,),
    domains: Sequence[int] | None = None,
    groupings: Mapping[tuple[str, str], GroupingType] | None = None,
    latency: NodeLatency = NOWHERE,
) -> Snapshot:
    """A topology and its nodes, nothing measured, nothing placed."""
    names = list(replicas)
    tasks = sum(replicas.values())
    domain_of = list(domains or [0] * len(cores))
    return Snapshot(
        topology="trial",
        vertices=tuple(Vertex(name=name, replicas=count) for name, count in replicas.items()),
        edges=tuple(
            Edge(
                source=names.index(a),
                target=names.index(b),
                grouping=(groupings or {}).get((a, b), GroupingType.SHUFFLE),
            )
            for a, b in edges
        ),
        nodes=tuple(f"n{i}" for i in range(len(cores))),
        domains=tuple(f"d{i}" for i in range(max(domain_of) + 1)),
        domain_of=np.array(domain_of),
        resources=("cpu",),
        demand=np.full((tasks, 1), 0.1),
        capacity=np.array(cores, dtype=np.float64)[:, None],
        eligible=np.ones((tasks, len(cores)), dtype=np.bool_),
        placement=np.full(tasks, UNPLACED),
        latency=latency,
    )


def tried(
    snapshot: Snapshot,
    vertices: Mapping[str, VertexProfile],
    edges: Mapping[tuple[str, str], EdgeProfile] | None = None,
    *,
    node: Sequence[int],
    process: Sequence[int] | None = None,
    parameters: Parameters = FREE,
) -> Analysis:
    """The analysis of a declared workload on the given nodes."""
    places = np.array(node, dtype=np.int64)
    workload = declared_workload(snapshot, vertices, edges or {}, places)
    processes = np.arange(len(places)) if process is None else np.array(process)
    return simulate_analytically(snapshot, workload, places, processes, parameters=parameters)
