"""The snapshot as it would be with other numbers of tasks.

Tasks are added and taken away at the end of their vertex. A new task has no node yet, asks for
what its siblings ask for, and gets its share of the stream by the edge's grouping. What the tasks
of a resized vertex do is spread evenly; what cannot follow from the old numbers is NaN.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.scale.flow import known, mean_by_vertex
from thalweg_scheduling.scale.respreading import respread


def resized(snapshot: Snapshot, replicas: Mapping[str, int]) -> Snapshot:
    """The same snapshot with `replicas` tasks of the named vertices."""
    vertices = tuple(
        replace(vertex, replicas=replicas.get(vertex.name, vertex.replicas))
        for vertex in snapshot.vertices
    )
    old = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.int64)
    new = np.array([vertex.replicas for vertex in vertices], dtype=np.int64)
    if np.array_equal(old, new):
        return snapshot
    if np.any((old == 0) & (new > 0)):
        raise InvalidSnapshot("a vertex without tasks says nothing about what one would need")
    origin = _origins(old, new)
    fresh = origin < 0
    vertex_of = np.repeat(np.arange(len(new)), new)
    return replace(
        snapshot,
        vertices=vertices,
        demand=np.where(
            fresh[:, None], _largest_demand(snapshot)[vertex_of], snapshot.demand[origin]
        ),
        eligible=np.where(
            fresh[:, None], _shared_eligibility(snapshot)[vertex_of], snapshot.eligible[origin]
        ),
        placement=np.where(fresh, UNPLACED, snapshot.placement[origin]),
        process=_processes(snapshot.process, origin),
        traffic=respread(snapshot, snapshot.traffic, new) if snapshot.traffic else None,
        loads=_spread_loads(snapshot, snapshot.loads, origin, new) if snapshot.loads else None,
    )


def _origins(old: Ints, new: Ints) -> Ints:
    """For each task that there will be, its present position, or -1 where it is new."""
    first = np.concatenate(([0], np.cumsum(old)[:-1]))
    index = np.concatenate([np.arange(count) for count in new])
    vertex_of = np.repeat(np.arange(len(new)), new)
    return np.where(index < old[vertex_of], first[vertex_of] + index, -1).astype(np.int64)


def _largest_demand(snapshot: Snapshot) -> Floats:
    largest = np.zeros((len(snapshot.vertices), len(snapshot.resources)))
    np.maximum.at(largest, snapshot.vertex_of, snapshot.demand)
    return largest


def _shared_eligibility(snapshot: Snapshot) -> Bools:
    """Where every task of the vertex may go, or, where volumes tie each to a place, any of them."""
    shape = (len(snapshot.vertices), len(snapshot.nodes))
    every, some = np.ones(shape, dtype=np.bool_), np.zeros(shape, dtype=np.bool_)
    np.logical_and.at(every, snapshot.vertex_of, snapshot.eligible)
    np.logical_or.at(some, snapshot.vertex_of, snapshot.eligible)
    return np.where(every.any(axis=1, keepdims=True), every, some)


def _processes(process: Ints | None, origin: Ints) -> Ints | None:
    if process is None:
        return None
    fresh = origin < 0
    following = (process.max() if process.size else -1) + np.cumsum(fresh)
    return np.where(fresh, following, process[origin])


def _spread_loads(snapshot: Snapshot, loads: TaskLoad, origin: Ints, new: Ints) -> TaskLoad:
    old = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.int64)
    vertex_of = np.repeat(np.arange(len(new)), new)
    same = (old == new)[vertex_of]

    def spread(values: Floats, *, divided: bool) -> Floats:
        each = mean_by_vertex(snapshot, known(values))
        if divided:
            each = each * old / np.maximum(new, 1)
        return np.where(same, values[origin], each[vertex_of])

    unknown = np.full(len(origin), np.nan)
    return TaskLoad(
        cpu_cores=spread(loads.cpu_cores, divided=True),
        memory_bytes=spread(loads.memory_bytes, divided=False),
        busy_share=np.minimum(1.0, spread(loads.busy_share, divided=True)),
        backpressured_share=np.where(same, loads.backpressured_share[origin], unknown),
        wait_s=np.where(same, loads.wait_s[origin], unknown),
        processed_per_s=spread(loads.processed_per_s, divided=True),
        true_rate_per_s=spread(loads.true_rate_per_s, divided=False),
        queue_tuples=spread(loads.queue_tuples, divided=True),
        observed=loads.observed,
    )
