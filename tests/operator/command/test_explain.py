"""`thalweg explain` says why, and what to do."""

from typing import Any

import pytest

from thalweg_operator.command.explaining import explanation


def topology(mode: str = "Auto", **status: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "wc"},
        "spec": {"strategy": "Auto", "mode": mode},
        "status": status,
    }


def plan(number: int, **spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": f"wc-plan-{number}"},
        "spec": {"decidedAt": "now", "strategy": "Auto", "generation": 1, **spec},
    }


def condition(kind: str, status: str) -> dict[str, str]:
    return {"type": kind, "status": status, "reason": "Why", "message": f"{kind} is {status}"}


MEASURED = [condition("Valid", "True"), condition("MetricsAvailable", "True")]


def said(of: dict[str, Any], *plans: dict[str, Any]) -> str:
    return "\n".join(explanation(of, plans))


def test_before_the_operator_has_looked() -> None:
    text = said(topology())
    assert "has not looked" in text
    assert "No plan" in text


def test_the_newest_plan_is_told_with_reasons_and_promises() -> None:
    newest = plan(
        10,
        reasons=[{"reason": "Moved", "message": "less J"}],
        replicas=[{"vertex": "split", "from": 2, "to": 4}],
        moves=[{"task": f"split-{n}", "from": "a", "to": "b"} for n in range(12)],
        predicted={"gain": "20%"},
    )
    text = said(topology(conditions=MEASURED), plan(9), newest)
    assert "wc-plan-10, is proposed" in text
    assert "because Moved: less J" in text
    assert "split: 2 → 4 tasks" in text
    assert "split-0 moves from a to b" in text
    assert "and 2 more moves" in text
    assert "it promises gain 20%" in text


def test_what_came_of_a_plan_is_told() -> None:
    proved = plan(3, predicted={"latency": "9ms"})
    proved["status"] = {
        "measured": {"latency": "30ms"},
        "conditions": [condition("Applied", "True"), condition("Verified", "False")],
    }
    text = said(topology(conditions=MEASURED), proved)
    assert "it promises latency 9ms" in text
    assert "afterwards latency 30ms" in text
    assert "Why: Verified is False" in text


@pytest.mark.parametrize(
    ("mode", "conditions", "words"),
    [
        ("Auto", [condition("Valid", "False")], "correct the spec"),
        ("Auto", [condition("MetricsAvailable", "False")], "measurements are missing"),
        ("Recommend", MEASURED, "kubectl patch splan wc-plan-1"),
        ("Auto", MEASURED, "changes when what is measured does"),
    ],
)
def test_it_says_what_would_change_it(
    mode: str, conditions: list[dict[str, str]], words: str
) -> None:
    assert words in said(topology(mode, conditions=conditions), plan(1))


def test_figures_and_decisions() -> None:
    text = said(
        topology(
            conditions=MEASURED,
            measured={"at": "noon", "latency": "18ms", "crossDomain": "6%"},
            decisions=[{"at": "noon", "reason": "ScaledUp", "message": "2→4", "plan": "wc-plan-1"}],
        )
    )
    assert "Measured at noon: latency 18ms, crossDomain 6%." in text
    assert "noon ScaledUp: 2→4 [wc-plan-1]" in text
