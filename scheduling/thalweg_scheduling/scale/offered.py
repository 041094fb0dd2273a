"""What would flow if all that is offered got through, as far as other nodes could help.

A full node lets through what it can, so what is measured on it, and behind it, is less than what is
wanted. Who lays tasks out by that makes a little more room at every turn, and where a rate rises
fast is late by many. So while queues grow or senders are held up, sources count with what they are
offered (DS2's estimate), what follows from them grows along, and with it CPU. What does not run
where CPU is short is bounded by its own pace: a task that is busy all the time on a node with room
would be no faster anywhere else.
"""

from dataclasses import replace

import numpy as np

from thalweg_scheduling.measure.needs import needs, overloaded
from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.scale.ds2 import TOLERANCE, offered_per_s
from thalweg_scheduling.scale.flow import (
    VertexFlow,
    known,
    observe_streams,
    observe_vertices,
    vertices_in_order,
)
from thalweg_scheduling.scale.queues import growth_per_s
from thalweg_scheduling.scale.steadying import is_struggling

STEPS = (1.0, 0.5, 0.25)
"""A cluster may be too small for all that is offered: then as much of it as has room."""

CORES_OF_A_WORKER = 1.0
"""Who was not seen to use more than one core is not taken to be able to."""


def offered_views(snapshot: Snapshot, memory: Memory | None) -> tuple[Snapshot, ...]:
    """From all that is offered down to what was measured; only that where all of it gets through.

    A later one is for whoever finds no room for those before it. `memory` holds the look at the
    queues before this one.
    """
    loads = snapshot.loads
    more = None if loads is None else _times_more(snapshot, loads, memory)
    if loads is None or more is None:
        return (snapshot,)
    each = more[snapshot.vertex_of]
    return (*(_grown(snapshot, loads, 1 + step * (each - 1)) for step in STEPS), snapshot)


def _times_more(snapshot: Snapshot, loads: TaskLoad, memory: Memory | None) -> Floats | None:
    """How many times what was measured would flow through each vertex; None if about as much."""
    flow = observe_vertices(snapshot, loads)
    growth = growth_per_s(snapshot, loads, flow, memory)
    struggling = is_struggling(
        flow.processed_per_s, growth, flow.queue_tuples, flow.backpressured_share
    )
    if not struggling.any():
        return None
    more = _carried_through(snapshot, flow, growth)
    more = np.minimum(more, max(1.0, _pace(snapshot, loads)))
    return more if more.max(initial=1.0) > 1 + TOLERANCE else None


def _carried_through(snapshot: Snapshot, flow: VertexFlow, growth: Floats) -> Floats:
    """Shape (vertices,): from the sources along the streams, and each one's backlog besides."""
    limits, processed = snapshot.limits.scaling, flow.processed_per_s
    streams = observe_streams(snapshot, snapshot.traffic, processed)
    with np.errstate(divide="ignore", invalid="ignore"):
        offered = offered_per_s(snapshot, flow, growth) / processed
        backlog = np.nan_to_num(flow.queue_tuples) / limits.backlog_seconds / processed
    more = np.ones(len(snapshot.vertices))
    for v in vertices_in_order(snapshot):
        into = [stream for stream in streams if stream.target == v]
        flows = known(np.array([one.selectivity * processed[one.source] for one in into]))
        wanted = flows * more[[one.source for one in into]]
        ratio = _ratio(np.nansum(wanted), np.nansum(flows)) if into else offered[v]
        found = ratio + backlog[v]
        more[v] = np.clip(found if np.isfinite(found) else 1.0, 1.0, limits.max_step_up)
    return more


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")


def _pace(snapshot: Snapshot, loads: TaskLoad) -> float:
    """How many times as much the busiest task could do that does not run where CPU is short."""
    busy = np.where(_is_crowded(snapshot), np.nan, known(loads.busy_share))
    most = np.nanmax(busy, initial=0.0)
    return float("inf") if most <= 0 else 1.0 / float(most)


def _is_crowded(snapshot: Snapshot) -> Bools:
    """Shape (tasks,): whether a task's node is used beyond what measured use may fill."""
    over = overloaded(needs(snapshot), snapshot.placement)
    placed = snapshot.placement != UNPLACED
    crowded: Bools = placed & over[np.where(placed, snapshot.placement, 0)]
    return crowded


def _grown(snapshot: Snapshot, loads: TaskLoad, more: Floats) -> Snapshot:
    """The snapshot with each task doing so many times as much."""
    used = known(loads.cpu_cores)
    cores = np.fmax(used, np.fmin(used * more, CORES_OF_A_WORKER))
    traffic = snapshot.traffic
    if traffic is not None:
        sent = more[traffic.sources]
        traffic = replace(
            traffic,
            tuples_per_s=traffic.tuples_per_s * sent,
            bytes_per_s=traffic.bytes_per_s * sent,
        )
    return replace(
        snapshot,
        traffic=traffic,
        loads=replace(loads, cpu_cores=cores, processed_per_s=loads.processed_per_s * more),
    )
