"""How the queues of vertices grow: from two looks at them, the first of which is remembered."""

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.flow import VertexFlow, observe_vertices

# Two looks at a queue further apart than this say nothing about now.
GROWTH_HORIZON_S = 120.0


def growth_per_s(
    snapshot: Snapshot, loads: TaskLoad, flow: VertexFlow, memory: Memory | None
) -> Floats:
    """How fast each vertex's queue grows; NaN without an earlier look at it."""
    growth = np.full(len(snapshot.vertices), np.nan)
    if memory is None or loads.observed is None:
        return growth
    elapsed_s = loads.observed.at_s - memory.at_s
    for v, vertex in enumerate(snapshot.vertices):
        before = memory.queue_tuples.get(vertex.name, np.nan)
        if elapsed_s <= 0:
            growth[v] = memory.growth_per_s.get(vertex.name, np.nan)
        elif elapsed_s <= GROWTH_HORIZON_S:
            growth[v] = (flow.queue_tuples[v] - before) / elapsed_s
    return growth


def queues_seen(
    snapshot: Snapshot,
    flow: VertexFlow,
    growth: Floats,
    memory: Memory | None,
    *,
    now_s: float,
) -> Memory:
    """The memory with what the next look at the queues has to know of this one.

    What others remember stays in it.
    """
    names = [vertex.name for vertex in snapshot.vertices]
    observed = snapshot.loads.observed if snapshot.loads else None
    return replace(
        memory or Memory(at_s=now_s),
        at_s=observed.at_s if observed else now_s,
        queue_tuples=MappingProxyType(dict(zip(names, flow.queue_tuples.tolist(), strict=True))),
        growth_per_s=MappingProxyType(dict(zip(names, growth.tolist(), strict=True))),
    )


def look_at_queues(snapshot: Snapshot, now_s: float) -> Memory | None:
    """The memory with this look at the queues, where nothing else is going to be remembered."""
    memory, loads = snapshot.memory, snapshot.loads
    if loads is None or loads.observed is None:
        return memory
    flow = observe_vertices(snapshot, loads)
    growth = growth_per_s(snapshot, loads, flow, memory)
    return queues_seen(snapshot, flow, growth, memory, now_s=now_s)
