"""Tasks that share a pod: started, lost, rolled, scaled, moved, suspended, deleted."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from thalweg_operator import naming
from thalweg_operator.cluster.resources import (
    POD_DISRUPTION_BUDGETS,
    Object,
)
from thalweg_stories import (
    OWNED,
    Story,
    chain,
    is_active,
    node_name,
    standing,
    task_names,
    vertex,
)
from thalweg_testbed import eventually
from thalweg_told_measuring import ToldMeasuring

pytestmark = pytest.mark.control_plane

NAME = "flow"
SHARED = {"processes": "Shared"}


def flow(story: Story, *, tasks: int = 2, **more: Any) -> dict[str, Any]:
    """A reader, some splitters and some counters, all of one template, on the story's nodes."""
    image = more.pop("image", "example.org/worker:1")
    counting = more.pop("counting", image)
    here = story.here
    placement = {**SHARED, **more.pop("placement", {})}
    return chain(
        NAME,
        vertex("read", 1, image=image, **here),
        vertex("split", tasks, most=6, image=image, **here),
        vertex("count", tasks, most=6, image=counting, **here),
        placement=placement,
        **more,
    )


def start(story: Story, *, domains: int = 2, **more: Any) -> None:
    story.add_nodes(domains=domains)
    story.apply(flow(story, **more))
    story.until_ready(NAME)


def processes(story: Story) -> dict[str, set[str]]:
    """The active pods by their process, and the tasks that each runs."""
    return {
        naming.unit_name_of(pod["metadata"]["labels"]) or "?": set(task_names(pod))
        for pod in story.pods(NAME)
        if is_active(pod)
    }


def recorded(story: Story) -> dict[str, set[str]]:
    status = story.topology(NAME)["status"]
    return {f"p{one['index']}": set(one["tasks"]) for one in status["processes"]}


def pod_with(story: Story, task: str) -> Object:
    return story.pod_of(NAME, task)


def served(story: Story) -> dict[str, str]:
    """Every task that has a ready pod which is not on its way out, and that pod."""
    return {task: pods[0]["metadata"]["name"] for task, pods in story.serving(NAME).items()}


def test_start(story: Story) -> None:
    start(story)
    found = processes(story)
    assert len(found) == 2, "one process a node"
    assert found == recorded(story)
    assert sorted(task for tasks in found.values() for task in tasks) == [
        "count-0",
        "count-1",
        "read-0",
        "split-0",
        "split-1",
    ]
    topology = story.topology(NAME)
    for pod in story.pods(NAME):
        metadata, (worker,) = pod["metadata"], pod["spec"]["containers"]
        (owner,) = metadata["ownerReferences"]
        assert (owner["uid"], owner["controller"]) == (topology["metadata"]["uid"], True)
        unit = naming.unit_name_of(metadata["labels"])
        incarnation = metadata["labels"][naming.INCARNATION]
        assert metadata["name"] == f"{NAME}-{unit}-{incarnation}"
        many = len(task_names(pod))
        assert worker["resources"]["requests"]["cpu"] == f"{50 * many}m"
        environment = {one["name"]: one.get("value", "") for one in worker["env"]}
        told = json.loads(environment["THALWEG_TASKS"])
        assert {one["task"] for one in told} == set(task_names(pod))
        assert {one["incarnation"] for one in told} == {int(incarnation)}
    assert story.vertex(NAME, "split")["status"]["replicas"] == 2
    (budget,) = story.owned(POD_DISRUPTION_BUDGETS, NAME)
    assert budget["spec"]["minAvailable"] == 1
    for sender, to in (("read", "split"), ("split", "count")):
        for task, receiver in story.receivers(NAME, sender, to).items():
            pod = pod_with(story, task)
            assert receiver["address"] == pod["status"]["podIP"]
            assert receiver["node"] == node_name(pod)
            assert str(receiver["incarnation"]) == pod["metadata"]["labels"][naming.INCARNATION]


def until_whole(story: Story, *, tasks: int = 5) -> None:
    """Until every task has one pod, and what runs is what is on record."""
    story.until(
        lambda: (
            story.is_settled(NAME)
            and len(served(story)) == tasks
            and processes(story) == recorded(story)
        ),
        what="every task in its process",
    )


def never_unserved(
    story: Story, done: Callable[[], bool], *, what: str, tasks: set[str] | None = None
) -> None:
    """Turn until something is done; these tasks, or all that are served now, always are."""
    wanted, gaps = tasks or set(served(story)), []

    def check() -> bool:
        if left := wanted - set(served(story)):
            gaps.append(left)
        return done()

    story.until(check, what=what)
    assert not gaps


def test_a_lost_pod_comes_back_with_the_same_tasks(story: Story) -> None:
    start(story)
    before = processes(story)
    lost = pod_with(story, "split-0")
    story.kubectl("delete", "pod", lost["metadata"]["name"], "--grace-period=0", "--force")
    assert pod_names(story).isdisjoint({lost["metadata"]["name"]})
    # Nothing but the record knows what was in it.
    story.restart()
    until_whole(story)
    assert processes(story) == before
    now = pod_with(story, "split-0")
    assert incarnation(now) > incarnation(lost)
    story.until_still()


def pod_names(story: Story) -> set[str]:
    return {pod["metadata"]["name"] for pod in story.pods(NAME)}


def incarnation(pod: Object) -> int:
    return naming.incarnation_of(pod["metadata"]["labels"])


def test_a_lost_record_is_read_from_the_pods(story: Story) -> None:
    start(story)
    before = served(story)
    patch = '{"status":{"processes":null,"nextIncarnation":null}}'
    story.kubectl("patch", "stopo", NAME, "--subresource=status", "--type=merge", "-p", patch)
    story.until(lambda: story.topology(NAME)["status"].get("processes"), what="a record")
    story.until_still()
    assert (served(story), processes(story)) == (before, recorded(story))
    story.delete_pod(pod_with(story, "read-0"))
    until_whole(story)
    assert incarnation(pod_with(story, "read-0")) > max(
        int(name.rpartition("-")[2]) for name in before.values()
    )


def test_a_lost_node(story: Story) -> None:
    start(story)
    before = processes(story)
    lost = node_name(pod_with(story, "read-0"))
    story.cluster.remove_nodes(lost)
    story.until(
        lambda: len(served(story)) == 5 and lost not in story.nodes_of(NAME).values(),
        what="all tasks served elsewhere",
    )
    assert processes(story) == before
    story.until_still()


def test_a_cordoned_node_is_left_without_a_gap(story: Story) -> None:
    start(story, domains=3)
    left = node_name(pod_with(story, "read-0"))
    before = processes(story)
    story.cluster.kubectl("cordon", left)
    never_unserved(
        story,
        lambda: story.is_settled(NAME) and left not in story.nodes_of(NAME).values(),
        what="the cordoned node empty",
    )
    assert processes(story) == before


def test_a_roll_of_the_template(story: Story) -> None:
    start(story)
    before, old = processes(story), pod_names(story)
    story.apply(flow(story, image="example.org/worker:2"))
    never_unserved(
        story,
        lambda: story.is_settled(NAME) and pod_names(story).isdisjoint(old),
        what="the new template everywhere",
    )
    assert processes(story) == before
    assert story.vertex(NAME, "count")["status"]["updatedReplicas"] == 2
    story.until_still()


def test_a_vertex_with_a_template_of_its_own_leaves_the_others(story: Story) -> None:
    start(story)
    story.apply(flow(story, counting="example.org/counter:1"))

    def apart() -> bool:
        return story.is_settled(NAME) and all(
            len({name.startswith("count") for name in tasks}) == 1
            for tasks in processes(story).values()
        )

    never_unserved(story, apart, what="counters in pods of their own")
    until_whole(story)
    for pod in story.pods(NAME):
        counts = task_names(pod)[0].startswith("count")
        image = pod["spec"]["containers"][0]["image"]
        assert image == ("example.org/counter:1" if counts else "example.org/worker:1")
    story.until_still()


def test_scaling_up_and_down(story: Story) -> None:
    start(story)
    before, pods = processes(story), pod_names(story)
    story.scale(NAME, "count", 4)
    until_whole(story, tasks=7)
    now = processes(story)
    assert now.items() > before.items(), "what ran is left alone"
    assert pods < pod_names(story)
    assert set().union(*(now[name] for name in now.keys() - before.keys())) == {
        "count-2",
        "count-3",
    }
    assert len(story.receivers(NAME, "split", "count")) == 4
    story.scale(NAME, "count", 1)
    until_whole(story, tasks=4)
    left = {name: tasks - {"count-1", "count-2", "count-3"} for name, tasks in now.items()}
    assert processes(story) == {name: tasks for name, tasks in left.items() if tasks}
    assert set(story.receivers(NAME, "split", "count")) == {"count-0"}
    story.until_still()
    (budget,) = story.owned(POD_DISRUPTION_BUDGETS, NAME)
    assert budget["spec"]["minAvailable"] == len(processes(story)) - 1


def test_scaling_down_leaves_nobody_unserved(story: Story) -> None:
    start(story, domains=1)
    (tasks,) = processes(story).values()
    assert len(tasks) == 5, "one node, one process"
    story.scale(NAME, "count", 1)
    wanted = {"read-0", "split-0", "split-1", "count-0"}
    never_unserved(
        story,
        lambda: story.is_settled(NAME) and list(processes(story).values()) == [wanted],
        what="one task less in the process",
        tasks=wanted,
    )


def test_a_roll_without_room_for_two(story: Story) -> None:
    """Five tasks of 50m fill most of the node: the old pod leaves before the new one comes."""
    story.add_nodes(domains=1, cpu="400m")
    story.apply(flow(story))
    until_whole(story)
    before, old = processes(story), pod_names(story)
    story.apply(flow(story, image="example.org/worker:2"))
    story.until(
        lambda: story.is_settled(NAME) and pod_names(story).isdisjoint(old),
        what="the new template",
    )
    assert processes(story) == before
    assert "NoRoomForTwo" in {reason for reason, _ in story.events(NAME)}


def test_a_process_that_fits_nowhere_as_a_whole_stays_where_it_is(story: Story) -> None:
    (left,) = story.add_nodes(domains=1, cpu="400m")
    story.apply(flow(story))
    until_whole(story)
    before = pod_names(story)
    # Each has room for some of the tasks, none for all of them.
    story.add_nodes(domains=2, cpu="160m")
    story.cluster.kubectl("cordon", left)
    story.until(
        lambda: "p0 as a whole" in story.condition(NAME, "Scheduled")[2], what="what is missing"
    )
    assert story.condition(NAME, "Scheduled")[:2] == ("False", "Infeasible")
    assert story.condition(NAME, "Ready")[0] == "True"
    story.until_still()
    assert pod_names(story) == before


def test_suspend_and_resume(story: Story) -> None:
    start(story)
    story.apply(flow(story, suspend=True))
    story.until(lambda: not story.pods(NAME), what="no pod left")
    story.until(lambda: not story.topology(NAME)["status"]["processes"], what="an empty record")
    story.until_still()
    assert story.condition(NAME, "Ready")[1:] == ("Suspended", "suspended")
    story.apply(flow(story, suspend=False))
    until_whole(story)


def test_pods_of_the_other_kind_have_to_go_first(story: Story) -> None:
    start(story)
    before = pod_names(story)
    separate = flow(story, placement={"processes": "Separate"})
    story.apply(separate)
    story.until(lambda: story.condition(NAME, "Valid")[1] == "NotAvailable", what="a refusal")
    story.until_still()
    assert pod_names(story) == before
    story.apply(flow(story, suspend=True))
    story.until(lambda: not story.pods(NAME), what="no pod left")
    story.apply(separate)
    story.until_ready(NAME)
    assert len(story.pods(NAME)) == 5
    names = {budget["metadata"]["name"] for budget in story.owned(POD_DISRUPTION_BUDGETS, NAME)}
    assert names == {f"{NAME}-{vertex}" for vertex in ("read", "split", "count")}
    story.until_still()


def test_a_plan_moves_a_process_as_a_whole(story: Story) -> None:
    story.add_nodes(domains=2, per_domain=1)
    still = {"mode": "Off"}
    story.apply(flow(story, placement=still, scaling=still))
    story.until_ready(NAME)
    before, where = processes(story), story.nodes_of(NAME)
    assert len(set(where.values())) == 2
    story.measure(ToldMeasuring())
    quick = {"mode": "Off", "cooldownSeconds": 0}
    story.apply(flow(story, placement={"mode": "Auto"}, scaling=quick, strategy="Auto"))
    never_unserved(
        story,
        lambda: [standing(plan) for plan in story.plans(NAME)] == ["Applied"],
        what="the plan to be carried out",
    )
    until_whole(story)
    assert processes(story) == before
    assert len(set(story.nodes_of(NAME).values())) == 1
    (plan,) = story.plans(NAME)
    moved = {move["task"] for move in plan["spec"]["moves"]}
    assert moved in before.values()
    told = {one["task"]: f"p{one['process']}" for one in plan["spec"]["assignments"]}
    assert told == {task: name for name, tasks in before.items() for task in tasks}
    story.until_still()


def test_deletion_takes_everything_away(story: Story) -> None:
    start(story)
    story.kubectl("delete", "stopo", NAME, "--wait=false")
    eventually(lambda: not any(story.owned(kind, NAME) for kind in OWNED), what="nothing left")


def test_a_new_operator_finds_nothing_to_do(story: Story) -> None:
    start(story)
    story.until_still()
    story.restart()
    for _ in range(5):
        assert story.turn() == []
