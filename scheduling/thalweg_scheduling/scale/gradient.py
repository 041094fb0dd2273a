"""Sgp-Stream's Algorithm 3: vertices of the critical path that are too busy or too idle are scaled
by a step of gradient descent (Eq 18–21).

    U(v)   the mean share of time that the tasks of v work
    N ← N − ξ · (θ_max · ΣPr − Ir) / Ir      Pr  what a task could process, Ir  what arrives

Where the paper errs or is silent:

- (21) compares the mean of the tasks with the input of all; here sums are compared, by true rates,
  which a vertex could process if it were always busy: else nothing ever gets fewer tasks.
- (21) as printed comes to rest where a vertex is busy all the time, far above θ_max; here what it
  could process counts up to θ_max, so that it comes to rest where the thresholds want it.
- ξ is a share of N, and a step down ends where the gradient would change its sign: for an idle
  vertex (21) is below zero, and one task may be far too few.
- Above θ_max at least one task is added: held-back input makes (21) negative where growth is
  needed.
- The inner loop is one step for each cool time: the effect has to be measured first.
- All vertices of the path are adjusted in one decision, so that the order of Eq 20 does not matter.
"""

from dataclasses import dataclass
from functools import partial

import numpy as np

from thalweg_scheduling.measure.critical_path import critical_vertices, transmission_s
from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.decision import decide_replicas
from thalweg_scheduling.scale.ds2 import Need, Rates
from thalweg_scheduling.scale.flow import VertexFlow, known, mean_by_vertex
from thalweg_scheduling.scale.scaling import Scaling

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Descent:
    """When a vertex is scaled, and how far it goes in one step."""

    most_busy: float = 0.40
    """θ_max."""
    least_busy: float = 0.10
    """θ_min."""
    step: float = 1.0
    """ξ as a share of N."""
    cool_time_s: float = 60.0
    """scalCoolTime."""


DEFAULT = Descent()


def descend(
    snapshot: Snapshot, *, now_s: float, memory: Memory | None = None, how: Descent = DEFAULT
) -> Scaling:
    """Algorithm 3, within the bounds, steps and delays that bind every scaler."""
    memory = memory or snapshot.memory
    scaled_at_s = snapshot.last_scaled_at_s
    if scaled_at_s is not None and now_s - scaled_at_s < how.cool_time_s:
        left_s = how.cool_time_s - (now_s - scaled_at_s)
        cooling = Reason(
            code=ReasonCode.COOLING_DOWN, message=f"scaled a moment ago; {left_s:.0f} s to wait"
        )
        return Scaling(reasons=(cooling,), memory=memory)
    needing = partial(tasks_by_gradient, how=how)
    return decide_replicas(snapshot, now_s=now_s, memory=memory, needing=needing)


def tasks_by_gradient(
    snapshot: Snapshot, flow: VertexFlow, rates: Rates, *, how: Descent = DEFAULT
) -> Need:
    """Lines 3 to 25 for all vertices at once; others than critical ones stay as they are."""
    present = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.float64)
    arriving = rates.steady_per_s + rates.undivided_per_s * present
    critical = on_critical_path(snapshot, flow)
    busy = flow.busy_share
    grows = critical & (busy > how.most_busy)
    shrinks = critical & (busy < how.least_busy)
    stepped, enough = _gradient_step(present, arriving, flow.true_rate_per_s, how)
    more = np.maximum(np.ceil(stepped - _ROUNDING), present + 1)
    fewer = np.minimum(np.maximum(np.floor(stepped + _ROUNDING), enough), present)
    hopeless = rates.undivided_per_s >= flow.true_rate_per_s
    wanted = np.where(grows, more, np.where(shrinks, fewer, present))
    return Need(
        wanted=wanted.astype(np.int64),
        urgent=grows & ~hopeless,
        can_shrink=critical & np.isfinite(busy) & rates.derived & flow.whole,
        hopeless=grows & hopeless,
    )


def on_critical_path(snapshot: Snapshot, flow: VertexFlow) -> Bools:
    """Shape (vertices,): by wait and service in a vertex, and the way between two (Eq 7 and 8)."""
    if snapshot.loads is None:
        return np.ones(len(snapshot.vertices), dtype=np.bool_)
    wait_s = np.nan_to_num(mean_by_vertex(snapshot, known(snapshot.loads.wait_s)))
    return critical_vertices(snapshot, wait_s + 1 / flow.true_rate_per_s, transmission_s(snapshot))


def _gradient_step(
    present: Floats, arriving_per_s: Floats, true_rate_per_s: Floats, how: Descent
) -> tuple[Floats, Floats]:
    """Eq 21, and the number at which the gradient is 0; the present one where rates are unknown."""
    able = how.most_busy * true_rate_per_s * present
    with np.errstate(divide="ignore", invalid="ignore"):
        gradient = np.where(arriving_per_s > 0, (able - arriving_per_s) / arriving_per_s, np.inf)
        enough = np.ceil(arriving_per_s / (how.most_busy * true_rate_per_s) - _ROUNDING)
    stepped = present - how.step * present * gradient
    stepped = np.where(np.isnan(stepped), present, np.clip(stepped, 1.0, None))
    return stepped, np.where(np.isfinite(enough), np.maximum(enough, 1.0), present)
