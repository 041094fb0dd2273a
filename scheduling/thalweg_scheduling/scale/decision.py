"""One scaling decision: is the evidence good, what do the rates ask for, what may be done now."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.graph import Vertex
from thalweg_scheduling.model.matrices import DependencyMatrix, TaskLoad
from thalweg_scheduling.model.memory import Lull, Memory, Raise
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.ds2 import TOLERANCE, Need, Rates, rates_through, tasks_needed
from thalweg_scheduling.scale.flow import Stream, VertexFlow, observe_streams, observe_vertices
from thalweg_scheduling.scale.queues import growth_per_s, queues_seen
from thalweg_scheduling.scale.scaling import Scaling
from thalweg_scheduling.scale.steadying import (
    bounded,
    cooling_down,
    is_ineffective,
    is_struggling,
    lull_is_over,
    next_lulls,
    one_step,
)

Needing = Callable[[Snapshot, VertexFlow, Rates], Need]
"""From what flows to how many tasks that takes: DS2's answer, or a paper's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evidence:
    """Everything that the choice for a single vertex looks at."""

    snapshot: Snapshot
    flow: VertexFlow
    need: Need
    lulls: Mapping[str, Lull] | None
    raises: Mapping[str, Raise]
    doubt: Reason | None
    """Why nothing may shrink now."""
    memory: Memory | None
    """What was handed over; of what is in it, others than scalers remember something too."""
    tolerance: float = TOLERANCE
    """What share of its tasks a vertex may have too many."""
    now_s: float


def decide_replicas(
    snapshot: Snapshot,
    *,
    now_s: float,
    memory: Memory | None = None,
    needing: Needing = tasks_needed,
) -> Scaling:
    """Say which vertices need more tasks and which may do with fewer.

    `memory` is what the last decision returned; the snapshot's own if absent. Without any, a vertex
    may shrink once `scale_down_after_s` have passed since anything was scaled; with it, once fewer
    tasks would have been enough for all of that time, and then to the most that was wanted in it.
    A loop that has just started should begin with an empty memory, not with none.
    """
    memory = memory or snapshot.memory
    loads = snapshot.loads
    refusal = _refusal(snapshot, loads, now_s)
    if loads is None or refusal is not None:
        return Scaling(reasons=(refusal,) if refusal else (), memory=memory)
    flow = observe_vertices(snapshot, loads)
    traffic = _trusted_traffic(snapshot, now_s)
    streams = observe_streams(snapshot, traffic, flow.processed_per_s)
    growth = growth_per_s(snapshot, loads, flow, memory)
    need = needing(snapshot, flow, rates_through(snapshot, flow, streams, growth))
    wanted = _wanted(snapshot, need)
    lulls = next_lulls(snapshot, wanted, memory.lulls, now_s) if memory else None
    evidence = _Evidence(
        snapshot=snapshot,
        flow=flow,
        need=need,
        lulls=lulls,
        raises=memory.raises if memory else MappingProxyType({}),
        doubt=_unmeasured(snapshot, loads, traffic)
        or _struggle(snapshot, flow, _inflow_growth(flow, streams, growth)),
        memory=memory,
        now_s=now_s,
    )
    cooling = cooling_down(snapshot, now_s)
    replicas, reasons = ({}, [cooling]) if cooling else _choose(evidence)
    if _shrinks_any(snapshot, replicas):
        # Where one shrinks, the others that have a little too much go along.
        replicas, reasons = _choose(replace(evidence, tolerance=0.0))
    return Scaling(
        replicas=MappingProxyType(replicas),
        reasons=tuple(reasons),
        wanted=wanted,
        memory=_remember(evidence, growth, replicas),
    )


def _refusal(snapshot: Snapshot, loads: TaskLoad | None, now_s: float) -> Reason | None:
    if loads is None or loads.observed is None:
        return Reason(code=ReasonCode.METRICS_MISSING, message="no task was measured yet")
    if not loads.observed.is_fresh(now_s, snapshot.limits.trust.stale_after_s):
        age_s = now_s - loads.observed.at_s
        return Reason(
            code=ReasonCode.METRICS_STALE, message=f"the tasks' loads are {age_s:.0f} s old"
        )
    return None


def _trusted_traffic(snapshot: Snapshot, now_s: float) -> DependencyMatrix | None:
    """The traffic, if it may be believed: what is stale or partial is unknown."""
    traffic, trust = snapshot.traffic, snapshot.limits.trust
    if traffic is None or traffic.observed is None:
        return None
    fresh = traffic.observed.is_fresh(now_s, trust.stale_after_s)
    return traffic if fresh and traffic.observed.is_whole(trust.least_coverage) else None


def _inflow_growth(flow: VertexFlow, streams: tuple[Stream, ...], growth: Floats) -> Floats:
    """The same; where there was only one look, what comes in less what is processed."""
    inflow = np.full(len(growth), np.nan)
    for stream in streams:
        sent = stream.selectivity * flow.processed_per_s[stream.source]
        inflow[stream.target] = np.nan_to_num(inflow[stream.target]) + sent
    return np.where(np.isfinite(growth), growth, inflow - flow.processed_per_s)


def _unmeasured(
    snapshot: Snapshot, loads: TaskLoad, traffic: DependencyMatrix | None
) -> Reason | None:
    """What is not known well enough to take a task away."""
    observed = loads.observed
    if observed is None or not observed.is_whole(snapshot.limits.trust.least_coverage):
        return Reason(
            code=ReasonCode.METRICS_PARTIAL, message="too few tasks were measured to take any away"
        )
    if snapshot.edges and not _is_known(traffic):
        return Reason(
            code=ReasonCode.METRICS_PARTIAL,
            message="the traffic between tasks is not known: nothing is taken away",
        )
    return None


def _is_known(traffic: DependencyMatrix | None) -> bool:
    if traffic is None:
        return False
    per_s = traffic.tuples_per_s
    return bool(np.all(np.isfinite(per_s) & (per_s >= 0)))


def _struggle(snapshot: Snapshot, flow: VertexFlow, growth: Floats) -> Reason | None:
    struggling = is_struggling(
        flow.processed_per_s, growth, flow.queue_tuples, flow.backpressured_share
    )
    if struggling.any():
        name = snapshot.vertices[int(np.argmax(struggling))].name
        return Reason(
            code=ReasonCode.STABILISING,
            message=f"{name} has a growing queue or is held up: nothing is taken away now",
        )
    return None


def _wanted(snapshot: Snapshot, need: Need) -> Mapping[str, int]:
    wanted = {}
    for v, vertex in enumerate(snapshot.vertices):
        step = bounded(int(need.wanted[v]), vertex.min_replicas, vertex.max_replicas)
        grows = need.urgent[v] and step.replicas > vertex.replicas
        shrinks = need.can_shrink[v] and step.replicas < vertex.replicas
        if grows or shrinks or need.can_shrink[v]:
            wanted[vertex.name] = step.replicas if grows or shrinks else vertex.replicas
    return MappingProxyType(wanted)


def _choose(evidence: _Evidence) -> tuple[dict[str, int], list[Reason]]:
    replicas: dict[str, int] = {}
    reasons: list[Reason] = []
    growing = _growing(evidence)
    for v, vertex in enumerate(evidence.snapshot.vertices):
        grows = bool(growing[v])
        number, reason = _grow(evidence, v, vertex) if grows else _shrink(evidence, v, vertex)
        if number != vertex.replicas:
            replicas[vertex.name] = number
        if reason is not None and reason not in reasons:
            reasons.append(reason)
    if not reasons:
        unknown = np.isnan(evidence.flow.processed_per_s).any()
        reasons.append(_UNKNOWN if unknown else _ENOUGH)
    return replicas, reasons


def _shrinks_any(snapshot: Snapshot, replicas: Mapping[str, int]) -> bool:
    return any(
        replicas.get(vertex.name, vertex.replicas) < vertex.replicas for vertex in snapshot.vertices
    )


def _growing(evidence: _Evidence) -> Bools:
    """Which vertices grow: where one must, the others that are a little short go along."""
    need, vertices = evidence.need, evidence.snapshot.vertices
    present = np.array([vertex.replicas for vertex in vertices], dtype=np.int64)
    most = np.array([vertex.max_replicas for vertex in vertices], dtype=np.int64)
    if np.any(need.urgent & (present < most)):
        short: Bools = need.urgent | (need.wanted > present)
        return short
    return need.urgent


def _grow(evidence: _Evidence, v: int, vertex: Vertex) -> tuple[int, Reason | None]:
    limits, present = evidence.snapshot.limits.scaling, vertex.replicas
    capacity = float(evidence.flow.true_rate_per_s[v]) * present
    if is_ineffective(
        evidence.raises.get(vertex.name),
        replicas=present,
        capacity_per_s=capacity,
        now_s=evidence.now_s,
        forget_s=limits.scale_down_after_s,
    ):
        message = f"{vertex.name} stays at {present}: the last raise brought next to nothing"
        return present, Reason(code=ReasonCode.INEFFECTIVE, message=message)
    allowed = bounded(int(evidence.need.wanted[v]), vertex.min_replicas, vertex.max_replicas)
    if allowed.replicas <= present:
        message = f"{vertex.name} needs {evidence.need.wanted[v]}, its maximum is {present}"
        return present, Reason(code=ReasonCode.AT_LIMIT, message=message)
    step = one_step(present, allowed.replicas, limits)
    return step.replicas, _changed(evidence, v, vertex, step.replicas)


def _shrink(evidence: _Evidence, v: int, vertex: Vertex) -> tuple[int, Reason | None]:
    need, present = evidence.need, vertex.replicas
    if need.hopeless[v]:
        message = f"{vertex.name} stays at {present}: more tasks do not divide what it receives"
        return present, Reason(code=ReasonCode.AT_LIMIT, message=message)
    wanted = bounded(int(need.wanted[v]), vertex.min_replicas, vertex.max_replicas).replicas
    if wanted >= present or not need.can_shrink[v]:
        return present, None
    if wanted > present * (1 - evidence.tolerance):
        return present, None
    if evidence.doubt is not None:
        return present, evidence.doubt
    lull = _lull_of(evidence, vertex, wanted)
    after_s = evidence.snapshot.limits.scaling.scale_down_after_s
    if not lull_is_over(lull, after_s=after_s, now_s=evidence.now_s):
        left_s = after_s - (evidence.now_s - lull.since_s)
        message = f"{vertex.name} could do with {wanted}; {left_s:.0f} s to wait"
        return present, Reason(code=ReasonCode.STABILISING, message=message)
    if lull.most_wanted > present * (1 - evidence.tolerance):
        return present, None
    step = one_step(present, lull.most_wanted, evidence.snapshot.limits.scaling)
    return step.replicas, _changed(evidence, v, vertex, step.replicas)


def _lull_of(evidence: _Evidence, vertex: Vertex, wanted: int) -> Lull:
    if evidence.lulls is not None:
        return evidence.lulls[vertex.name]
    last_s = evidence.snapshot.last_scaled_at_s
    return Lull(since_s=-np.inf if last_s is None else last_s, most_wanted=wanted)


def _changed(evidence: _Evidence, v: int, vertex: Vertex, number: int) -> Reason:
    up = number > vertex.replicas
    return Reason(
        code=ReasonCode.SCALED_UP if up else ReasonCode.SCALED_DOWN,
        message=f"{vertex.name} {vertex.replicas}→{number}: "
        f"busy {evidence.flow.busy_share[v]:.2f}, the rates ask for {evidence.need.wanted[v]}",
    )


def _remember(evidence: _Evidence, growth: Floats, replicas: Mapping[str, int]) -> Memory:
    snapshot, flow, raises = evidence.snapshot, evidence.flow, dict(evidence.raises)
    for v, vertex in enumerate(snapshot.vertices):
        if replicas.get(vertex.name, 0) > vertex.replicas:
            raises[vertex.name] = Raise(
                at_s=evidence.now_s,
                from_replicas=vertex.replicas,
                to_replicas=replicas[vertex.name],
                capacity_per_s=float(flow.true_rate_per_s[v]) * vertex.replicas,
            )
    lulls = evidence.lulls
    if lulls is None:
        lulls = next_lulls(snapshot, _wanted(snapshot, evidence.need), {}, evidence.now_s)
    seen = queues_seen(snapshot, flow, growth, evidence.memory, now_s=evidence.now_s)
    return replace(seen, lulls=lulls, raises=MappingProxyType(raises))


_ENOUGH = Reason(code=ReasonCode.WITHIN_TOLERANCE, message="every vertex has the tasks it needs")
_UNKNOWN = Reason(code=ReasonCode.METRICS_MISSING, message="some vertices were not measured")
