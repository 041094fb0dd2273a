"""Md-Stream's Algorithm 4: busy vertices get more tasks, idle ones fewer (Eq 11, 12 and 18).

A task's capacity Irl is the share of its time in which it works; a vertex' Orl is that of its
busiest task. PD grows or shrinks by ω · (RT − RAP) / RT, rounded away from zero, RT being what
should flow into the vertex, RAP what its tasks could process.

Where the paper errs or is silent:

- RAP is the true rate times the tasks: as measured, RT and RAP are the same below saturation;
- a vertex above Orl_max always grows and one below Orl_min always shrinks, by one task at least:
  held-back input makes (18) negative where growth is needed;
- nothing shrinks so far that its Orl would pass Orl_max: for an idle vertex (18) is beyond -PD;
- an idle vertex shrinks whatever the latency is, and an unknown latency does not hold growth back.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.decision import decide_replicas
from thalweg_scheduling.scale.ds2 import Need, Rates
from thalweg_scheduling.scale.flow import VertexFlow, known, mean_by_vertex
from thalweg_scheduling.scale.scaling import Scaling


@dataclass(frozen=True, slots=True, kw_only=True)
class Elasticity:
    """When a vertex gets other numbers of tasks, and how far it goes in one step."""

    most_busy: float = 0.875
    """Orl_max."""
    least_busy: float = 0.30
    """Orl_min."""
    most_latency_s: float = 0.02
    """SL_max: wait and service of all vertices together."""
    settling_s: float = 700.0
    """Time_stability: a topology is left alone for so long after it began."""
    damping: float = 1.0
    """ω as a share of PD."""


DEFAULT = Elasticity()


def update_parallelism(
    snapshot: Snapshot,
    *,
    now_s: float,
    memory: Memory | None = None,
    how: Elasticity = DEFAULT,
) -> Scaling:
    """Algorithm 4, within the bounds, steps and delays that bind every scaler."""
    memory = memory or snapshot.memory
    began_s = now_s if memory is None or memory.began_s is None else memory.began_s
    left_s = how.settling_s - (now_s - began_s)
    if left_s > 0:
        memory = memory or Memory(at_s=now_s)
        waiting = Reason(
            code=ReasonCode.STABILISING, message=f"the topology settles for another {left_s:.0f} s"
        )
        return Scaling(reasons=(waiting,), memory=replace(memory, began_s=began_s))
    scaling = decide_replicas(
        snapshot, now_s=now_s, memory=memory, needing=partial(parallelism_needed, how=how)
    )
    kept = scaling.memory or Memory(at_s=now_s)
    return replace(scaling, memory=replace(kept, began_s=began_s))


def parallelism_needed(
    snapshot: Snapshot, flow: VertexFlow, rates: Rates, *, how: Elasticity = DEFAULT
) -> Need:
    """Lines 3 to 18: which vertices are too busy or too idle, and Eq 18 for those."""
    present = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.int64)
    busiest = busiest_share(snapshot)
    latency_s = system_latency_s(snapshot, flow)
    # Written so that an unknown latency counts as high.
    grows = (busiest > how.most_busy) & (not latency_s <= how.most_latency_s)
    shrinks = busiest < how.least_busy
    step = parallelism_step(present, flow, rates, how.damping)
    more = present + np.maximum(step, 1)
    enough = np.ceil(np.nan_to_num(present * busiest / how.most_busy) - 1e-9).astype(np.int64)
    fewer = np.minimum(np.maximum(present + np.minimum(step, -1), enough), present)
    hopeless = rates.undivided_per_s >= flow.true_rate_per_s
    return Need(
        wanted=np.where(grows, more, np.where(shrinks, fewer, present)),
        urgent=grows & ~hopeless,
        can_shrink=np.isfinite(busiest) & rates.derived & flow.whole,
        hopeless=grows & hopeless,
    )


def parallelism_step(present: Ints, flow: VertexFlow, rates: Rates, damping: float) -> Ints:
    """Eq 18 without the present number; 0 where a rate is unknown."""
    arriving = rates.steady_per_s + rates.undivided_per_s * present
    capacity = flow.true_rate_per_s * present
    with np.errstate(divide="ignore", invalid="ignore"):
        step = np.where(arriving > 0, damping * present * (arriving - capacity) / arriving, -np.inf)
    step = np.clip(np.nan_to_num(step, nan=0.0), -present, None)
    away: Ints = (np.sign(step) * np.ceil(np.abs(step) - 1e-9)).astype(np.int64)
    return away


def busiest_share(snapshot: Snapshot) -> Floats:
    """Eq 11 and 12: for each vertex the share of its time that its busiest task works."""
    most = np.full(len(snapshot.vertices), np.nan)
    if snapshot.loads is not None:
        np.fmax.at(most, snapshot.vertex_of, known(snapshot.loads.busy_share))
    return most


def system_latency_s(snapshot: Snapshot, flow: VertexFlow) -> float:
    """SL: wait and service of each vertex, added up; NaN where one is unknown."""
    if snapshot.loads is None:
        return float("nan")
    wait_s = mean_by_vertex(snapshot, known(snapshot.loads.wait_s))
    return float(np.sum(wait_s + 1 / flow.true_rate_per_s))
