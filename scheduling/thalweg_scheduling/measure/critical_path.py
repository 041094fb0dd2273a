"""The path from a source to a sink on which a tuple is under way longest.

A vertex is critical if it cannot be reached later without the last tuple being later: its earliest
and its latest time are the same.
"""

import numpy as np

from thalweg_scheduling.measure.distance import distances, seconds_between
from thalweg_scheduling.measure.rates import search_rates
from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

_ROUNDING = 1e-9


def critical_vertices(snapshot: Snapshot, vertex_s: Floats, edge_s: Floats) -> Bools:
    """Shape (vertices,): who is on a critical path; all of them where a time is unknown."""
    vertices = len(snapshot.vertices)
    if not (np.isfinite(vertex_s).all() and np.isfinite(edge_s).all()):
        return np.ones(vertices, dtype=np.bool_)
    earliest, after = np.zeros(vertices), np.array(vertex_s)
    # No path is longer than there are vertices.
    for _ in range(vertices):
        for edge, seconds in zip(snapshot.edges, edge_s, strict=True):
            arrival = earliest[edge.source] + vertex_s[edge.source] + seconds
            earliest[edge.target] = max(earliest[edge.target], arrival)
            rest = vertex_s[edge.source] + seconds + after[edge.target]
            after[edge.source] = max(after[edge.source], rest)
    whole = float((earliest + vertex_s).max(initial=0.0))
    critical: Bools = earliest + after >= whole * (1 - _ROUNDING)
    return critical


def transmission_s(snapshot: Snapshot) -> Floats:
    """Shape (edges,): the mean time of a tuple on its way, as its tasks are placed now.

    Tasks of one process hand over in no time, or in what the user says. Pairs of which one has no
    node do not count.
    """
    rates, far = search_rates(snapshot), distances(snapshot)
    node = snapshot.placement
    both = (node[rates.source] != UNPLACED) & (node[rates.target] != UNPLACED)
    source, target, per_s = rates.source[both], rates.target[both], rates.per_s[both]
    seconds = seconds_between(far, node[source], node[target])
    if snapshot.process is not None:
        together = snapshot.process[source] == snapshot.process[target]
        seconds = np.where(together, snapshot.latency.classes.same_process_s, seconds)
    sender, receiver = snapshot.vertex_of[source], snapshot.vertex_of[target]
    mean_s = np.zeros(len(snapshot.edges))
    for position, edge in enumerate(snapshot.edges):
        mine = (sender == edge.source) & (receiver == edge.target)
        total = float(per_s[mine].sum())
        if total > 0:
            mean_s[position] = float(per_s[mine] / total @ seconds[mine])
    return mean_s
