"""Snapshot to Plan: the one door through which every strategy is asked.

In this order: tasks without a node get one, at once and by whatever is known; then the number of
tasks is set right; then tasks are moved, if what was measured says that it pays.
"""

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.measure.needs import overloaded
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.measure.trust import why_not_move
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.plan import NOTHING_TO_DO, Missing, Move, Plan
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.moving import Step, best_prefix, steps_towards, urgent_tasks
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.proposal import Strategy, processes_for
from thalweg_scheduling.scale import Scaling, decide_replicas, resized
from thalweg_scheduling.simulate import predict
from thalweg_scheduling.strategies import strategy_named

LEAST_LOSS = 0.02
"""Share of the throughput whose predicted loss is no rounding of the simulator any more."""


def decide(snapshot: Snapshot, strategy: str, *, now_s: float, rng: np.random.Generator) -> Plan:
    """What to change now, or why nothing."""
    place = strategy_named(strategy)
    trusted = _without_stale_loads(snapshot, now_s)
    permits = snapshot.limits.permits
    if snapshot.unplaced.size:
        return _place_homeless(trusted, strategy, place, rng)
    scaling = Scaling(memory=snapshot.memory)
    if permits.scale:
        scaling = decide_replicas(snapshot, now_s=now_s, memory=snapshot.memory)
    if scaling.replicas:
        plan = _scale(trusted, strategy, place, scaling=scaling, rng=rng)
        return replace(plan, memory=scaling.memory)
    plan = _nothing(snapshot, strategy, NOTHING_TO_DO)
    if permits.move:
        plan = _move(trusted, strategy, place, now_s=now_s, rng=rng)
    return replace(plan, reasons=(*plan.reasons, *scaling.reasons), memory=scaling.memory)


def assignments_of(snapshot: Snapshot, node: Ints) -> MappingProxyType[str, str]:
    """Task name to node name, for the tasks that have a node."""
    nodes = snapshot.nodes
    placed = zip(snapshot.task_names, node.tolist(), strict=True)
    return MappingProxyType({task: nodes[at] for task, at in placed if at != UNPLACED})


def _place_homeless(
    snapshot: Snapshot, strategy: str, place: Strategy, rng: np.random.Generator
) -> Plan:
    movable = snapshot.placement == UNPLACED
    proposal = place(snapshot, movable=movable, rng=rng)
    newly = np.flatnonzero(movable & (proposal.node != UNPLACED)).tolist()
    at = proposal.node.tolist()
    placed = {snapshot.task_names[task]: snapshot.nodes[at[task]] for task in newly}
    return replace(
        _plan_for(snapshot, strategy, proposal.node),
        placed=MappingProxyType(placed),
        missing=proposal.missing,
        reasons=(
            *_placing_reasons(len(placed), snapshot, proposal.missing),
            *(Reason(code=ReasonCode.COMPARED, message=note) for note in proposal.notes),
        ),
        memory=snapshot.memory,
    )


def _placing_reasons(
    placed: int, snapshot: Snapshot, missing: tuple[Missing, ...]
) -> tuple[Reason, ...]:
    reasons = []
    if placed:
        tasks = len(snapshot.placement)
        code = ReasonCode.FIRST_PLACEMENT if placed == tasks else ReasonCode.REPLACED
        reasons.append(Reason(code=code, message=f"{placed} of {tasks} tasks placed"))
    reasons.extend(Reason(code=ReasonCode.INFEASIBLE, message=lack.message) for lack in missing)
    return tuple(reasons)


def _scale(
    snapshot: Snapshot,
    strategy: str,
    place: Strategy,
    *,
    scaling: Scaling,
    rng: np.random.Generator,
) -> Plan:
    """Ask for other numbers of tasks, and say beforehand if there is no room for them."""
    grown = resized(snapshot, scaling.replicas)
    trial = place(grown, movable=grown.placement == UNPLACED, rng=rng)
    lacking = tuple(
        Reason(code=ReasonCode.INFEASIBLE, message=lack.message) for lack in trial.missing
    )
    return Plan(
        strategy=strategy,
        assignments=assignments_of(snapshot, snapshot.placement),
        replicas=scaling.replicas,
        objective=objective(snapshot, snapshot.placement, snapshot.process),
        reasons=(*scaling.reasons, *lacking),
    )


def _move(
    snapshot: Snapshot, strategy: str, place: Strategy, *, now_s: float, rng: np.random.Generator
) -> Plan:
    if not snapshot.placement.size:
        return _nothing(snapshot, strategy, NOTHING_TO_DO)
    hindrance = why_not_move(snapshot, now_s) or _cooling(snapshot, now_s)
    if hindrance is not None:
        return _nothing(snapshot, strategy, hindrance)
    problem = problem_of(snapshot, np.ones(len(snapshot.placement), dtype=np.bool_))
    proposal = place(snapshot, movable=problem.movable, rng=rng)
    if proposal.missing:
        lacking = Reason(code=ReasonCode.INFEASIBLE, message=proposal.missing[0].message)
        return _nothing(snapshot, strategy, lacking)
    present_value = problem.score(snapshot.placement)[1]
    urgent = urgent_tasks(problem)
    steps = best_prefix(
        steps_towards(problem, proposal.node, urgent),
        urgent,
        present_value=present_value,
        most=snapshot.limits.placement.max_moves,
    )
    must = _must_move(problem)
    refusal = _not_worth_it(snapshot, steps, present_value) if must is None else None
    if refusal is not None or not steps:
        return _nothing(snapshot, strategy, refusal or NOTHING_TO_DO)
    plan = _plan_of_moves(snapshot, strategy, steps, _moving_reason(steps, present_value, must))
    slower = _carries_less(snapshot, plan) if must is None else None
    return plan if slower is None else _nothing(snapshot, strategy, slower)


def _must_move(problem: Problem) -> str | None:
    """Why the present placement cannot stay, whatever its J."""
    present = problem.snapshot.placement
    if problem.is_feasible(present):
        return None
    over = np.flatnonzero(overloaded(problem.needs, present))
    if over.size:
        return f"{problem.snapshot.nodes[over[0]]} is overloaded"
    return "tasks are where they may no longer be"


def _cooling(snapshot: Snapshot, now_s: float) -> Reason | None:
    limit_s = snapshot.limits.placement.cool_down_s
    for word, at_s in (("move", snapshot.last_moved_at_s), ("scaling", snapshot.last_scaled_at_s)):
        if at_s is not None and now_s - at_s < limit_s:
            return Reason(
                code=ReasonCode.COOLING_DOWN,
                message=f"the last {word} was {now_s - at_s:.0f} s ago; nothing is moved for "
                f"{limit_s:.0f} s",
            )
    return None


def _not_worth_it(snapshot: Snapshot, steps: list[Step], present_value: float) -> Reason | None:
    wanted = snapshot.limits.placement.min_gain_percent
    gain = _gain_percent(steps, present_value)
    if steps and gain >= wanted:
        return None
    return Reason(
        code=ReasonCode.WITHIN_TOLERANCE,
        message=f"moving would gain {gain:.1f} % of J; at least {wanted:g} % are wanted",
    )


def _carries_less(snapshot: Snapshot, plan: Plan) -> Reason | None:
    """Why the simulator advises against the moves, whatever J says."""
    if plan.prediction is None:
        return None
    present = processes_for(snapshot, snapshot.placement)
    before = predict(snapshot, snapshot.placement, present).throughput_per_s
    after = plan.prediction.throughput_per_s
    # Where either is unknown this is false, and J decides alone.
    if after < (1 - LEAST_LOSS) * before:
        return Reason(
            code=ReasonCode.WITHIN_TOLERANCE,
            message=f"moving is predicted to carry {after:.4g} tuples/s instead of {before:.4g}",
        )
    return None


def _gain_percent(steps: list[Step], present_value: float) -> float:
    if not steps or present_value <= 0:
        return 0.0
    return 100.0 * (present_value - steps[-1].value) / present_value


def _moving_reason(steps: list[Step], present_value: float, must: str | None) -> Reason:
    gain = f"J {present_value:.4g} → {steps[-1].value:.4g}"
    return Reason(
        code=ReasonCode.MOVED,
        message=f"{len(steps)} tasks move: " + (gain if must is None else f"{must} ({gain})"),
    )


def _plan_of_moves(snapshot: Snapshot, strategy: str, steps: list[Step], reason: Reason) -> Plan:
    node = np.array(snapshot.placement)
    for step in steps:
        node[step.task] = step.target
    moves = tuple(
        Move(
            task=snapshot.task_names[step.task],
            source=snapshot.nodes[step.source],
            target=snapshot.nodes[step.target],
        )
        for step in steps
    )
    return replace(_plan_for(snapshot, strategy, node), moves=moves, reasons=(reason,))


def _plan_for(snapshot: Snapshot, strategy: str, node: Ints) -> Plan:
    process = processes_for(snapshot, node)
    return Plan(
        strategy=strategy,
        assignments=assignments_of(snapshot, node),
        processes=MappingProxyType(dict(zip(snapshot.task_names, process.tolist(), strict=True))),
        objective=objective(snapshot, node, process),
        prediction=predict(snapshot, node, process) if snapshot.loads is not None else None,
    )


def _nothing(snapshot: Snapshot, strategy: str, reason: Reason) -> Plan:
    return Plan.nothing(strategy, reason, assignments_of(snapshot, snapshot.placement))


def _without_stale_loads(snapshot: Snapshot, now_s: float) -> Snapshot:
    """Old readings of use must not keep a task from a node."""
    loads = snapshot.loads
    if loads is None:
        return snapshot
    fresh = loads.observed is not None and loads.observed.is_fresh(
        now_s, snapshot.limits.trust.stale_after_s
    )
    return snapshot if fresh else replace(snapshot, loads=None)
