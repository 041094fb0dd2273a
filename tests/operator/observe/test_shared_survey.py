"""Pods that tasks share: judged as a whole, served task by task."""

from dataclasses import replace

from thalweg_operator.naming import Process, TaskKey, Unit, tasks_named
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.survey import Survey, Why, Wish, survey_shared
from thalweg_operator_worlds import (
    HASH,
    NOW_S,
    PATIENCE,
    TWO_NODES,
    by_name,
    node,
    pod,
    shared_pod,
)

OLD = "old"
AB = Process(index=0, tasks=tasks_named(["a-0", "b-0"]))
C = Process(index=1, tasks=tasks_named(["c-0"]))


def look(
    *pods: PodFact,
    units: tuple[Unit, ...] = (AB,),
    nodes: tuple[NodeFact, ...] = TWO_NODES,
    surge: int = 1,
    target: str | None = None,
) -> Survey:
    wishes = {unit: Wish(template_hash=HASH, target=target) for unit in units}
    patience = replace(PATIENCE, surge=surge)
    return survey_shared(wishes, pods, by_name(*nodes), patience, NOW_S)


def serving(found: Survey) -> dict[str, str]:
    return {task.name: one.name.removeprefix("word-count-") for task, one in found.serving.items()}


def needed(found: Survey) -> list[tuple[str, Why]]:
    return [(need.task.name, need.why) for need in found.needs]


def left(found: Survey) -> tuple[list[str], list[str]]:
    retire = [end.pod.name.removeprefix("word-count-") for end in found.retire]
    return retire, [end.pod.name.removeprefix("word-count-") for end in found.delete]


def test_a_pod_serves_all_its_tasks() -> None:
    found = look(shared_pod(0, 1, "a-0", "b-0"))
    assert serving(found) == {"a-0": "p0-1", "b-0": "p0-1"}
    assert (needed(found), left(found), found.waiting) == ([], ([], []), ())
    assert {task.name for task in found.holders} == {"a-0", "b-0"}


def test_a_process_without_a_pod_needs_one_for_all_its_tasks() -> None:
    found = look()
    assert needed(found) == [("p0", Why.FIRST)]
    assert found.needs[0].task == AB
    assert [task.name for task in found.waiting] == ["a-0", "b-0"]


def test_a_task_without_a_process_needs_a_pod() -> None:
    alone = TaskKey(vertex="d", index=0)
    found = look(shared_pod(0, 3, "a-0", "b-0"), units=(AB, alone))
    assert needed(found) == [("d-0", Why.FIRST)]
    assert found.needs[0].after == 3
    assert found.waiting == (alone,)


def test_a_pod_on_a_lost_node_is_replaced_whole() -> None:
    found = look(shared_pod(0, 1, "a-0", "b-0", on="gone"))
    assert needed(found) == [("p0", Why.NODE_LOST)]
    assert left(found) == ([], ["p0-1"])
    assert serving(found) == {}


def test_a_change_is_made_before_the_old_pod_leaves() -> None:
    old = shared_pod(0, 1, "a-0", "b-0", "x-0", template_hash=OLD)
    found = look(old)
    assert needed(found) == [("p0", Why.CHANGED)]
    assert (serving(found), left(found)) == ({"a-0": "p0-1", "b-0": "p0-1"}, ([], []))
    coming = look(old, shared_pod(0, 2, "a-0", "b-0", ready=False))
    assert (needed(coming), left(coming)) == ([], ([], []))
    there = look(old, shared_pod(0, 2, "a-0", "b-0"))
    assert left(there) == (["p0-1"], [])
    assert set(serving(there).values()) == {"p0-2"}


def test_a_pod_stays_while_it_alone_serves_a_task_that_goes_over() -> None:
    old = shared_pod(0, 1, "a-0", "b-0", "c-0", template_hash=OLD)
    new = shared_pod(0, 2, "a-0", "b-0")
    before = look(old, new, units=(AB, C))
    assert serving(before) == {"a-0": "p0-2", "b-0": "p0-2", "c-0": "p0-1"}
    assert (needed(before), left(before)) == ([("p1", Why.FIRST)], ([], []))
    starting = look(old, new, shared_pod(1, 3, "c-0", ready=False), units=(AB, C))
    assert (serving(starting)["c-0"], left(starting)) == ("p0-1", ([], []))
    after = look(old, new, shared_pod(1, 3, "c-0"), units=(AB, C))
    assert (serving(after)["c-0"], left(after)) == ("p1-3", (["p0-1"], []))


def test_a_pod_that_retires_serves_nobody() -> None:
    old = shared_pod(0, 1, "a-0", "b-0", "c-0", retired_at_s=NOW_S - 1)
    found = look(old, shared_pod(0, 2, "a-0", "b-0"), units=(AB, C))
    assert [task.name for task in found.waiting] == ["c-0"]


def test_a_process_that_is_not_wanted_leaves() -> None:
    found = look(shared_pod(0, 1, "a-0", "b-0"), shared_pod(1, 2, "c-0"))
    assert left(found) == (["p1-2"], [])
    assert found.leaving == 1
    assert "c-0" not in serving(found)


def test_one_process_at_a_time_is_replaced_while_it_serves() -> None:
    both = (
        shared_pod(0, 1, "a-0", "b-0", template_hash=OLD),
        shared_pod(1, 2, "c-0", template_hash=OLD),
    )
    assert needed(look(*both, units=(AB, C))) == [("p0", Why.CHANGED)]
    assert len(look(*both, units=(AB, C), surge=2).needs) == 2


def test_a_cordoned_node_and_a_move() -> None:
    there = shared_pod(0, 1, "a-0", "b-0")
    cordoned = (node("n1", cordoned=True), node("n2"))
    assert needed(look(there, nodes=cordoned)) == [("p0", Why.DRAINING)]
    (need,) = look(there, target="n2").needs
    assert (need.why, need.target, need.replaces) == (Why.MOVING, "n2", there)


def test_pods_of_the_other_kind_are_not_looked_at() -> None:
    found = look(pod(0, 1, vertex="a"), shared_pod(0, 1, "a-0", "b-0"))
    assert (found.surplus, left(found)) == ((), ([], []))


def test_the_part_of_a_vertex() -> None:
    found = look(
        shared_pod(0, 1, "a-0", "b-0", template_hash=OLD),
        shared_pod(2, 1, "b-1", "a-1"),
        units=(AB, C),
    )
    part = found.part("b")
    assert [need.task.name for need in part.needs] == ["p0"]
    assert [task.name for task in part.serving] == [task.name for task in part.holders] == ["b-0"]
    assert (part.waiting, part.leaving) == ((), 1)
    assert [end.pod.name for end in part.retire] == ["word-count-p2-1"]
    assert found.part("a").leaving == 0, "a pod leaves once"
    assert [task.name for task in found.part("c").waiting] == ["c-0"]
