"""Snapshot to Plan: the one door through which every strategy is asked."""

from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.plan import NOTHING_TO_DO, Missing, Plan
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.strategies import strategy_named


def decide(snapshot: Snapshot, strategy: str, *, now_s: float, rng: np.random.Generator) -> Plan:  # noqa: ARG001
    """Give every task that has no node one, and leave the others where they are."""
    movable = snapshot.placement == UNPLACED
    if not movable.any():
        return Plan.nothing(strategy, NOTHING_TO_DO, assignments_of(snapshot, snapshot.placement))
    proposal = strategy_named(strategy)(snapshot, movable=movable, rng=rng)
    assignments = assignments_of(snapshot, proposal.node)
    placed = {
        snapshot.tasks[task].name: snapshot.nodes[proposal.node[task]]
        for task in np.flatnonzero(movable)
        if proposal.node[task] != UNPLACED
    }
    return Plan(
        strategy=strategy,
        assignments=assignments,
        placed=MappingProxyType(placed),
        processes=MappingProxyType(
            {task.name: int(proposal.process[t]) for t, task in enumerate(snapshot.tasks)}
        ),
        missing=proposal.missing,
        reasons=_reasons(len(placed), snapshot, proposal.missing),
    )


def assignments_of(snapshot: Snapshot, node: Ints) -> MappingProxyType[str, str]:
    """Task name to node name, for the tasks that have a node."""
    return MappingProxyType(
        {
            task.name: snapshot.nodes[node[t]]
            for t, task in enumerate(snapshot.tasks)
            if node[t] != UNPLACED
        }
    )


def _reasons(placed: int, snapshot: Snapshot, missing: tuple[Missing, ...]) -> tuple[Reason, ...]:
    reasons = []
    if placed:
        everything = placed == len(snapshot.tasks)
        code = ReasonCode.FIRST_PLACEMENT if everything else ReasonCode.REPLACED
        reasons.append(Reason(code=code, message=f"{placed} of {len(snapshot.tasks)} tasks placed"))
    reasons.extend(Reason(code=ReasonCode.INFEASIBLE, message=lack.message) for lack in missing)
    return tuple(reasons)
