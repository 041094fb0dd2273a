"""A plan is judged by what was measured afterwards; moves that made it worse are undone."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_operator import naming
from thalweg_operator.act.plans import PlanState, plan_states
from thalweg_operator.observe.measured import Measured
from thalweg_operator.proving import (
    HOLD_S,
    Figures,
    figures_before,
    figures_of,
    holds_still,
    judge_plan,
    measured_status,
    stable_plan,
    to_prove,
    to_undo,
    undoing,
    unnoted_roll_backs,
)
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.reasons import ReasonCode

MOVES = ({"task": "split-0", "from": "a", "to": "b"}, {"task": "split-1", "from": "a", "to": "c"})
APPLIED_S = 1_767_225_600.0
"""2026-01-01T00:00:00Z"""


def plan(
    number: int,
    standing: str = "Applied",
    *,
    proof: str = "",
    moves: tuple[dict[str, str], ...] = MOVES,
    reason: str = "Moved",
    note: str = "{}",
    cost: str = "1",
    **status: Any,
) -> dict[str, Any]:
    """A StreamPlan as it was read."""
    conditions = [{"type": "Applied", "reason": standing}]
    if proof:
        conditions.insert(0, {"type": "Verified", "status": proof, "message": "latency is 9ms"})
    return {
        "metadata": {
            "name": f"wc-plan-{number}",
            "annotations": {naming.MEASURED_BEFORE: note},
        },
        "spec": {
            "strategy": "Auto",
            "moves": list(moves),
            "reasons": [{"reason": reason}],
            "predicted": {"cost": cost, "costBefore": "2"},
            "decidedAt": "2026-01-01T00:00:00Z",
        },
        "status": {"conditions": conditions, "appliedAt": "2026-01-01T00:00:00Z", **status},
    }


def one(**facts: Any) -> PlanState:
    return plan_states([plan(1, **facts)])[0]


def figures(latency_s: float, per_s: float = 1000.0, held_back: float = 0.0) -> Figures:
    return Figures(latency_s=latency_s, throughput_per_s=per_s, held_back=held_back)


@pytest.mark.parametrize(
    ("before", "after", "status", "reason"),
    [
        pytest.param(figures(0.02), figures(0.01), True, "AsGood", id="faster"),
        pytest.param(figures(0.02), figures(0.023), True, "AsGood", id="hardly slower"),
        pytest.param(figures(0.02), figures(0.03), False, "Worse", id="slower"),
        pytest.param(
            figures(0.02), figures(0.03, 2000), None, "NotComparable", id="slower, twice the load"
        ),
        pytest.param(
            figures(0.02), figures(0.03, 400), None, "NotComparable", id="slower, less load"
        ),
        pytest.param(figures(0.02), figures(0.01, 400), True, "AsGood", id="less to do"),
        pytest.param(
            figures(0.02), figures(0.01, 400, 0.5), False, "Worse", id="less gets through"
        ),
        pytest.param(
            figures(0.02, held_back=0.5),
            figures(0.01, 400, 0.5),
            True,
            "AsGood",
            id="held back as before",
        ),
        pytest.param(Figures(), figures(0.01), None, "NotComparable", id="unknown before"),
        pytest.param(figures(0.02, 0.0), figures(0.01), True, "AsGood", id="began to flow"),
    ],
)
def test_what_came_of_a_plan(
    before: Figures, after: Figures, status: bool | None, reason: str
) -> None:
    proof = judge_plan(before, after)
    assert proof is not None
    assert (proof.status, proof.reason) == (status, reason)


@pytest.mark.parametrize("after", [Figures(), Figures(latency_s=0.01), Figures(throughput_per_s=9)])
def test_what_is_not_measured_proves_nothing(after: Figures) -> None:
    assert judge_plan(figures(0.02), after) is None


def test_the_sentence_says_what_got_worse() -> None:
    slower = judge_plan(figures(0.018), figures(0.042))
    assert slower is not None
    assert slower.message == "latency is 42ms instead of 18ms"
    less = judge_plan(figures(0.018), figures(0.018, 500, 0.3))
    assert less is not None
    assert less.message == "500/s get through instead of 1k/s, and tasks are held back"


def test_figures_survive_the_annotation() -> None:
    known = figures(0.0183, 1234.5, 0.25)
    assert figures_before(one(note=known.text())) == known
    unknown = figures_before(one(note=Figures(latency_s=0.5).text()))
    assert unknown.latency_s == 0.5
    assert math.isnan(unknown.throughput_per_s)


@pytest.mark.parametrize("note", ["", "[]", "7", '{"latency_s": "much"}', '{"other": 1}', "{"])
def test_a_spoilt_note_is_unknown(note: str) -> None:
    assert not figures_before(one(note=note)).are_known


def test_the_task_that_is_held_back_most_counts() -> None:
    assert math.isnan(figures_of(Measured()).held_back)
    loads = TaskLoad.unknown(3)
    assert math.isnan(figures_of(Measured(loads=loads)).held_back)
    partly = replace(loads, backpressured_share=np.array([0.1, math.nan, 0.4]))
    assert figures_of(Measured(loads=partly)).held_back == 0.4


@pytest.mark.parametrize(
    ("facts", "later_s", "is_due"),
    [
        ({}, 60.0, True),
        ({}, 59.0, False),
        ({}, math.nan, False),
        ({"standing": "Running"}, 60.0, False),
        ({"standing": "Lapsed"}, 60.0, False),
        ({"proof": "Unknown"}, 60.0, False),
        ({"appliedAt": None}, 60.0, False),
    ],
)
def test_a_plan_is_judged_a_while_after_it_was_carried_out(
    facts: dict[str, Any], later_s: float, is_due: bool
) -> None:
    state = one(**facts)
    found = to_prove((state,), APPLIED_S + later_s, 60.0)
    assert found == (state if is_due else None)


def test_only_the_last_plan_is_judged() -> None:
    """What is measured now came of the newest one, not of those before it."""
    states = plan_states([plan(1), plan(2, "Running")])
    assert to_prove(states, APPLIED_S + 60.0, 60.0) is None


@pytest.mark.parametrize(
    ("facts", "is_undone"),
    [
        ({"proof": "False"}, True),
        ({"proof": "True"}, False),
        ({"proof": "Unknown"}, False),
        ({}, False),
        ({"proof": "False", "moves": ()}, False),
        ({"proof": "False", "reason": "RolledBack"}, False),
        ({"proof": "False", "rolledBackTo": "wc-plan-2"}, False),
        ({"proof": "False", "cost": "3"}, False),
        ({"proof": "False", "cost": "unknown"}, False),
    ],
)
def test_which_plans_are_undone(facts: dict[str, Any], is_undone: bool) -> None:
    state = one(**facts)
    assert to_undo((state,)) == (state if is_undone else None)


def test_moves_are_taken_back_last_one_first() -> None:
    state = one(proof="False")
    where = {"split-0": "b", "split-1": "c", "read-0": "a"}
    undo = undoing(state, where, ("a", "b", "c"))
    assert undo is not None
    back = [(move.task, move.source, move.target) for move in undo.moves]
    assert back == [("split-1", "c", "a"), ("split-0", "b", "a")]
    assert dict(undo.assignments) == {"split-0": "a", "split-1": "a", "read-0": "a"}
    (reason,) = undo.reasons
    assert reason.code is ReasonCode.ROLLED_BACK
    assert reason.message == "wc-plan-1 is undone: latency is 9ms"


def test_a_task_that_has_moved_since_or_whose_node_is_gone_stays() -> None:
    state = one(proof="False")
    assert undoing(state, {"split-0": "d", "split-1": "c"}, ("b", "c", "d")) is None
    undo = undoing(state, {"split-0": "d", "split-1": "c"}, ("a", "c", "d"))
    assert undo is not None
    assert [move.task for move in undo.moves] == ["split-1"]


def test_an_undone_plan_is_told_by_which() -> None:
    states = plan_states(
        [plan(1, proof="False"), plan(2, "Lapsed"), plan(3, "Proposed", reason="RolledBack")]
    )
    assert [(a.number, b.number) for a, b in unnoted_roll_backs(states)] == [(1, 3)]
    noted = plan_states(
        [plan(1, proof="False", rolledBackTo="wc-plan-3"), plan(3, reason="RolledBack")]
    )
    assert unnoted_roll_backs(noted) == ()


def test_the_last_plan_that_proved_good_is_the_stable_one() -> None:
    states = plan_states([plan(1, proof="True"), plan(2, proof="True"), plan(3, proof="False")])
    assert stable_plan(states) == "wc-plan-2"
    assert stable_plan(states[:1]) == ""


def test_nothing_moves_for_a_while_after_a_roll_back_and_longer_after_the_next() -> None:
    assert not holds_still(plan_states([plan(1)]), APPLIED_S)
    once = plan_states([plan(2, reason="RolledBack")])
    assert holds_still(once, APPLIED_S + HOLD_S - 1)
    assert not holds_still(once, APPLIED_S + HOLD_S)
    twice = plan_states([plan(2, reason="RolledBack"), plan(4, reason="RolledBack")])
    assert holds_still(twice, APPLIED_S + 2 * HOLD_S - 1)
    assert not holds_still(twice, APPLIED_S + 2 * HOLD_S)


def test_a_plan_keeps_the_figures_that_its_promise_has_too() -> None:
    shown = {"at": "now", "latency": "9ms", "throughput": "1k/s", "crossDomain": "0%", "awake": "1"}
    assert measured_status(shown) == {"latency": "9ms", "throughput": "1k/s", "crossDomain": "0%"}
