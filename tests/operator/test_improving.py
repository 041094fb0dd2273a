"""What could be better: how many tasks first, then where they are, and when it is looked at."""

from typing import Any

import numpy as np
import pytest

from thalweg_operator.act.plans import PlanState, plan_states
from thalweg_operator.deciding import Situation
from thalweg_operator.improving import Improvement, improve, last_change_s
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.measured import Measured
from thalweg_operator.observe.survey import Wanted, survey
from thalweg_operator.report.status import timestamp
from thalweg_operator_worlds import (
    HASH,
    NOW_S,
    PATIENCE,
    TWO_NODES,
    by_name,
    look,
    pod,
    topology_spec,
    vertex_body,
)
from thalweg_scheduling.model.matrices import DependencyMatrix, NodeLatency, Observed, TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import NOTHING_TO_MOVE
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.strategies import STRATEGIES

SEEN = Observed(at_s=NOW_S, window_s=300.0, samples=60, coverage=1.0)
APART = ("n1", "n1", "n2")
"""Where read-0, split-0 and split-1 are."""
TOGETHER = ("n1", "n1", "n1")


def situation(
    where: tuple[str, ...], *, pods_since_s: float = NOW_S - 600, **spec: Any
) -> Situation:
    """One task that sends to two, on two nodes in two domains."""
    read = pod(0, vertex="read", on=where[0], created_at_s=pods_since_s)
    splits = [pod(index, on=name) for index, name in enumerate(where[1:])]
    reading = survey(
        Wanted(vertex="read", replicas=1, template_hash=HASH),
        [read],
        by_name(*TWO_NODES),
        PATIENCE,
        NOW_S,
    )
    return Situation(
        name="shop/word-count",
        spec=topology_spec(
            vertex_body("read", replicas=1),
            vertex_body("split"),
            **{"strategy": "Auto", "mode": "Auto", **spec},
        ),
        replicas={"read": 1, "split": 2},
        surveys={"read": reading, "split": look(*splits, replicas=2)},
        nodes=by_name(*TWO_NODES),
        ledger=Ledger((read, *splits)),
        now_s=NOW_S,
        weights={("read", "split"): {"split-0": 500.0, "split-1": 500.0}},
    )


def measured(per_s: float = 100.0) -> Measured:
    """Each task could do 1000 a second; a hop to the other domain takes 20 ms."""
    shares = np.array([per_s, per_s / 2, per_s / 2])
    still = np.zeros(3)
    loads = TaskLoad(
        cpu_cores=np.full(3, 0.01),
        memory_bytes=np.full(3, 1e6),
        busy_share=np.minimum(1.0, shares / 1000),
        backpressured_share=still,
        wait_s=np.full(3, 1e-4),
        processed_per_s=shares,
        true_rate_per_s=np.full(3, 1000.0),
        queue_tuples=still,
        observed=SEEN,
    )
    flows = {(0, 1): (per_s / 2, 50.0 * per_s), (0, 2): (per_s / 2, 50.0 * per_s)}
    traffic = DependencyMatrix.from_pairs(3, flows, SEEN)
    pairs = np.array([[np.nan, 0.02], [0.02, np.nan]])
    return Measured(
        traffic=traffic,
        recent_traffic=traffic,
        loads=loads,
        latency=NodeLatency(pairs_s=pairs, observed=SEEN),
        observed_at_s=NOW_S,
        coverage=1.0,
    )


def plan(kind: str, ago_s: float, *, standing: str = "Applied", reason: str = "") -> PlanState:
    at = timestamp(NOW_S - ago_s)
    body = {
        "metadata": {"name": "word-count-plan-1"},
        "spec": {kind: [{}], "decidedAt": at, "reasons": [{"reason": reason}]},
        "status": {"appliedAt": at, "conditions": [{"type": "Applied", "reason": standing}]},
    }
    return plan_states([body])[0]


def improved(of: Situation, *plans: PlanState, per_s: float = 100.0, **more: Any) -> Improvement:
    lull = Memory(at_s=NOW_S)
    return improve(of, measured(per_s), plans, memory=lull, **more)


def moved(found: Improvement) -> list[tuple[str, str]]:
    return [(move.task, move.target) for move in found.plan.moves]


def test_tasks_that_talk_come_together() -> None:
    found = improved(situation(APART))
    assert moved(found) == [("split-1", "n1")]
    assert found.cost_before > found.plan.objective
    assert found.looked_for_moves


def test_moves_are_looked_for_only_when_it_is_time() -> None:
    found = improved(situation(APART), look_for_moves=False)
    assert (moved(found), found.looked_for_moves) == ([], False)


def test_numbers_come_before_places() -> None:
    found = improved(situation(APART), per_s=3000.0)
    assert found.plan.replicas["split"] > 2
    assert (moved(found), found.looked_for_moves) == ([], False)


def test_hd_stream_hesitates_until_something_has_changed() -> None:
    hd = situation(TOGETHER, strategy="HdStream")
    first = improved(hd)
    assert first.plan.reasons[0] is NOTHING_TO_MOVE
    second = improve(hd, measured(), (), memory=first.plan.memory)
    third = improve(hd, measured(), (), memory=second.plan.memory)
    for found in (second, third):
        assert "network and stream changed by 0 %" in found.plan.reasons[0].message
    risen = improve(hd, measured(150.0), (), memory=third.plan.memory)
    assert risen.plan.reasons[0] is NOTHING_TO_MOVE


@pytest.mark.parametrize("strategy", sorted(STRATEGIES))
def test_every_strategy_is_asked_and_remembered(strategy: str) -> None:
    asked = situation(TOGETHER, strategy=strategy)
    first = improve(asked, measured(), ())
    assert first.plan.strategy == strategy
    assert first.looked_for_moves
    assert first.plan.reasons
    memory = first.plan.memory
    assert memory is not None
    assert memory.began_s == NOW_S - 600
    assert set(memory.queue_tuples) == {"read", "split"}
    second = improve(asked, measured(), (), memory=memory)
    assert second.plan.memory is not None
    assert second.plan.memory.began_s == NOW_S - 600
    assert second.plan.memory.placed_by is memory.placed_by


@pytest.mark.parametrize("pods_since_s", [NOW_S - 600, NOW_S - 800])
def test_md_stream_counts_from_the_oldest_pod(pods_since_s: float) -> None:
    md = situation(TOGETHER, strategy="MdStream", pods_since_s=pods_since_s)
    found = improve(md, measured(), ())
    settles = any("the topology settles" in reason.message for reason in found.plan.reasons)
    assert settles is (pods_since_s > NOW_S - 700)


SPREAD: dict[str, Any] = {"placement": {"minDomains": 2}}


def test_what_a_scaling_tore_is_mended_at_once() -> None:
    torn = situation(TOGETHER, **SPREAD)
    found = improved(torn, plan("replicas", 30.0), look_for_moves=False)
    assert len(found.plan.moves) == 1
    assert found.looked_for_moves


def test_what_was_torn_by_something_else_waits_for_the_next_look() -> None:
    torn = situation(TOGETHER, **SPREAD)
    assert not improved(torn, look_for_moves=False).plan.moves
    assert not improved(torn, plan("replicas", 3600.0), look_for_moves=False).plan.moves
    assert len(improved(torn).plan.moves) == 1


def test_a_scaling_that_tore_nothing_starts_no_look() -> None:
    whole = situation(APART, **SPREAD)
    found = improved(whole, plan("replicas", 30.0), look_for_moves=False)
    assert not found.looked_for_moves


def test_after_a_roll_back_nothing_moves() -> None:
    undone = plan("moves", 100.0, reason=str(ReasonCode.ROLLED_BACK))
    held = improved(situation(APART, scaling={"cooldownSeconds": 0}), undone)
    assert moved(held) == []
    long_ago = plan("moves", 3600.0, reason=str(ReasonCode.ROLLED_BACK))
    assert moved(improved(situation(APART), long_ago)) == [("split-1", "n1")]


@pytest.mark.parametrize("others", [(), ("split",)])
def test_hands_off_a_vertex_that_others_scale(others: tuple[str, ...]) -> None:
    found = improved(situation(TOGETHER), per_s=3000.0, scaled_by_others=others)
    assert ("split" in found.plan.replicas) is not bool(others)


@pytest.mark.parametrize(
    ("found", "at_s"),
    [
        ((), None),
        ((plan("moves", 9.0),), None),
        ((plan("replicas", 9.0),), NOW_S - 9.0),
        ((plan("replicas", 9.0, standing="Proposed"),), None),
        ((plan("replicas", 90.0), plan("replicas", 9.0)), NOW_S - 9.0),
    ],
)
def test_when_it_was_last_scaled(found: tuple[PlanState, ...], at_s: float | None) -> None:
    assert last_change_s(found, "replicas") == at_s
