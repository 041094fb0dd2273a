"""What changes by itself once there are measurements, and what waits to be asked."""

from collections.abc import Callable
from typing import Any

import pytest

from thalweg_ear import Ear
from thalweg_stories import Story, chain, standing, vertex
from thalweg_testbed import OPERATOR_USER, AuditLog, eventually
from thalweg_told_measuring import ToldMeasuring

pytestmark = pytest.mark.control_plane

NAME = "flow"
BUSY_PER_S = 2000.0
"""More than two tasks that do 1000 each should have to bear."""


def flow(story: Story, **spec: Any) -> dict[str, Any]:
    """Five tasks on the story's own nodes; nothing changes by itself unless asked for."""
    here = story.here
    vertices = (
        vertex("read", 1, **here),
        vertex("split", 2, least=2, most=4, **here),
        vertex("count", 2, least=2, most=4, **here),
    )
    still = {"placement": {"mode": "Off"}, "scaling": {"mode": "Off"}}
    return chain(NAME, *vertices, **{**still, **spec})


def scattered(story: Story) -> ToldMeasuring:
    """The topology runs, evenly over two domains that are far apart; now it is measured."""
    story.add_nodes(domains=2, per_domain=2)
    story.apply(flow(story))
    story.until_ready(NAME)
    assert len(domains(story)) == 2, "Even spreads"
    told = ToldMeasuring()
    story.measure(told)
    return told


def moving(mode: str, *, least_gain: int = 5) -> dict[str, Any]:
    return {
        "strategy": "Auto",
        "placement": {"mode": mode, "minGainPercent": least_gain},
        "scaling": {"mode": "Off", "cooldownSeconds": 0},
    }


def scaling(mode: str) -> dict[str, Any]:
    return {"scaling": {"mode": mode, "cooldownSeconds": 0, "scaleDownAfterSeconds": 0}}


def domains(story: Story) -> set[str]:
    """The domains that have a task: the node's name is the domain's, with a number."""
    return {node.rpartition("-")[0] for node in story.nodes_of(NAME).values()}


def proposed(story: Story) -> dict[str, Any]:
    """Wait for a plan that waits for its answer."""

    def newest() -> dict[str, Any] | None:
        plans = story.plans(NAME)
        return plans[-1] if plans and standing(plans[-1]) == "Proposed" else None

    found = story.until(newest, what="a plan that waits")
    assert found is not None
    return found


def uids(story: Story) -> set[str]:
    return {pod["metadata"]["uid"] for pod in story.pods(NAME)}


def heard(story: Story, ear: Ear) -> AuditLog:
    """What the operator wrote in the story's namespace, up to now."""
    story.kubectl("create", "configmap", "after")

    def log() -> AuditLog | None:
        found = ear.heard().within(story.namespace)
        return found if any(one.name == "after" for one in found) else None

    found = eventually(log, what="our own write in the audit log")
    assert found is not None
    return found.writes_by(OPERATOR_USER)


def test_a_gain_below_the_threshold_moves_nothing(story: Story) -> None:
    scattered(story)
    before = uids(story)
    story.apply(flow(story, **moving("Auto", least_gain=100)))
    story.until(
        lambda: story.condition(NAME, "PlacementOptimal")[1] == "WithinTolerance",
        what="a look that finds too little",
    )
    assert story.condition(NAME, "PlacementOptimal")[0] == "True"
    assert "at least 100 % are wanted" in story.condition(NAME, "PlacementOptimal")[2]
    story.until_still()
    assert (story.plans(NAME), uids(story)) == ([], before)
    # The same measurements move tasks as soon as less is enough.
    story.apply(flow(story, **moving("Auto")))
    story.until(
        lambda: [standing(plan) for plan in story.plans(NAME)] == ["Applied"],
        what="the plan to be carried out",
    )
    assert len(domains(story)) == 1


@pytest.mark.parametrize("kind", ["replicas", "moves"])
def test_recommend_writes_only_plans_and_status(story: Story, kind: str) -> None:
    told = scattered(story)
    if kind == "replicas":
        told.per_s = BUSY_PER_S
    story.apply(
        flow(story, **(scaling("Recommend") if kind == "replicas" else moving("Recommend")))
    )
    # The new spec is remembered first; all that comes after it is advice.
    story.until(
        lambda: story.topology(NAME)["status"].get("lastValidGeneration") == 2, what="generation 2"
    )
    for plan in story.plans(NAME):
        story.kubectl("delete", "splan", plan["metadata"]["name"])
    before = uids(story)
    ear = Ear(story.cluster)
    plan = proposed(story)
    assert plan["spec"][kind], "a plan of that kind"
    for _ in range(3):
        story.turn()
    written = {(one.verb, one.resource, one.subresource) for one in heard(story, ear)}
    assert ("create", "streamplans", "") in written
    allowed = {"streamplans", "streamplans/status", "streamtopologies/status", "events"}
    assert {f"{kind}/{part}".rstrip("/") for _, kind, part in written} <= allowed
    assert uids(story) == before
    assert standing(story.plans(NAME)[-1]) == "Proposed"


def _new_generation(story: Story, mode: str) -> None:
    story.apply(flow(story, **moving(mode, least_gain=6)))


def _lost_pod(story: Story, _: str) -> None:
    story.delete_pod(story.pod_of(NAME, "count-1"))


def _another_node(story: Story, _: str) -> None:
    story.add_nodes(domains=1, per_domain=1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_new_generation, "the topology has changed since"),
        (_lost_pod, "pods or nodes have changed since"),
        (_another_node, "pods or nodes have changed since"),
    ],
    ids=["generation", "pods", "nodes"],
)
def test_an_approval_lapses(story: Story, change: Callable[[Story, str], None], why: str) -> None:
    scattered(story)
    story.apply(flow(story, **moving("Approve")))
    first = proposed(story)
    before = story.nodes_of(NAME)
    for _ in range(3):
        story.turn()
    assert story.nodes_of(NAME) == before, "it waits"
    change(story, "Approve")
    story.approve(first)
    story.until(lambda: standing(story.plans(NAME)[0]) == "Lapsed", what="the plan to lapse")
    conditions = story.plans(NAME)[0]["status"]["conditions"]
    assert conditions[0]["message"] == why
    story.until_ready(NAME)
    stays = {task: node for task, node in before.items() if task != "count-1"}
    assert stays.items() <= story.nodes_of(NAME).items(), "an approval that lapsed moves nothing"


def test_an_approved_plan_is_applied(story: Story) -> None:
    scattered(story)
    story.apply(flow(story, **moving("Approve")))
    plan = proposed(story)
    wanted = {move["task"]: move["to"] for move in plan["spec"]["moves"]}
    assert wanted
    story.approve(plan)
    story.until(lambda: standing(story.plans(NAME)[0]) == "Applied", what="the plan applied")
    found = story.nodes_of(NAME)
    assert {task: found[task] for task in wanted} == wanted
    assert len(domains(story)) == 1
    story.until_ready(NAME)
    assert story.topology(NAME)["status"].get("runningPlan") in (None, "")
