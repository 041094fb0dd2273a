"""What a status says is true, and says what to do about it."""

from dataclasses import replace
from typing import Any

import pytest

from thalweg_operator.naming import Process, TaskKey, tasks_named
from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.survey import Survey, Wanted, Wish, survey_shared
from thalweg_operator.report.status import (
    Decision,
    Judgement,
    Outcome,
    VertexView,
    timestamp,
    topology_status,
    vertex_status,
)
from thalweg_operator_worlds import (
    HASH,
    NOW_S,
    PATIENCE,
    TOPOLOGY,
    TWO_NODES,
    by_name,
    look,
    pod,
    shared_pod,
)

VALID = Judgement(generation=3, in_force=3)
DOMAINS = {"n1": "a", "n2": "b", "n9": ""}


def wanted(replicas: int, *, vertex: str = "split") -> Wanted:
    return Wanted(vertex=vertex, replicas=replicas, template_hash=HASH)


def outcome(*pods: PodFact, replicas: int = 2, **more: Any) -> Outcome:
    found = Outcome(
        judgement=VALID,
        wanted=(wanted(replicas),),
        surveys={"split": look(*pods, replicas=replicas)},
        domains=DOMAINS,
    )
    return replace(found, **more)


def said(found: Outcome, kind: str, before: dict[str, Any] | None = None) -> tuple[str, str, str]:
    conditions = topology_status(before or {}, found, NOW_S)["conditions"]
    (one,) = [one for one in conditions if one["type"] == kind]
    return one["status"], one["reason"], one["message"]


NOBODY = Judgement(generation=3, in_force=None, reason="Cycle", message="a → a")
KEPT = Judgement(generation=3, in_force=2, reason="Cycle", message="a → a")


@pytest.mark.parametrize(
    ("found", "status", "reason", "message"),
    [
        (outcome(pod(0), pod(1)), "True", "AllTasksReady", "all 2 tasks are ready"),
        (
            outcome(pod(0), pod(1, ready=False)),
            "False",
            "TasksNotReady",
            "1 of 2 tasks are ready; waiting for split-1",
        ),
        (
            outcome(pod(0), pod(1, ready=False, failure="ImagePullBackOff")),
            "False",
            "TasksNotReady",
            "1 of 2 tasks are ready; waiting for split-1 (ImagePullBackOff)",
        ),
        (
            outcome(replicas=6),
            "False",
            "TasksNotReady",
            "0 of 6 tasks are ready; waiting for split-0, split-1, split-2 and 3 more",
        ),
        (
            outcome(pod(0), pod(1, deleting=True), replicas=0, suspended=True),
            "False",
            "Suspended",
            "suspended; 2 pods are still leaving",
        ),
        (outcome(replicas=0, suspended=True), "False", "Suspended", "suspended"),
        (
            outcome(judgement=NOBODY, wanted=(), surveys={}),
            "False",
            "Invalid",
            "there is no valid spec to carry out: a → a",
        ),
        (
            outcome(pod(0), pod(1), judgement=KEPT),
            "True",
            "AllTasksReady",
            "all 2 tasks are ready",
        ),
        (
            outcome(pod(0, template_hash="old"), pod(1), pod(0, 2, ready=False)),
            "True",
            "AllTasksReady",
            "all 2 tasks are ready",
        ),
    ],
    ids=[
        "all ready",
        "one starts",
        "one fails",
        "none there",
        "suspending",
        "suspended",
        "never valid",
        "last valid spec in force",
        "rolling",
    ],
)
def test_ready(found: Outcome, status: str, reason: str, message: str) -> None:
    assert said(found, "Ready") == (status, reason, message)


@pytest.mark.parametrize(
    ("judgement", "status", "reason"),
    [(VALID, "True", "Valid"), (NOBODY, "False", "Cycle"), (KEPT, "False", "Cycle")],
)
def test_valid(judgement: Judgement, status: str, reason: str) -> None:
    assert said(outcome(judgement=judgement), "Valid")[:2] == (status, reason)


WAITING = pod(1, on=None, unschedulable_since_s=NOW_S)


@pytest.mark.parametrize(
    ("found", "status", "reason", "message"),
    [
        (outcome(pod(0), pod(1)), "True", "Fits", "every task has room on a node"),
        (outcome(missing=("no room",)), "False", "Infeasible", "no room"),
        (
            outcome(missing=("no room", "nor there", "nor here")),
            "False",
            "Infeasible",
            "3 tasks fit nowhere: no room",
        ),
        (
            outcome(pod(0), WAITING),
            "False",
            "Unschedulable",
            "kube-scheduler finds no node for split-1",
        ),
        (
            outcome(judgement=NOBODY),
            "Unknown",
            "Invalid",
            "there is no valid spec to find room for",
        ),
    ],
)
def test_scheduled(found: Outcome, status: str, reason: str, message: str) -> None:
    assert said(found, "Scheduled") == (status, reason, message)


@pytest.mark.parametrize(
    ("trouble", "status", "reason"),
    [("", "False", "AsExpected"), ("quota exceeded", "True", "TurnFailed")],
)
def test_degraded(trouble: str, status: str, reason: str) -> None:
    found = said(outcome(trouble=trouble), "Degraded")
    assert found[:2] == (status, reason)
    assert trouble in found[2]


def test_degraded_while_numpy_stands_in() -> None:
    found = said(outcome(stands_in="the Spark child ended with exit code -9"), "Degraded")
    message = "numpy condenses in Spark's place: the Spark child ended with exit code -9"
    assert found == ("True", "SparkUnavailable", message)
    both = said(outcome(stands_in="x", trouble="quota exceeded"), "Degraded")
    assert both[1] == "TurnFailed", "what hinders the topology itself goes first"


def test_counts() -> None:
    status = topology_status({}, outcome(pod(0), pod(1, on="n2"), replicas=3), NOW_S)
    assert status["tasks"] == {"desired": 3, "ready": 2, "summary": "2/3"}
    assert status["vertices"] == [{"name": "split", "desired": 3, "ready": 2, "domains": 2}]
    assert (status["observedGeneration"], status["lastValidGeneration"]) == (3, 3)


def test_a_node_without_a_domain_counts_as_none() -> None:
    survey = look(pod(0), pod(1, 1), replicas=2)
    found = replace(outcome(), surveys={"split": survey}, domains={"n1": ""})
    assert topology_status({}, found, NOW_S)["vertices"][0]["domains"] == 0


def test_a_generation_that_never_was_valid_is_not_named() -> None:
    assert "lastValidGeneration" not in topology_status({}, outcome(judgement=NOBODY), NOW_S)


def test_decisions_are_kept_newest_first_and_only_ten() -> None:
    before = {"decisions": [{"at": "x", "reason": str(n), "message": ""} for n in range(10)]}
    found = outcome(decision=Decision(reason="FirstPlacement", message="m" * 2000))
    status = topology_status(before, found, NOW_S)
    assert [one["reason"] for one in status["decisions"]] == [
        "FirstPlacement",
        *map(str, range(9)),
    ]
    assert status["lastDecision"] == status["decisions"][0]
    assert status["lastDecision"]["at"] == timestamp(NOW_S) == "2026-03-01T12:00:00Z"
    assert len(status["lastDecision"]["message"].encode()) <= 1024


def test_no_decision_leaves_the_last_one() -> None:
    status = topology_status({"decisions": [{}], "lastDecision": {}}, outcome(), NOW_S)
    assert not {"decisions", "lastDecision"} & set(status)


def test_a_second_look_says_the_same() -> None:
    found = outcome(pod(0), pod(1, ready=False))
    once = topology_status({}, found, NOW_S)
    assert topology_status(once, found, NOW_S + 60) == once


def vertex(
    found: Survey, replicas: int, before: dict[str, Any] | None = None, now_s: float = NOW_S
) -> dict[str, Any]:
    view = VertexView(
        topology=TOPOLOGY, generation=4, before=before or {}, domains=DOMAINS, now_s=now_s
    )
    return vertex_status(wanted(replicas), found, view)


def test_a_vertex_whose_tasks_share_pods() -> None:
    unit = Process(index=0, tasks=tasks_named(["split-0", "read-0", "split-1"]))
    there = shared_pod(0, 7, "split-0", "read-0", "split-1")
    nodes = by_name(*TWO_NODES)
    found = survey_shared({unit: Wish(template_hash=HASH)}, [there], nodes, PATIENCE, NOW_S)
    told = replace(wanted(2), shared_hashes=dict.fromkeys(unit.tasks, HASH), template_hash="plain")
    view = VertexView(topology=TOPOLOGY, generation=4, before={}, domains=DOMAINS, now_s=NOW_S)
    status = vertex_status(told, found.part("split"), view)
    counted = [status[name] for name in ("replicas", "readyReplicas", "updatedReplicas")]
    assert counted == [2, 2, 2], "tasks, not pods"
    assert [line["incarnation"] for line in status["tasks"]] == [7, 7]
    assert status["selector"] == (
        "thalweg.dev/hosts-split,thalweg.dev/state=active,thalweg.dev/topology=word-count"
    )


def test_vertex() -> None:
    pods = (pod(0, 3), pod(1, 4, on="n2", template_hash="old"), pod(2, 5, on=None, planned="n1"))
    status = vertex(look(*pods, replicas=4), 4)
    assert len(status.pop("conditions")) == 1
    assert status == {
        "observedGeneration": 4,
        "replicas": 3,
        "readyReplicas": 2,
        "updatedReplicas": 2,
        "selector": "thalweg.dev/state=active,thalweg.dev/topology=word-count,"
        "thalweg.dev/vertex=split",
        "templateHash": HASH,
        "tasks": [
            {"index": 0, "incarnation": 3, "templateHash": HASH, "node": "n1", "domain": "a"},
            {"index": 1, "incarnation": 4, "templateHash": "old", "node": "n2", "domain": "b"},
            {"index": 2, "incarnation": 5, "templateHash": HASH, "node": "n1", "domain": "a"},
        ],
    }


@pytest.mark.parametrize(
    ("found", "replicas", "answer"),
    [
        (look(pod(0)), 1, ("True", "AllTasksReady", "all 1 tasks are ready")),
        (
            look(pod(0), replicas=2),
            2,
            ("False", "TasksNotReady", "1 of 2 tasks are ready; waiting for split-1"),
        ),
        (
            look(pod(0), replicas=0),
            0,
            ("False", "Suspended", "suspended; 1 pods are still leaving"),
        ),
    ],
)
def test_a_vertex_is_ready(found: Survey, replicas: int, answer: tuple[str, str, str]) -> None:
    (one,) = vertex(found, replicas)["conditions"]
    assert (one["type"], one["observedGeneration"]) == ("Ready", 4)
    assert (one["status"], one["reason"], one["message"]) == answer


def test_a_second_look_at_a_vertex_says_the_same() -> None:
    once = vertex(look(pod(0)), 1)
    assert vertex(look(pod(0)), 1, before=once, now_s=NOW_S + 60) == once


def test_a_task_is_where_it_is_served_until_its_successor_is_ready() -> None:
    found = look(pod(0, 1, template_hash="old"), pod(0, 2, on="n2", ready=False))
    status = vertex(found, 1)
    assert [line["incarnation"] for line in status["tasks"]] == [1]
    assert status["updatedReplicas"] == 1


def test_a_pod_without_any_node_has_none_in_its_line() -> None:
    (line,) = vertex(look(pod(0, 1, on=None)), 1)["tasks"]
    assert set(line) == {"index", "incarnation", "templateHash"}


def test_an_unknown_task_key_never_appears() -> None:
    found = look(pod(0), pod(7), replicas=1)
    assert list(found.holders) == [TaskKey(vertex="split", index=0)]
    assert len(vertex(found, 1)["tasks"]) == 1
