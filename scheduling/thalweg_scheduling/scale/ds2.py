"""DS2 over the whole graph: how many tasks each vertex needs, from true rates.

Kalavri et al., "Three steps is all you need", OSDI 2018. One step finds the number for every
vertex, because rates are carried through the graph instead of being read off where they are
throttled:

    offered(source) = what arrives from outside, whether it is processed or not
    rate(v)         = Σ selectivity(u, v) · rate(u)
    wanted(v)       = ⌈ rate(v) / (true rate of one task · target utilisation) ⌉

What is added to it: a backlog is worked off within `backlog_seconds`, for which tasks may be busy
all the time; a stream that goes to every task, or to one, is not divided by adding tasks; and
where a rate is unknown, a vertex is judged by what it does itself and never shrinks.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.flow import (
    LEAST_BUSY_SHARE,
    Stream,
    VertexFlow,
    vertices_in_order,
)

# A vertex grows only when it is this much over its target: rates are never measured exactly.
TOLERANCE = 0.05

# Less than this is how a healthy stream breathes.
LEAST_BACKPRESSURE = 0.01

_ROUNDING = 1e-9
_BEYOND_ALL_BOUNDS = 1e9


@dataclass(frozen=True, slots=True, kw_only=True)
class Rates:
    """What should flow into each vertex, in tuples/s."""

    steady_per_s: Floats
    """What its tasks divide between them."""
    peak_per_s: Floats
    """The same while the backlog is being worked off."""
    undivided_per_s: Floats
    """What one task gets besides, however many there are."""
    derived: Bools
    """Whether the rates follow from sources whose tasks were all seen; otherwise they are only what
    was seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """How many tasks each vertex needs; arrays over the vertices."""

    wanted: Ints
    """The present number where nothing is known."""
    urgent: Bools
    """Whether the present number is too small by more than the tolerance."""
    can_shrink: Bools
    """Whether all is known that taking tasks away needs."""
    hopeless: Bools
    """Whether no number of tasks would be enough."""


def rates_through(
    snapshot: Snapshot, flow: VertexFlow, streams: tuple[Stream, ...], growth_per_s: Floats
) -> Rates:
    """Carry the sources' rates through the graph.

    `growth_per_s` is how fast the queue of each vertex grows, NaN where unknown.
    """
    vertices = len(snapshot.vertices)
    backlog = np.nan_to_num(flow.queue_tuples) / snapshot.limits.scaling.backlog_seconds
    offered = offered_per_s(snapshot, flow, growth_per_s)
    steady, peak, undivided, copies = (np.zeros(vertices) for _ in range(4))
    derived = np.array(flow.whole)
    incoming: list[list[Stream]] = [[] for _ in range(vertices)]
    for stream in streams:
        incoming[stream.target].append(stream)
    for v in vertices_in_order(snapshot):
        if not incoming[v]:
            steady[v] = peak[v] = offered[v]
        for stream in incoming[v]:
            u, tasks = stream.source, snapshot.vertices[v].replicas
            rate = _carried(stream.selectivity, steady[u] + copies[u])
            if stream.undivided:
                undivided[v] += rate / tasks if stream.broadcast else rate
                copies[v] += rate
            else:
                steady[v] += rate
                peak[v] += _carried(stream.selectivity, peak[u] + copies[u])
            derived[v] &= derived[u]
        if not np.isfinite(steady[v] + copies[v]):
            derived[v] = False
            steady[v] = peak[v] = offered[v]
            undivided[v] = copies[v] = 0.0
        peak[v] += backlog[v]
    return Rates(steady_per_s=steady, peak_per_s=peak, undivided_per_s=undivided, derived=derived)


def tasks_needed(snapshot: Snapshot, flow: VertexFlow, rates: Rates) -> Need:
    """Turn rates into numbers of tasks."""
    present = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.int64)
    true_rate, undivided = flow.true_rate_per_s, rates.undivided_per_s
    target = true_rate * snapshot.limits.scaling.target_utilization
    steady = _share_out(rates.steady_per_s, undivided, target)
    catching_up = _share_out(rates.peak_per_s, undivided, true_rate)
    idle = _is_idle(flow, rates)
    needed = np.where(idle, 0.0, np.fmax(steady, catching_up))
    hopeless = np.isinf(needed)
    needed = np.where(hopeless, np.inf, np.minimum(needed, _BEYOND_ALL_BOUNDS))
    is_known = np.isfinite(needed)
    wanted = np.where(is_known, np.ceil(needed - _ROUNDING), present).astype(np.int64)
    tolerated = np.where(is_known, needed, 0.0) / (1 + TOLERANCE)
    return Need(
        wanted=wanted,
        urgent=np.ceil(tolerated - _ROUNDING) > present,
        can_shrink=is_known & rates.derived & flow.whole,
        hopeless=hopeless,
    )


def offered_per_s(snapshot: Snapshot, flow: VertexFlow, growth_per_s: Floats) -> Floats:
    """What arrives at each vertex from outside, were it a source.

    A queue that grows says it exactly. Without that, time held up is time in which a source would
    have gone on at its pace (Dhalion's estimate); it is an upper bound, so the step limit caps it.
    """
    held_up = np.nan_to_num(flow.backpressured_share)
    held_up = np.where(held_up < LEAST_BACKPRESSURE, 0.0, held_up)
    most = snapshot.limits.scaling.max_step_up
    guessed = flow.processed_per_s * np.minimum(most, 1 / np.maximum(1 - held_up, 1 / most))
    arriving = np.maximum(0.0, flow.processed_per_s + growth_per_s)
    return np.where(np.isfinite(growth_per_s), arriving, guessed)


def _carried(selectivity: float, rate_per_s: float) -> float:
    # Nothing in, nothing out, even where nothing ever went through.
    return 0.0 if rate_per_s == 0 else selectivity * rate_per_s


def _share_out(divided_per_s: Floats, undivided_per_s: Floats, of_one_task_per_s: Floats) -> Floats:
    """Tasks for a rate; infinite where what cannot be divided is already too much for one."""
    left = of_one_task_per_s - undivided_per_s
    with np.errstate(divide="ignore", invalid="ignore"):
        tasks = np.where(left > 0, divided_per_s / left, np.inf)
    return np.where(np.isfinite(left + divided_per_s), tasks, np.nan)


def _is_idle(flow: VertexFlow, rates: Rates) -> Bools:
    """Nothing to do and nothing being done: then the true rate need not be known."""
    idle: Bools = (rates.peak_per_s + rates.undivided_per_s == 0) & (
        flow.busy_share < LEAST_BUSY_SHARE
    )
    return idle
