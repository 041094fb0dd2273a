"""One tick: what happens on a stage while so many tuples arrive.

Inside a topology everything is in its steady state, which it reaches within a tick. What lasts is
the backlog in front of the sources: it grows while more arrives than gets through, and drains as
fast as the slowest task allows.
"""

from dataclasses import dataclass, replace

import numpy as np

from thalweg_runtime.simulated.hidden import noise
from thalweg_runtime.simulated.staging import Stage
from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.simulate import Analysis, Parameters, simulate_analytically
from thalweg_scheduling.simulate.paths import Sojourn

_FULL = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class Tick:
    """What came of it; arrays over tasks unless they say otherwise."""

    processed: Floats
    sent: Floats
    """Shape (pairs,): tuples, in the order of the workload."""
    busy_s: Floats
    backpressured_s: Floats
    waited_s: Floats
    cpu_s: Floats
    queue_tuples: Floats
    age_s: Floats
    """The mean time since its source tuple was read, when a tuple is done at the task."""
    age_var_s2: Floats
    complete_s: float
    latency_s: float
    cross_domain_share: float
    backlog: Floats
    """Shape (source vertices,): what still waits outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Conditions:
    """What a tick happens under."""

    offered_per_s: float
    """From outside, over all sources."""
    dt_s: float
    parameters: Parameters
    free_cores: Floats
    """Shape (nodes of the stage,): what other topologies leave."""


def flow(stage: Stage, backlog: Floats, under: Conditions, draw: np.random.Generator) -> Tick:
    """Let a tick pass. `backlog` is what waits in front of each source vertex."""
    arrived = under.offered_per_s * under.dt_s / max(1, len(backlog))
    waiting = backlog + arrived * noise(draw, len(backlog))
    offered = _per_task(stage, waiting) / under.dt_s
    if stage.is_stalled or not offered.any():
        return _standstill(stage, waiting, under, offered)
    workload = replace(
        stage.workload,
        offered_per_s=offered,
        cpu_s=stage.workload.cpu_s * noise(draw, len(offered)),
    )
    snapshot = replace(stage.snapshot, capacity=under.free_cores[:, None])
    analysis = simulate_analytically(
        snapshot, workload, snapshot.placement, stage.process, parameters=under.parameters
    )
    return _tick(stage, waiting, under, offered, analysis)


def _tick(
    stage: Stage, waiting: Floats, under: Conditions, offered: Floats, analysis: Analysis
) -> Tick:
    dt_s = under.dt_s
    processed = analysis.rate_per_s * dt_s
    read = stage.source_of >= 0
    backlog = np.array(waiting)
    np.subtract.at(backlog, stage.source_of[read], processed[read])
    backlog = np.maximum(0.0, backlog)
    busy = np.minimum(1.0, analysis.utilization)
    held_up = _held_up(stage, analysis)
    sojourn = Sojourn(
        wait_s=_waits(held_up & ~read, analysis, under.parameters),
        service_s=analysis.service_s,
        hop_s=analysis.hop_s,
    )
    age_s, age_var_s2 = _ages(stage, analysis.rate_per_s, sojourn)
    return Tick(
        processed=processed,
        sent=processed[stage.workload.sources] * stage.workload.sent_per_tuple,
        busy_s=busy * dt_s,
        backpressured_s=np.where(held_up, 1.0 - busy, 0.0) * dt_s,
        waited_s=processed * sojourn.wait_s,
        cpu_s=(analysis.cpu_cores + under.parameters.process_overhead_cores) * dt_s,
        queue_tuples=analysis.rate_per_s * sojourn.wait_s + _per_task(stage, backlog),
        age_s=age_s,
        age_var_s2=age_var_s2,
        complete_s=stage.paths.complete_latency_s(sojourn, offered),
        latency_s=stage.paths.latency_s(sojourn, offered),
        cross_domain_share=analysis.cross_domain_share,
        backlog=backlog,
    )


def _waits(held_up: Bools, analysis: Analysis, parameters: Parameters) -> Floats:
    """A task that cannot send takes nothing more either: all its credit is taken."""
    rate, credit = analysis.rate_per_s, parameters.credit_tuples
    full = held_up & (rate > 0)
    waits: Floats = np.where(full, credit / np.where(full, rate, 1.0), analysis.wait_s)
    return waits


def _standstill(stage: Stage, waiting: Floats, under: Conditions, offered: Floats) -> Tick:
    """Nothing moves: nothing arrives, or somebody has nobody to send to."""
    nothing = np.zeros(len(offered))
    held_up = stage.is_stalled & (offered > 0)
    return Tick(
        processed=nothing,
        sent=np.zeros(len(stage.workload.targets)),
        busy_s=nothing,
        backpressured_s=np.where(held_up, under.dt_s, 0.0),
        waited_s=nothing,
        cpu_s=nothing + under.parameters.process_overhead_cores * under.dt_s,
        queue_tuples=_per_task(stage, waiting),
        age_s=nothing,
        age_var_s2=nothing,
        complete_s=float("nan"),
        latency_s=float("nan"),
        cross_domain_share=float("nan"),
        backlog=waiting,
    )


def _per_task(stage: Stage, of_vertex: Floats) -> Floats:
    """Deal what is in front of the source vertices out to their tasks, evenly."""
    read = stage.source_of >= 0
    readers = np.bincount(stage.source_of[read], minlength=len(of_vertex))
    each = of_vertex / np.maximum(1, readers)
    return np.where(read, np.append(each, 0.0)[stage.source_of], 0.0)


def _held_up(stage: Stage, analysis: Analysis) -> Bools:
    """The tasks whose output goes, by whatever ways, to one that is full while more is offered."""
    if analysis.throughput_per_s >= analysis.offered_per_s:
        return np.zeros(len(stage.fact.pods), dtype=np.bool_)
    full_node = analysis.node_utilization >= _FULL
    full = (analysis.utilization >= _FULL) | full_node[stage.snapshot.placement]
    held_up = np.zeros(len(full), dtype=np.bool_)
    paths = stage.paths
    for level in reversed(paths.levels):
        target, sends = paths.targets[level], paths.sent[level] > 0
        blocked = sends & (full[target] | held_up[target])
        held_up[paths.sources[level][blocked]] = True
    return held_up & ~full


def _ages(stage: Stage, rate_per_s: Floats, sojourn: Sojourn) -> tuple[Floats, Floats]:
    """Mean and variance of the age of tuples that are done at each task.

    Ways mix at a task by how much comes along each; a task adds an exponential time, a hop a
    fixed one.
    """
    paths, hop_s = stage.paths, sojourn.hop_s[stage.paths.order]
    response = sojourn.response_s
    tasks = len(response)
    weight, first, second = np.zeros(tasks), np.zeros(tasks), np.zeros(tasks)
    mean, variance = np.array(response), response**2
    for level in paths.levels:
        source, target = paths.sources[level], paths.targets[level]
        came = rate_per_s[source] * paths.sent[level]
        age = mean[source] + hop_s[level]
        np.add.at(weight, target, came)
        np.add.at(first, target, came * age)
        np.add.at(second, target, came * (variance[source] + age**2))
        reached = np.unique(target[came > 0])
        before = first[reached] / weight[reached]
        spread = np.maximum(0.0, second[reached] / weight[reached] - before**2)
        mean[reached] = before + response[reached]
        variance[reached] = spread + response[reached] ** 2
    return mean, variance
