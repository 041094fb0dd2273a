"""What could be better: the plan that measurements suggest for a topology that stands still."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import numpy as np

from thalweg_operator.act.plans import PlanState, Standing
from thalweg_operator.api.schedule import is_in_force, parse_schedule
from thalweg_operator.api.topology import BudgetSpec, Mode, Processes, TopologySpec
from thalweg_operator.deciding import Situation, Undecidable, build_snapshot
from thalweg_operator.observe.facts import epoch_s
from thalweg_operator.observe.measured import Measured
from thalweg_operator.proving import holds_still
from thalweg_scheduling.decide import decide
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.errors import SchedulingError
from thalweg_scheduling.model.graph import Vertex
from thalweg_scheduling.model.limits import (
    Limits,
    Permits,
    PlacementLimits,
    ScalingLimits,
    Trust,
)
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import NOTHING_TO_DO, EdgeWeights, Plan
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.spread import breaks_spread

_MENDING_S = 300.0
"""So long after a scaling, what it tore is looked at in every turn, not once in an interval."""
_REGROUP_S = 30.0
"""Weights change at most this often: senders need time to hear of them, and loads to settle."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Improvement:
    """A plan, and J of what runs now beside it."""

    plan: Plan
    cost_before: float
    looked_for_moves: bool = True


def improve(
    situation: Situation,
    measured: Measured,
    plans: Iterable[PlanState],
    *,
    memory: Memory | None = None,
    scaled_by_others: Collection[str] = (),
    look_for_moves: bool = True,
) -> Improvement:
    """Ask the planner what to change, given what was measured.

    First whether the numbers of tasks are right, by what has been flowing lately; then, if they
    are, where the tasks should be, by what flows in the long run.
    """
    states = tuple(plans)
    snapshot = replace(
        _measured_snapshot(situation, measured, states, scaled_by_others),
        # After a restart nothing is known of the time before: a lull begins now.
        memory=memory or Memory(at_s=situation.now_s, began_s=_runs_since_s(situation)),
    )
    scaling = _ask(
        situation,
        replace(
            snapshot,
            traffic=measured.recent_traffic,
            limits=_only(snapshot.limits, scale=True),
        ),
    )
    cost = objective(snapshot, snapshot.placement, snapshot.process)
    look = look_for_moves or _was_torn(snapshot, situation.now_s)
    if scaling.replicas or not look:
        return Improvement(plan=scaling, cost_before=cost, looked_for_moves=False)
    looking = replace(snapshot, memory=scaling.memory, limits=_only(snapshot.limits, place=True))
    moving = _ask(situation, looking)
    said = tuple(one for one in scaling.reasons if one is not NOTHING_TO_DO)
    reasons = (*moving.reasons, *said)
    return Improvement(plan=replace(moving, reasons=reasons), cost_before=cost)


def _runs_since_s(situation: Situation) -> float | None:
    """Since when the topology runs at the latest: its oldest pod knows, also after a restart."""
    pods = (pod for survey in situation.surveys.values() for pod in survey.holders.values())
    return min((pod.created_at_s for pod in pods), default=None)


def _ask(situation: Situation, snapshot: Snapshot) -> Plan:
    rng = np.random.default_rng(0)
    try:
        return decide(snapshot, situation.spec.strategy, now_s=situation.now_s, rng=rng)
    except SchedulingError as error:
        raise Undecidable(f"the planner cannot decide: {error}") from error


def _only(limits: Limits, *, place: bool = False, scale: bool = False) -> Limits:
    permits = limits.permits
    return replace(
        limits,
        permits=Permits(
            move=permits.move and place,
            regroup=permits.regroup and place,
            scale=permits.scale and scale,
        ),
    )


def _was_torn(snapshot: Snapshot, now_s: float) -> bool:
    """Whether a scaling has just left a vertex in fewer domains than it must have."""
    scaled_s = snapshot.last_scaled_at_s
    if scaled_s is None or now_s - scaled_s > _MENDING_S:
        return False
    everywhere = np.ones(len(snapshot.placement), dtype=np.bool_)
    return breaks_spread(snapshot, snapshot.placement, everywhere)


def moves_allowed(budgets: Iterable[BudgetSpec], now_s: float) -> int:
    """How many tasks may be on the move: the smallest of the budgets in force."""
    return min((budget.max_moves for budget in budgets if _holds(budget, now_s)), default=1024)


def _holds(budget: BudgetSpec, now_s: float) -> bool:
    if budget.schedule is None or budget.duration_s is None:
        return True
    now, zone = datetime.fromtimestamp(now_s, UTC), ZoneInfo(budget.time_zone or "UTC")
    return is_in_force(parse_schedule(budget.schedule), budget.duration_s, now, zone)


def limits_of(spec: TopologySpec, now_s: float) -> Limits:
    """The bounds that the topology sets."""
    placement, scaling = spec.placement, spec.scaling
    is_shared = placement.processes is Processes.SHARED
    return Limits(
        placement=PlacementLimits(
            min_domains=placement.min_domains,
            max_share_percent=placement.max_share_percent,
            min_gain_percent=placement.min_gain_percent,
            cool_down_s=scaling.cooldown_s,
            shared_processes=is_shared,
            whole_processes=is_shared,
        ),
        scaling=ScalingLimits(
            target_utilization=scaling.target_utilization_percent / 100,
            max_step_up=scaling.max_up_factor,
            max_down_share=scaling.max_down_percent / 100,
            backlog_seconds=scaling.backlog_s,
            scale_down_after_s=scaling.scale_down_after_s,
            cool_down_s=scaling.cooldown_s,
        ),
        trust=Trust(stale_after_s=spec.metrics.stale_after_s),
        permits=Permits(
            move=placement.mode is not Mode.OFF and moves_allowed(spec.budgets, now_s) > 0,
            scale=scaling.mode is not Mode.OFF,
            regroup=spec.grouping_mode is not Mode.OFF,
        ),
    )


def last_change_s(plans: Iterable[PlanState], kind: str) -> float | None:
    """When a plan with changes of this kind (`moves`, `replicas`) was last at work."""
    times = [
        epoch_s(at)
        for plan in plans
        if plan.standing in (Standing.RUNNING, Standing.APPLIED, Standing.LAPSED)
        and plan.spec.get(kind)
        and (at := plan.status.get("appliedAt") or plan.status.get("startedAt"))
    ]
    return max(times, default=None)


def _measured_snapshot(
    situation: Situation,
    measured: Measured,
    plans: tuple[PlanState, ...],
    scaled_by_others: Collection[str],
) -> Snapshot:
    bare, limits = build_snapshot(situation), limits_of(situation.spec, situation.now_s)
    return replace(
        bare,
        weights=_shares(situation),
        vertices=tuple(_hands_off(vertex, scaled_by_others) for vertex in bare.vertices),
        traffic=measured.traffic,
        loads=measured.loads,
        latency=measured.latency,
        limits=replace(limits, permits=_permits(limits.permits, plans, situation.now_s)),
        last_scaled_at_s=last_change_s(plans, "replicas"),
        last_moved_at_s=last_change_s(plans, "moves"),
    )


def _permits(permits: Permits, plans: tuple[PlanState, ...], now_s: float) -> Permits:
    """Less than the user allows: after a roll-back nothing moves, and weights take their time."""
    regrouped_s = last_change_s(plans, "weights")
    return replace(
        permits,
        move=permits.move and not holds_still(plans, now_s),
        regroup=permits.regroup and (regrouped_s is None or now_s - regrouped_s >= _REGROUP_S),
    )


def _shares(situation: Situation) -> tuple[EdgeWeights, ...]:
    """What each receiver gets of an edge, of one in all."""
    return tuple(
        EdgeWeights(
            source=source,
            target=target,
            shares={task: weight / total for task, weight in sorted(weights.items())},
        )
        for (source, target), weights in situation.weights.items()
        if (total := sum(weights.values())) > 0
    )


def _hands_off(vertex: Vertex, scaled_by_others: Collection[str]) -> Vertex:
    """A vertex whose number of tasks somebody else sets has just that number."""
    if vertex.name not in scaled_by_others:
        return vertex
    return replace(vertex, min_replicas=vertex.replicas, max_replicas=vertex.replicas)
