"""What the vertices and edges of a topology do, from what was measured of it, or from a guess."""

import numpy as np

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.flow import mean_by_vertex
from thalweg_scheduling.simulate.declared import EdgeProfile, VertexProfile, declared_workload
from thalweg_scheduling.simulate.measured import measured_workload
from thalweg_scheduling.simulate.parameters import DEFAULTS, Parameters
from thalweg_scheduling.simulate.paths import Paths
from thalweg_scheduling.simulate.stage import Program


@np.errstate(all="ignore")
def measured_program(snapshot: Snapshot, parameters: Parameters = DEFAULTS) -> Program:
    """The program that does what was measured; the grouping of an edge spreads its tuples.

    An edge on which nothing was measured carries nothing, tuples of unknown size have 100 bytes.
    """
    workload = measured_workload(snapshot, parameters)
    rate = Paths.of(snapshot, workload).flow(workload.offered_per_s)
    sent = np.where(
        workload.sent_per_tuple == 0, 0.0, workload.sent_per_tuple * rate[workload.sources]
    )
    source, target = snapshot.vertex_of[workload.sources], snapshot.vertex_of[workload.targets]
    through = _by_vertex(snapshot, rate)
    edges = {}
    for edge in snapshot.edges:
        mine = (source == edge.source) & (target == edge.target)
        copies = snapshot.vertices[edge.target].replicas
        each = copies if edge.grouping is GroupingType.BROADCAST else 1
        total = float(sent[mine].sum())
        size = float(np.sum(sent[mine] * workload.tuple_bytes[mine])) / total
        ends = snapshot.vertices[edge.source].name, snapshot.vertices[edge.target].name
        edges[ends] = EdgeProfile(
            selectivity=total / float(through[edge.source]) / each if total > 0 else 0.0,
            tuple_bytes=size if np.isfinite(size) else EdgeProfile().tuple_bytes,
        )
    return Program(
        vertices=_vertices(
            snapshot,
            cpu_s=mean_by_vertex(snapshot, workload.cpu_s),
            held_s=mean_by_vertex(snapshot, workload.held_s),
            offered_per_s=_by_vertex(snapshot, workload.offered_per_s),
        ),
        edges=edges,
        parameters=parameters,
    )


def assumed_program(
    snapshot: Snapshot, rate_per_s: float, parameters: Parameters = DEFAULTS
) -> Program:
    """A program of which nothing is known: its tasks are as busy as they should be at this rate.

    Every tuple causes one on every edge. A task that requests less than a core uses so much of one
    and waits for something else in between.
    """
    receives = np.zeros(len(snapshot.vertices), dtype=np.bool_)
    receives[[edge.target for edge in snapshot.edges]] = True
    offered = np.where(receives, 0.0, rate_per_s / max(1, int((~receives).sum())))
    edges = {
        (snapshot.vertices[edge.source].name, snapshot.vertices[edge.target].name): EdgeProfile()
        for edge in snapshot.edges
    }
    nothing = np.zeros(len(snapshot.vertices))
    idle = _vertices(snapshot, cpu_s=nothing, held_s=nothing, offered_per_s=offered)
    somewhere = np.zeros(len(snapshot.vertex_of), dtype=np.int64)
    workload = declared_workload(snapshot, idle, edges, somewhere)
    flow = _by_vertex(snapshot, Paths.of(snapshot, workload).flow(workload.offered_per_s))
    tasks = np.array([vertex.replicas for vertex in snapshot.vertices])
    wall_s = snapshot.limits.scaling.target_utilization * tasks / flow
    cpu_s = wall_s * np.minimum(1.0, _requested_cores(snapshot))
    vertices = _vertices(snapshot, cpu_s=cpu_s, held_s=wall_s - cpu_s, offered_per_s=offered)
    return Program(vertices=vertices, edges=edges, parameters=parameters)


def refuse_unknown(snapshot: Snapshot, program: Program) -> None:
    """A run needs to know what every tuple costs."""
    for name, profile in program.vertices.items():
        if not np.isfinite(profile.cpu_s + profile.held_s + profile.offered_per_s):
            raise InvalidSnapshot(f"nobody said how long {name} takes for a tuple")
    if not sum(profile.offered_per_s for profile in program.vertices.values()) > 0:
        raise InvalidSnapshot(f"nothing arrives at the sources of {snapshot.topology}")


def _vertices(
    snapshot: Snapshot, *, cpu_s: Floats, held_s: Floats, offered_per_s: Floats
) -> dict[str, VertexProfile]:
    return {
        vertex.name: VertexProfile(
            cpu_s=float(cpu_s[at]), held_s=float(held_s[at]), offered_per_s=float(offered_per_s[at])
        )
        for at, vertex in enumerate(snapshot.vertices)
    }


def _by_vertex(snapshot: Snapshot, values: Floats) -> Floats:
    summed = np.zeros(len(snapshot.vertices))
    np.add.at(summed, snapshot.vertex_of, values)
    return summed


def _requested_cores(snapshot: Snapshot) -> Floats:
    """Shape (vertices,): a core where nobody requests any."""
    if "cpu" not in snapshot.resources:
        return np.ones(len(snapshot.vertices))
    each = mean_by_vertex(snapshot, snapshot.demand[:, snapshot.resources.index("cpu")])
    return np.where(each > 0, each, 1.0)
