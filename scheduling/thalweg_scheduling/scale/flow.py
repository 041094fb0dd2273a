"""What the tasks of each vertex do together, from what was measured of each of them."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.graph import Edge, GroupingType
from thalweg_scheduling.model.matrices import DependencyMatrix, TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot

# Below this share of its time, a rate measured while busy says nothing about a full second.
LEAST_BUSY_SHARE = 1e-3

# More tasks do not take these streams off the task that is hit hardest.
UNDIVIDED = frozenset({GroupingType.BROADCAST, GroupingType.GLOBAL})


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexFlow:
    """Arrays over the vertices; NaN where nothing is known."""

    processed_per_s: Floats
    """All tasks together."""
    true_rate_per_s: Floats
    """What one task could process if it were always busy: the mean over the tasks."""
    busy_share: Floats
    queue_tuples: Floats
    backpressured_share: Floats
    """Of the task that is held up most."""
    whole: Bools
    """Whether every task of the vertex was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """All edges from one vertex to another, as one."""

    source: int
    target: int
    selectivity: float
    """Tuples sent for one tuple processed, over all receivers; NaN where unknown."""
    undivided: bool
    broadcast: bool


def observe_vertices(snapshot: Snapshot, loads: TaskLoad) -> VertexFlow:
    """Sum up, or average, what is known of each vertex's tasks."""
    processed = known(loads.processed_per_s)
    busy = known(loads.busy_share)
    true_rate = known(loads.true_rate_per_s)
    true_rate[true_rate == 0] = np.nan
    with np.errstate(divide="ignore", invalid="ignore"):
        derived = np.where(busy >= LEAST_BUSY_SHARE, processed / busy, np.nan)
    derived[derived == 0] = np.nan
    true_rate = np.where(np.isnan(true_rate), derived, true_rate)
    replicas = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.float64)
    measured = np.isfinite(processed) & (np.isfinite(busy) | np.isfinite(true_rate))
    return VertexFlow(
        processed_per_s=mean_by_vertex(snapshot, processed) * replicas,
        true_rate_per_s=mean_by_vertex(snapshot, true_rate),
        busy_share=mean_by_vertex(snapshot, busy),
        queue_tuples=mean_by_vertex(snapshot, known(loads.queue_tuples)) * replicas,
        backpressured_share=_most_by_vertex(snapshot, known(loads.backpressured_share)),
        whole=_sum_by_vertex(snapshot, ~measured) == 0,
    )


def observe_streams(
    snapshot: Snapshot, traffic: DependencyMatrix | None, processed_per_s: Floats
) -> tuple[Stream, ...]:
    """One stream for each pair of vertices that an edge joins, in the order of the edges."""
    vertices = len(snapshot.vertices)
    rates = np.full((vertices, vertices), np.nan)
    if traffic is not None:
        rates = np.zeros((vertices, vertices))
        sender = snapshot.vertex_of[traffic.sources]
        receiver = snapshot.vertex_of[traffic.targets]
        np.add.at(rates, (sender, receiver), known(traffic.tuples_per_s))
    joined: dict[tuple[int, int], list[Edge]] = {}
    for edge in snapshot.edges:
        joined.setdefault((edge.source, edge.target), []).append(edge)
    return tuple(
        Stream(
            source=source,
            target=target,
            selectivity=_ratio(rates[source, target], processed_per_s[source]),
            undivided=any(edge.grouping in UNDIVIDED for edge in edges),
            broadcast=any(edge.grouping is GroupingType.BROADCAST for edge in edges),
        )
        for (source, target), edges in joined.items()
    )


def vertices_in_order(snapshot: Snapshot) -> tuple[int, ...]:
    """Every vertex after all that send to it; ties by position."""
    receivers: list[list[int]] = [[] for _ in snapshot.vertices]
    waits_for = [0] * len(snapshot.vertices)
    for source, target in sorted({(edge.source, edge.target) for edge in snapshot.edges}):
        receivers[source].append(target)
        waits_for[target] += 1
    order = [v for v, count in enumerate(waits_for) if count == 0]
    for vertex in order:
        for target in receivers[vertex]:
            waits_for[target] -= 1
            if waits_for[target] == 0:
                order.append(target)
    if len(order) < len(snapshot.vertices):
        raise InvalidSnapshot(f"the edges of {snapshot.topology} form a cycle")
    return tuple(order)


def known(values: Floats) -> Floats:
    """A copy in which what cannot be a measurement is NaN."""
    return np.where(np.isfinite(values) & (values >= 0), values, np.nan)


def mean_by_vertex(snapshot: Snapshot, values: Floats) -> Floats:
    """The mean over the tasks of which something is known."""
    is_known = np.isfinite(values)
    total = _sum_by_vertex(snapshot, np.where(is_known, values, 0.0))
    count = _sum_by_vertex(snapshot, is_known)
    with np.errstate(divide="ignore", invalid="ignore"):
        mean: Floats = np.where(count > 0, total / count, np.nan)
    return mean


def _sum_by_vertex(snapshot: Snapshot, values: Floats | Bools) -> Floats:
    sums = np.zeros(len(snapshot.vertices))
    np.add.at(sums, snapshot.vertex_of, values)
    return sums


def _most_by_vertex(snapshot: Snapshot, values: Floats) -> Floats:
    most = np.full(len(snapshot.vertices), np.nan)
    np.fmax.at(most, snapshot.vertex_of, values)
    return most


def _ratio(sent_per_s: float, processed_per_s: float) -> float:
    return float(sent_per_s / processed_per_s) if processed_per_s > 0 else float("nan")
