"""How far a plan has come is read from the cluster, never remembered."""

from typing import Any

import pytest

from thalweg_operator.act.plans import PlanState
from thalweg_operator.act.progress import progress_of, task_key
from thalweg_operator.naming import ACTIVE, INCARNATION, RETIRING, STATE, TASK, VERTEX, TaskKey
from thalweg_operator.observe.facts import PodFact, pod_fact
from thalweg_operator_worlds import shared_pod


def pod(
    task: str,
    node: str | None,
    *,
    incarnation: int = 1,
    ready: bool = True,
    state: str = ACTIVE,
    planned: str | None = None,
) -> PodFact:
    vertex, _, index = task.rpartition("-")
    labels = {VERTEX: vertex, TASK: index, INCARNATION: str(incarnation), STATE: state}
    body: dict[str, Any] = {
        "metadata": {
            "name": f"wc-{task}-{incarnation}",
            "uid": f"{task}-{incarnation}",
            "labels": labels,
            "annotations": {"thalweg.dev/planned-node": planned} if planned else {},
        },
        "spec": {"nodeName": node, "containers": []},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }
    return pod_fact(body)


def plan(
    moves: list[tuple[str, str, str]] | None = None,
    replicas: list[tuple[str, int, int]] | None = None,
    weights: dict[str, int] | None = None,
) -> PlanState:
    shares = [{"task": task, "perMille": share} for task, share in (weights or {}).items()]
    spec = {
        "weights": [{"from": "split", "to": "count", "shares": shares}] if weights else [],
        "moves": [{"task": t, "from": a, "to": b} for t, a, b in moves or ()],
        "replicas": [{"vertex": v, "from": a, "to": b} for v, a, b in replicas or ()],
    }
    return PlanState(name="wc-plan-1", number=1, body={"spec": spec})


TWO_MOVES = [("split-0", "a", "b"), ("split-1", "a", "c")]
FOUR = {"split": 4}


@pytest.mark.parametrize(
    ("pods", "budget", "done", "targets"),
    [
        pytest.param([pod("split-0", "a"), pod("split-1", "a")], 2, 0, {0: "b", 1: "c"}, id="both"),
        pytest.param([pod("split-0", "a"), pod("split-1", "a")], 1, 0, {0: "b"}, id="in order"),
        pytest.param([pod("split-0", "a"), pod("split-1", "a")], 0, 0, {}, id="no budget"),
        pytest.param([pod("split-0", "b"), pod("split-1", "a")], 1, 1, {1: "c"}, id="next one"),
        pytest.param([pod("split-0", "b"), pod("split-1", "c")], 1, 2, {}, id="all done"),
        pytest.param(
            [
                pod("split-0", "a"),
                pod("split-1", "a"),
                pod("split-1", "c", incarnation=2, ready=False),
            ],
            1,
            0,
            {1: "c"},
            id="what has begun goes first",
        ),
        pytest.param(
            [pod("split-0", "a"), pod("split-1", None, incarnation=2, planned="c", ready=False)],
            1,
            0,
            {1: "c"},
            id="begun but not bound",
        ),
        pytest.param([pod("split-0", "d"), pod("split-1", "a")], 1, 1, {1: "c"}, id="overtaken"),
        pytest.param(
            [pod("split-0", "b", state=RETIRING), pod("split-1", "a")],
            2,
            0,
            {0: "b", 1: "c"},
            id="a retiring pod does not count",
        ),
    ],
)
def test_moves_are_taken_in_order_within_the_budget(
    pods: list[PodFact], budget: int, done: int, targets: dict[int, str]
) -> None:
    found = progress_of(plan(TWO_MOVES), FOUR, pods, budget)
    assert found.done == done
    assert found.total == 2
    wanted = {TaskKey(vertex="split", index=index): node for index, node in targets.items()}
    assert found.targets == wanted
    assert found.is_complete == (done == 2)


def test_a_task_that_was_scaled_away_need_not_move() -> None:
    found = progress_of(plan(TWO_MOVES), {"split": 1}, [pod("split-0", "b")], 2)
    assert found.is_complete


@pytest.mark.parametrize(
    ("now", "done", "left", "overtaken"),
    [(2, 0, 1, False), (4, 1, 0, False), (3, 1, 0, True)],
)
def test_scales_are_done_left_or_overtaken(
    now: int, done: int, left: int, *, overtaken: bool
) -> None:
    found = progress_of(plan(replicas=[("split", 2, 4)]), {"split": now}, [], 2)
    assert found.done == done
    assert len(found.scales) == left
    assert bool(found.overtaken) is overtaken
    if overtaken:
        assert "3 tasks now" in found.overtaken


def test_nothing_moves_before_the_numbers_are_set() -> None:
    both = plan(TWO_MOVES, [("count", 1, 2)])
    found = progress_of(both, {"split": 4, "count": 1}, [pod("split-0", "a")], 2)
    assert found.targets == {}
    assert [step.vertex for step in found.scales] == ["count"]


def test_task_names_may_hold_dashes() -> None:
    assert task_key("read-lines-12") == TaskKey(vertex="read-lines", index=12)


@pytest.mark.parametrize(
    ("routed", "done"),
    [
        pytest.param({"count-0": 1.0, "count-1": 1.0}, 0, id="as before"),
        pytest.param({"count-0": 700.0, "count-1": 300.0}, 1, id="as planned"),
        pytest.param({"count-0": 700.0}, 1, id="one does not serve at the moment"),
        pytest.param({"count-0": 700.0, "count-1": 300.0, "count-2": 9.0}, 1, id="one more"),
    ],
)
def test_weights_are_done_when_the_routes_have_them(routed: dict[str, float], done: int) -> None:
    edge = ("split", "count")
    planned = plan(weights={"count-0": 700, "count-1": 300})
    found = progress_of(planned, FOUR, [], 2, routed={edge: routed})
    assert (found.done, found.total) == (done, 1)
    assert found.weights == ({} if done else {edge: {"count-0": 700.0, "count-1": 300.0}})


def test_a_process_that_has_moved_has_taken_all_its_tasks_along() -> None:
    moves = plan([("read-0", "a", "b"), ("split-0", "a", "b")])
    counts = {"read": 1, "split": 1}
    there = shared_pod(0, 2, "read-0", "split-0", on="b")
    before = shared_pod(0, 1, "read-0", "split-0", on="a")
    found = progress_of(moves, counts, [before], 1)
    assert (found.done, list(found.targets.values())) == (0, ["b"])
    assert progress_of(moves, counts, [before, there], 1).is_complete


def test_a_refused_process_ends_the_plan() -> None:
    moves = plan([("split-0", "a", "b")])
    refused = shared_pod(0, 2, "read-0", "split-0", on=None, planned="b", unschedulable_since_s=5.0)
    found = progress_of(moves, {"split": 1}, [refused], 1, refused_before_s=9.0)
    assert found.overtaken == "kube-scheduler refuses split-0 on b"
