"""What came of a plan: measured a while after it was carried out, against what was before.

A plan that moved tasks and made things worse is undone: its moves are made backwards. It is told
from the plans alone, so an operator that starts anew goes on where the last one stopped.
"""

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.plans import PlanState, Standing
from thalweg_operator.observe.facts import epoch_s
from thalweg_operator.observe.measured import Measured
from thalweg_operator.report.conditions import Condition
from thalweg_operator.report.figures import per_second, seconds
from thalweg_scheduling.model.plan import Move, Plan
from thalweg_scheduling.model.reasons import Reason, ReasonCode

VERIFIED = "Verified"
"""The condition of a plan that says whether it proved good."""
HOLD_S = 900.0
"""After a roll-back nothing is moved for so long: what J promised has just not come true.

Twice as long after each further one that is still on record."""
_WORSE_LATENCY = 1.2
_SAME_LOAD = (0.8, 1.25)
_HELD_BACK = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """What a plan is judged by; NaN where it is unknown."""

    latency_s: float = math.nan
    throughput_per_s: float = math.nan
    held_back: float = math.nan
    """The largest share of time that a task was held back by its receivers."""

    @property
    def are_known(self) -> bool:
        """Whether there is anything to compare."""
        return math.isfinite(self.latency_s) and math.isfinite(self.throughput_per_s)

    def text(self) -> str:
        """For the annotation of a plan."""
        known = {
            "latency_s": self.latency_s,
            "throughput_per_s": self.throughput_per_s,
            "held_back": self.held_back,
        }
        return json.dumps({name: round(v, 9) for name, v in known.items() if math.isfinite(v)})


def figures_of(measured: Measured) -> Figures:
    """What was measured of a topology, as plans are judged by it."""
    shares = [] if measured.loads is None else measured.loads.backpressured_share.tolist()
    return Figures(
        latency_s=measured.latency_s,
        throughput_per_s=measured.throughput_per_s,
        held_back=max((share for share in shares if math.isfinite(share)), default=math.nan),
    )


def figures_before(state: PlanState) -> Figures:
    """What was measured when the plan was made; unknown where somebody spoilt the note."""
    notes = state.body["metadata"].get("annotations") or {}
    try:
        found = json.loads(notes.get(naming.MEASURED_BEFORE, "{}"))
        return Figures(**{name: float(value) for name, value in found.items()})
    except (AttributeError, TypeError, ValueError):
        return Figures()


def to_prove(states: Sequence[PlanState], observed_at_s: float, after_s: float) -> PlanState | None:
    """The plan whose effect can be seen now: the last one carried out, a while ago."""
    last = _last_carried_out(states)
    if last is None or last.standing is not Standing.APPLIED or proof_of(last) is not None:
        return None
    applied_at = last.status.get("appliedAt")
    if applied_at is None or not observed_at_s - epoch_s(applied_at) >= after_s:
        return None
    return last


def judge_plan(before: Figures, after: Figures) -> Condition | None:
    """Whether it got worse, as the condition of the plan; None while there is nothing to judge by.

    What cannot be compared is neither good nor bad.
    """
    if not after.are_known:
        return None
    if not before.are_known:
        text = "nothing was measured before it was carried out"
        return _proof("NotComparable", text, status=None)
    worse = _why_worse(before, after)
    if worse:
        return _proof("Worse", worse, status=False)
    if after.latency_s > _WORSE_LATENCY * before.latency_s:
        text = (
            f"the load has changed from {per_second(before.throughput_per_s)} "
            f"to {per_second(after.throughput_per_s)}"
        )
        return _proof("NotComparable", text, status=None)
    text = "what was measured afterwards is no worse than before"
    return _proof("AsGood", text, status=True)


def _proof(reason: str, message: str, *, status: bool | None) -> Condition:
    return Condition(kind=VERIFIED, status=status, reason=reason, message=message)


def to_undo(states: Sequence[PlanState]) -> PlanState | None:
    """The plan to roll back: the last one carried out, if it moved tasks and got worse.

    Only where it moved them for a gain: tasks that had to leave are not sent back.
    """
    last = _last_carried_out(states)
    if last is None or proof_of(last) != "False" or last.status.get("rolledBackTo"):
        return None
    is_ours = _promised_gain(last) and last.spec.get("moves") and not is_roll_back(last)
    return last if is_ours else None


def undoing(state: PlanState, where: Mapping[str, str], usable: Iterable[str]) -> Plan | None:
    """The plan that takes the moves back, last one first; None where none can be."""
    nodes = set(usable)
    moves = tuple(
        Move(task=one["task"], source=one["to"], target=one["from"])
        for one in reversed(state.spec.get("moves") or ())
        if where.get(one["task"]) == one["to"] and one["from"] in nodes
    )
    if not moves:
        return None
    why = next(c["message"] for c in state.status["conditions"] if c["type"] == VERIFIED)
    return Plan(
        strategy=str(state.spec["strategy"]),
        assignments={**where, **{move.task: move.target for move in moves}},
        moves=moves,
        reasons=(Reason(code=ReasonCode.ROLLED_BACK, message=f"{state.name} is undone: {why}"),),
    )


def proof_of(state: PlanState) -> str | None:
    """Whether a plan proved good: True, False or Unknown; None before it was judged."""
    for condition in state.status.get("conditions") or ():
        if condition.get("type") == VERIFIED:
            return str(condition.get("status"))
    return None


def stable_plan(states: Iterable[PlanState]) -> str:
    """The last plan that proved good."""
    return next((state.name for state in states if proof_of(state) == "True"), "")


def unnoted_roll_backs(states: Sequence[PlanState]) -> tuple[tuple[PlanState, PlanState], ...]:
    """Plans that were undone and do not say so yet, each with the plan that undoes it."""
    return tuple(
        (undone, state)
        for position, state in enumerate(states)
        if is_roll_back(state)
        and (undone := _last_carried_out(states[position + 1 :])) is not None
        and proof_of(undone) == "False"
        and not undone.status.get("rolledBackTo")
    )


def is_roll_back(state: PlanState) -> bool:
    """Whether the plan undoes another."""
    reasons = state.spec.get("reasons") or [{}]
    return bool(reasons[0].get("reason") == ReasonCode.ROLLED_BACK)


def holds_still(states: Iterable[PlanState], now_s: float) -> bool:
    """Whether a roll-back is so recent that nothing should be moved."""
    undone_s = [epoch_s(state.spec["decidedAt"]) for state in states if is_roll_back(state)]
    if not undone_s:
        return False
    return now_s - max(undone_s) < HOLD_S * 2.0 ** (len(undone_s) - 1)


def _promised_gain(state: PlanState) -> bool:
    predicted = state.spec.get("predicted") or {}
    try:
        return float(predicted["cost"]) < float(predicted["costBefore"])
    except (KeyError, ValueError):
        return False


def _last_carried_out(states: Iterable[PlanState]) -> PlanState | None:
    done = (Standing.RUNNING, Standing.APPLIED)
    return next((state for state in states if state.standing in done), None)


def _why_worse(before: Figures, after: Figures) -> str:
    """What got worse; empty if nothing did, or if it cannot be known."""
    load = after.throughput_per_s / before.throughput_per_s if before.throughput_per_s else math.inf
    least, most = _SAME_LOAD
    if load < least and after.held_back >= _HELD_BACK > before.held_back:
        return (
            f"{per_second(after.throughput_per_s)} get through instead of "
            f"{per_second(before.throughput_per_s)}, and tasks are held back"
        )
    if least <= load <= most and after.latency_s > _WORSE_LATENCY * before.latency_s:
        return f"latency is {seconds(after.latency_s)} instead of {seconds(before.latency_s)}"
    return ""


def measured_status(shown: Mapping[str, Any]) -> dict[str, Any]:
    """The figures of a topology's table that a plan keeps too."""
    return {name: shown[name] for name in ("latency", "throughput", "crossDomain") if name in shown}
