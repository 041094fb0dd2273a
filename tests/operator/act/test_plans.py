"""A decision is written down as a StreamPlan and read back from it."""

import math
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import pytest

from thalweg_operator.act.manifests import Owner
from thalweg_operator.act.plans import (
    Proposal,
    Standing,
    may_run,
    next_number,
    plan_manifest,
    plan_states,
    predicted,
    superfluous,
)
from thalweg_operator.api.topology import Mode
from thalweg_scheduling.model.plan import Move, Plan, Prediction
from thalweg_scheduling.model.reasons import Reason, ReasonCode

OWNER = Owner(api_version="thalweg.dev/v1alpha1", kind="StreamTopology", name="wc", uid="u1")


def body(number: int, standing: str = "", *, approved: bool = False) -> dict[str, Any]:
    conditions = [{"type": "Applied", "reason": standing}] if standing else []
    return {
        "metadata": {"name": f"wc-plan-{number}"},
        "spec": {"approved": approved},
        "status": {"conditions": conditions},
    }


def proposal(plan: Plan) -> Proposal:
    return Proposal(
        plan=plan,
        generation=3,
        fingerprint="f",
        decided_at="2026-01-01T00:00:00Z",
        summary="move split-0 a → b",
        replicas_now={"split": 2},
        cost_before=10.0,
    )


def test_a_plan_says_what_why_and_what_it_promises() -> None:
    plan = Plan(
        strategy="Auto",
        assignments=MappingProxyType({"split-0": "b"}),
        moves=(Move(task="split-0", source="a", target="b"),),
        replicas=MappingProxyType({"split": 4}),
        objective=8.0,
        reasons=(Reason(code=ReasonCode.MOVED, message="less J"),),
    )
    made = plan_manifest("ns", OWNER, 7, proposal(plan))
    assert made["metadata"]["name"] == "wc-plan-7"
    assert made["metadata"]["ownerReferences"][0]["uid"] == "u1"
    spec = made["spec"]
    assert spec["moves"] == [{"task": "split-0", "from": "a", "to": "b"}]
    assert spec["replicas"] == [{"vertex": "split", "from": 2, "to": 4}]
    assert spec["assignments"] == [{"task": "split-0", "node": "b"}]
    assert spec["reasons"] == [{"reason": "Moved", "message": "less J"}]
    assert spec["predicted"] == {"cost": "8", "costBefore": "10", "gain": "20%"}


def test_what_is_not_known_is_left_out() -> None:
    unknown = Prediction(
        latency_s=math.nan,
        throughput_per_s=math.nan,
        cross_domain_share=0.06,
        busiest_node=math.nan,
        nodes_used=3,
    )
    assert predicted(unknown, math.nan, math.nan) == {"crossDomain": "6%", "nodes": 3}


def test_states_are_newest_first_and_numbered_on() -> None:
    states = plan_states([body(2), body(10), {"metadata": {"name": "stranger"}}, body(9)])
    assert [state.number for state in states] == [10, 9, 2]
    assert next_number(states) == 11
    assert next_number(()) == 1


@pytest.mark.parametrize("word", list(Standing))
def test_the_standing_is_the_reason_of_the_condition(word: Standing) -> None:
    (state,) = plan_states([body(1, str(word))])
    assert state.standing is word


def test_a_fresh_plan_is_proposed() -> None:
    (state,) = plan_states([body(1)])
    assert state.standing is Standing.PROPOSED


@pytest.mark.parametrize(
    ("mode", "approved", "runs"),
    [
        (Mode.AUTO, False, True),
        (Mode.RECOMMEND, False, False),
        (Mode.RECOMMEND, True, True),
        (Mode.APPROVE, False, False),
        (Mode.APPROVE, True, True),
        (Mode.OFF, True, False),
    ],
)
def test_who_may_run(mode: Mode, *, approved: bool, runs: bool) -> None:
    (state,) = plan_states([body(1, approved=approved)])
    assert may_run(state, mode) is runs


def test_the_last_ten_and_what_runs_are_kept() -> None:
    states = plan_states([body(n, "Running" if n == 2 else "Applied") for n in range(1, 14)])
    assert [state.number for state in superfluous(states)] == [3, 1]


def test_a_plan_says_who_shares_a_pod() -> None:
    plan = Plan(strategy="Auto", assignments=MappingProxyType({"read-0": "a", "split-0": "b"}))
    shared = replace(proposal(plan), processes={"split-0": 3})
    assert plan_manifest("ns", OWNER, 7, shared)["spec"]["assignments"] == [
        {"task": "read-0", "node": "a"},
        {"task": "split-0", "node": "b", "process": 3},
    ]
