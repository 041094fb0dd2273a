"""Snapshot to Plan: the one door through which every strategy is asked.

In this order: tasks without a node get one, at once and by whatever is known; then the number of
tasks is set right; then tasks are moved, if what was measured says that it pays; and the shares of
edges that have weights follow. Last, when all is well, nodes that nothing needs are named.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.hibernate import decide_asleep
from thalweg_scheduling.measure.needs import overloaded
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.measure.trust import why_not_move
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import (
    NOTHING_TO_DO,
    NOTHING_TO_MOVE,
    EdgeWeights,
    Missing,
    Move,
    Plan,
)
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.moving import Step, best_prefix, steps_towards, urgent_tasks
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.proposal import Placer, Proposal, processes_for
from thalweg_scheduling.place.together import joined, steps_together, value_of
from thalweg_scheduling.scale import Scaling, look_at_queues, offered_views, resized
from thalweg_scheduling.simulate import predict
from thalweg_scheduling.strategies import strategy_named
from thalweg_scheduling.strategies.strategy import Strategy

NOTHING = NOTHING_TO_DO.code
LEAST_LOSS = 0.02
"""Share of the throughput whose predicted loss is no rounding of the simulator any more."""

BARRED = "tasks are where they may no longer be"
"""That does not wait for a cool-down: no measurement that has to settle says so."""
HINDRANCES = (
    ReasonCode.METRICS_MISSING,
    ReasonCode.METRICS_STALE,
    ReasonCode.METRICS_PARTIAL,
    ReasonCode.COOLING_DOWN,
)
"""Because of these nobody looked where tasks should be, so that there is nothing to remember."""
LEAST_SHIFT = 0.01
"""A share that changes by less stays as it is."""


def decide(snapshot: Snapshot, strategy: str, *, now_s: float, rng: np.random.Generator) -> Plan:
    """What to change now, or why nothing."""
    parts = strategy_named(strategy)
    trusted = _without_stale_loads(snapshot, now_s)
    permits = snapshot.limits.permits
    if snapshot.unplaced.size:
        return _place_homeless(trusted, strategy, parts.place, rng)
    scaling = Scaling(memory=look_at_queues(snapshot, now_s))
    if permits.scale:
        scaling = parts.scale(snapshot, now_s=now_s, memory=snapshot.memory)
    memory = scaling.memory
    if scaling.replicas:
        plan = _scale(trusted, strategy, parts.place, scaling=scaling, rng=rng)
        return replace(plan, memory=memory)
    if permits.move:
        views = offered_views(trusted, memory)
        plan = _move(views, strategy, parts, now_s=now_s, rng=rng)
        if parts.remember is not None and plan.reasons[0].code not in HINDRANCES:
            memory = parts.remember(snapshot, memory or Memory(at_s=now_s), plan)
    else:
        plan = _nothing(snapshot, strategy, NOTHING_TO_DO)
    if permits.regroup:
        nodes, processes = _nodes_after(trusted, plan), _processes_after(trusted, plan)
        weights = parts.weigh(trusted, nodes, processes)
        plan = _regroup(trusted, plan, weights, now_s=now_s)
    if permits.sleep and plan.changes_nothing:
        plan = _sleep(snapshot, plan, now_s)
    return replace(plan, reasons=(*plan.reasons, *scaling.reasons), memory=memory)


def assignments_of(snapshot: Snapshot, node: Ints) -> MappingProxyType[str, str]:
    """Task name to node name, for the tasks that have a node."""
    nodes = snapshot.nodes
    placed = zip(snapshot.task_names, node.tolist(), strict=True)
    return MappingProxyType({task: nodes[at] for task, at in placed if at != UNPLACED})


def _place_homeless(
    snapshot: Snapshot, strategy: str, place: Placer, rng: np.random.Generator
) -> Plan:
    movable = snapshot.placement == UNPLACED
    proposal = place(snapshot, movable=movable, rng=rng)
    newly = np.flatnonzero(movable & (proposal.node != UNPLACED)).tolist()
    at = proposal.node.tolist()
    placed = {snapshot.task_names[task]: snapshot.nodes[at[task]] for task in newly}
    return replace(
        _plan_for(snapshot, strategy, proposal.node, proposal),
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
    place: Placer,
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
    views: tuple[Snapshot, ...],
    strategy: str,
    parts: Strategy,
    *,
    now_s: float,
    rng: np.random.Generator,
) -> Plan:
    """Move what should be elsewhere; the last view is what was measured."""
    snapshot = views[-1]
    if not snapshot.placement.size:
        return _nothing(snapshot, strategy, NOTHING_TO_DO)
    measured = _Look.at(snapshot)
    hindrance = why_not_move(snapshot, now_s)
    if hindrance is None and measured.must != BARRED:
        hindrance = _cooling(snapshot, now_s)
    if hindrance is None and parts.hesitate is not None and measured.must is None:
        hindrance = parts.hesitate(snapshot)
    if hindrance is not None:
        return _nothing(snapshot, strategy, hindrance)
    for look in (*map(_Look.at, views[:-1]), measured):
        proposal = _proposed(look, parts.place, rng)
        if not proposal.missing:
            return _plan_towards(look, proposal, strategy)
    lacking = Reason(code=ReasonCode.INFEASIBLE, message=proposal.missing[0].message)
    return _nothing(snapshot, strategy, lacking)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    """A view of the snapshot, and why the present placement cannot stay by it."""

    problem: Problem
    must: str | None

    @staticmethod
    def at(view: Snapshot) -> "_Look":
        problem = problem_of(view, np.ones(len(view.placement), dtype=np.bool_))
        return _Look(problem=problem, must=_must_move(problem))


def _proposed(look: _Look, place: Placer, rng: np.random.Generator) -> Proposal:
    """Whoever has to leave a node leaves it alone, if that is enough.

    Whether more should move is the next question.
    """
    snapshot, everyone = look.problem.snapshot, look.problem.movable
    if look.must is not None:
        proposal = place(snapshot, movable=urgent_tasks(look.problem), rng=rng)
        if not proposal.missing:
            return proposal
    return place(snapshot, movable=everyone, rng=rng)


def _plan_towards(look: _Look, proposal: Proposal, strategy: str) -> Plan:
    """The moves towards a layout, if they are worth it."""
    problem, must, snapshot = look.problem, look.must, look.problem.snapshot
    if np.array_equal(proposal.node, snapshot.placement):
        return _nothing(snapshot, strategy, NOTHING_TO_MOVE)
    present_value, steps = _steps(problem, proposal)
    refusal = _not_worth_it(snapshot, steps, present_value) if must is None else None
    if refusal is not None or not steps:
        return _nothing(snapshot, strategy, refusal or NOTHING_TO_DO)
    reason = _moving_reason(steps, present_value, must)
    plan = _plan_of_moves(snapshot, strategy, steps, reason, proposal)
    slower = _carries_less(snapshot, plan) if must is None else None
    return plan if slower is None else _nothing(snapshot, strategy, slower)


def _steps(problem: Problem, proposal: Proposal) -> tuple[float, list[Step]]:
    """What the present placement is worth, and the moves that are worth making."""
    limits, present = problem.snapshot.limits.placement, problem.snapshot.placement
    urgent = urgent_tasks(problem, proposal.node)
    if limits.whole_processes:
        steps = steps_together(problem, proposal.node, urgent, most=limits.max_moves)
        return value_of(problem, present), steps
    value = problem.score(present)[1]
    steps = steps_towards(problem, proposal.node, urgent)
    return value, best_prefix(steps, urgent, present_value=value, most=limits.max_moves)


def _must_move(problem: Problem) -> str | None:
    """Why the present placement cannot stay, whatever its J."""
    present = problem.snapshot.placement
    if problem.is_feasible(present):
        return None
    over = np.flatnonzero(overloaded(problem.needs, present))
    if over.size:
        return f"{problem.snapshot.nodes[over[0]]} is overloaded"
    return BARRED


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
    present = _processes(snapshot, snapshot.placement)
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


def _plan_of_moves(
    snapshot: Snapshot, strategy: str, steps: list[Step], reason: Reason, proposal: Proposal
) -> Plan:
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
    return replace(_plan_for(snapshot, strategy, node, proposal), moves=moves, reasons=(reason,))


def _plan_for(snapshot: Snapshot, strategy: str, node: Ints, proposal: Proposal) -> Plan:
    # A part of the moves is another placement than the one proposed, with other processes.
    whole = np.array_equal(node, proposal.node)
    process = proposal.process if whole else _processes(snapshot, node)
    if snapshot.limits.placement.whole_processes:
        process = joined(snapshot, process)
    return Plan(
        strategy=strategy,
        assignments=assignments_of(snapshot, node),
        processes=MappingProxyType(dict(zip(snapshot.task_names, process.tolist(), strict=True))),
        objective=objective(snapshot, node, process),
        prediction=predict(snapshot, node, process) if snapshot.loads is not None else None,
    )


def _processes(snapshot: Snapshot, node: Ints) -> Ints:
    """Who shares a process in this placement; who moves only as a whole keeps who is with it."""
    if snapshot.limits.placement.whole_processes and snapshot.process is not None:
        return snapshot.process
    return processes_for(snapshot, node)


def _nodes_after(snapshot: Snapshot, plan: Plan) -> Ints:
    """Where every task is once the plan's moves are made: shares are for that."""
    position = {name: at for at, name in enumerate(snapshot.nodes)}
    task = {name: at for at, name in enumerate(snapshot.task_names)}
    node = np.array(snapshot.placement)
    for move in plan.moves:
        node[task[move.task]] = position[move.target]
    return node


def _processes_after(snapshot: Snapshot, plan: Plan) -> Ints | None:
    """The same of processes; nothing where each task has its own."""
    if not plan.moves or not snapshot.limits.placement.shared_processes:
        return snapshot.process
    return np.array([plan.processes[name] for name in snapshot.task_names], dtype=np.int64)


def _regroup(
    snapshot: Snapshot, plan: Plan, weights: tuple[EdgeWeights, ...], *, now_s: float
) -> Plan:
    """The plan with new shares for the edges whose shares changed enough to be worth it."""
    present = {(each.source, each.target): each.shares for each in snapshot.weights}
    changed = tuple(
        each
        for each in weights
        if _differs(each.shares, present.get((each.source, each.target), {}))
    )
    if not changed or why_not_move(snapshot, now_s) is not None:
        return plan
    edges = ", ".join(f"{each.source} → {each.target}" for each in changed)
    reason = Reason(code=ReasonCode.REGROUPED, message=f"new shares for {edges}")
    others = tuple(each for each in plan.reasons if each != NOTHING_TO_DO)
    reasons = (*others, reason) if plan.moves else (reason, *others)
    return replace(plan, weights=changed, reasons=reasons)


def _sleep(snapshot: Snapshot, plan: Plan, now_s: float) -> Plan:
    """The plan with the nodes that nothing would need any more.

    Before one sleeps its tasks have to move; what is not good enough to move by is not for this.
    """
    hindrance = why_not_move(snapshot, now_s)
    if hindrance is not None:
        return replace(plan, reasons=tuple(dict.fromkeys((*plan.reasons, hindrance))))
    rest = decide_asleep(snapshot, now_s=now_s)
    reasons = tuple(each for each in (*plan.reasons, *rest.reasons) if each.code is not NOTHING)
    return replace(plan, asleep=rest.asleep, reasons=reasons or plan.reasons)


def _differs(shares: Mapping[str, float], present: Mapping[str, float]) -> bool:
    even = 1.0 / len(shares) if shares else 0.0
    return any(abs(share - present.get(task, even)) > LEAST_SHIFT for task, share in shares.items())


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
