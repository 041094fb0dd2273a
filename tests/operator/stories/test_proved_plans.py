"""A plan is judged by what came of it, and one that made things worse is taken back by itself."""

from typing import Any

import pytest

from thalweg_stories import Story, chain, standing, vertex
from thalweg_told_measuring import ToldMeasuring

pytestmark = pytest.mark.control_plane

NAME = "flow"
BEFORE_S, WORSE_S = 0.02, 0.05


def flow(story: Story, **spec: Any) -> dict[str, Any]:
    """Five tasks on the story's own nodes."""
    here = story.here
    vertices = (vertex("read", 1, **here), vertex("split", 2, **here), vertex("count", 2, **here))
    return chain(NAME, *vertices, scaling={"mode": "Off", "cooldownSeconds": 0}, **spec)


def moved(story: Story) -> tuple[ToldMeasuring, dict[str, str]]:
    """Spread evenly, measured, and moved together; returns where the tasks were before."""
    story.add_nodes(domains=2, per_domain=2)
    story.apply(flow(story, placement={"mode": "Off"}))
    story.until_ready(NAME)
    before = story.nodes_of(NAME)
    told = ToldMeasuring(latency_s=BEFORE_S)
    story.measure(told)
    story.apply(flow(story, strategy="Auto", placement={"mode": "Auto"}))
    story.until(
        lambda: [standing(plan) for plan in story.plans(NAME)] == ["Applied"], what="a move"
    )
    assert story.nodes_of(NAME) != before
    return told, before


def proof(plan: dict[str, Any]) -> tuple[str, str, str] | None:
    for condition in plan["status"]["conditions"]:
        if condition["type"] == "Verified":
            return condition["status"], condition["reason"], condition["message"]
    return None


def test_a_plan_that_made_it_worse_is_taken_back(story: Story) -> None:
    told, before = moved(story)
    told.latency_s = WORSE_S
    story.until(
        lambda: [standing(plan) for plan in story.plans(NAME)] == ["Applied", "Applied"],
        what="the roll-back",
    )
    assert story.nodes_of(NAME) == before
    worse, back = story.plans(NAME)
    assert proof(worse) == ("False", "Worse", "latency is 50ms instead of 20ms")
    assert worse["status"]["measured"]["latency"] == "50ms"
    assert worse["status"]["rolledBackTo"] == back["metadata"]["name"]
    assert back["spec"]["reasons"][0]["reason"] == "RolledBack"
    assert "flow-plan-1 is undone: latency is 50ms" in back["spec"]["summary"]
    assert story.topology(NAME)["status"]["lastDecision"]["reason"] == "RolledBack"

    # What it went back to is proved in its turn, and J does not lure it away again.
    told.latency_s = BEFORE_S
    story.until(
        lambda: story.topology(NAME)["status"].get("stablePlan") == "flow-plan-2",
        what="the roll-back to prove good",
    )
    for _ in range(4):
        story.turn()
    assert len(story.plans(NAME)) == 2
    assert story.nodes_of(NAME) == before


def test_a_plan_that_kept_its_promise_is_the_stable_one(story: Story) -> None:
    told, before = moved(story)
    told.latency_s = 0.004
    story.until(
        lambda: story.topology(NAME)["status"].get("stablePlan") == "flow-plan-1",
        what="the plan to prove good",
    )
    (plan,) = story.plans(NAME)
    assert proof(plan) is not None
    assert plan["status"]["measured"]["latency"] == "4ms"
    assert plan["status"]["measured"]["crossDomain"] == "0%"
    assert story.nodes_of(NAME) != before


def test_what_cannot_be_measured_proves_nothing(story: Story) -> None:
    told, before = moved(story)
    told.latency_s = float("nan")
    story.restart(prove_after_s=0.0)
    for _ in range(4):
        story.turn()
    (plan,) = story.plans(NAME)
    assert proof(plan) is None
    assert story.nodes_of(NAME) != before
    told.latency_s = BEFORE_S
    story.until(lambda: proof(story.plans(NAME)[0]) is not None, what="the plan to be judged")
