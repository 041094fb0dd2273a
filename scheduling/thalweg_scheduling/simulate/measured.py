"""A workload from what was measured, so that another placement can be tried on it.

Measured CPU holds what sending and receiving cost where the tasks run now; that part is taken out
here and put back for the placement that is tried. What a task is busy beyond its CPU, and beyond
being crowded, is time in which it waits for something else: a disk, a database.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.matrices import DependencyMatrix, TaskLoad
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.scale.flow import known, mean_by_vertex
from thalweg_scheduling.simulate.crowding import Crowd, cores_of
from thalweg_scheduling.simulate.parameters import Parameters
from thalweg_scheduling.simulate.workload import Workload

# Sending and receiving can hardly be all that a vertex does.
LEAST_OWN_SHARE = 0.1


@np.errstate(all="ignore")
def measured_workload(snapshot: Snapshot, parameters: Parameters) -> Workload:
    """What the tasks do now; NaN where that is unknown."""
    tasks = len(snapshot.vertex_of)
    traffic = snapshot.traffic or _unknown_traffic(snapshot)
    loads = snapshot.loads or TaskLoad.unknown(tasks)
    sent = known(traffic.tuples_per_s)
    is_source = _is_source(snapshot)
    received = _sums(traffic.targets, sent, tasks)
    rate = np.where(is_source, known(loads.processed_per_s), received)
    sent_per_tuple = np.where(sent == 0, 0.0, sent / rate[traffic.sources])
    tuple_bytes = known(traffic.bytes_per_s) / sent
    sent_per_tuple = known(sent_per_tuple)
    cpu = _cpu_per_tuple(snapshot, loads)
    transfer = _transfer_s(snapshot, traffic, rate, parameters)
    own = np.maximum(cpu - transfer, LEAST_OWN_SHARE * cpu)
    return Workload(
        offered_per_s=np.where(is_source, rate, 0.0),
        cpu_s=own,
        held_s=_held_s(snapshot, loads, cpu, rate, parameters),
        indptr=traffic.indptr,
        targets=traffic.targets,
        sent_per_tuple=sent_per_tuple,
        tuple_bytes=np.where(sent == 0, 0.0, tuple_bytes),
    )


def _unknown_traffic(snapshot: Snapshot) -> DependencyMatrix:
    """Every pair that an edge allows, at rates that nobody knows."""
    tasks = [np.flatnonzero(snapshot.vertex_of == v) for v in range(len(snapshot.vertices))]
    nothing = float("nan"), float("nan")
    pairs = {
        (int(sender), int(receiver)): nothing
        for edge in snapshot.edges
        for sender in tasks[edge.source][:1]
        for receiver in tasks[edge.target][:1]
    }
    return DependencyMatrix.from_pairs(len(snapshot.vertex_of), pairs)


def _is_source(snapshot: Snapshot) -> Bools:
    receives = np.zeros(len(snapshot.vertices), dtype=np.bool_)
    receives[[edge.target for edge in snapshot.edges]] = True
    return ~receives[snapshot.vertex_of]


def _cpu_per_tuple(snapshot: Snapshot, loads: TaskLoad) -> Floats:
    """CPU seconds a tuple of each task's vertex; its wall time where CPU was not measured."""
    cores, processed = known(loads.cpu_cores), known(loads.processed_per_s)
    both = np.isfinite(cores) & np.isfinite(processed)
    cpu = mean_by_vertex(snapshot, np.where(both, cores, np.nan)) / mean_by_vertex(
        snapshot, np.where(both, processed, np.nan)
    )
    wall = _wall_per_tuple(snapshot, loads)
    return np.where(np.isfinite(cpu), cpu, wall)[snapshot.vertex_of]


def _wall_per_tuple(snapshot: Snapshot, loads: TaskLoad) -> Floats:
    wall = 1 / mean_by_vertex(snapshot, known(loads.true_rate_per_s))
    return np.where(np.isfinite(wall), wall, np.nan)


def _held_s(
    snapshot: Snapshot, loads: TaskLoad, cpu_s: Floats, rate: Floats, parameters: Parameters
) -> Floats:
    placed = snapshot.placement != UNPLACED
    slowdown = np.ones(len(placed))
    if placed.all() and len(placed):
        crowd = Crowd.of(
            cores_of(snapshot), snapshot.placement, _present_processes(snapshot), parameters
        )
        slowdown = crowd.slowdown(np.where(rate == 0, 0.0, rate * cpu_s))
    wall = _wall_per_tuple(snapshot, loads)[snapshot.vertex_of]
    held = wall - cpu_s * slowdown
    return np.where(np.isfinite(held), np.maximum(held, 0.0), 0.0)


def _transfer_s(
    snapshot: Snapshot, traffic: DependencyMatrix, rate: Floats, parameters: Parameters
) -> Floats:
    """CPU seconds a tuple that sending and receiving cost now, the mean of each vertex."""
    process = _present_processes(snapshot)
    remote = process[traffic.sources] != process[traffic.targets]
    crossing = np.where(remote, np.nan_to_num(known(traffic.tuples_per_s)), 0.0)
    cores = parameters.serialise_s * _sums(traffic.sources, crossing, len(rate))
    cores += parameters.deserialise_s * _sums(traffic.targets, crossing, len(rate))
    total = mean_by_vertex(snapshot, rate)
    each = mean_by_vertex(snapshot, cores) / total
    return np.where(total > 0, each, 0.0)[snapshot.vertex_of]


def _present_processes(snapshot: Snapshot) -> Ints:
    if snapshot.process is not None:
        return snapshot.process
    return np.arange(len(snapshot.vertex_of), dtype=np.int64)


def _sums(positions: Ints, values: Floats, length: int) -> Floats:
    sums = np.zeros(length)
    np.add.at(sums, positions, values)
    return sums
