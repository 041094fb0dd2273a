"""Who shares a pod with whom: as it is on record, as the plan says, and where there is room."""

from collections.abc import Mapping
from typing import Any

import pytest

from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.deciding import Situation
from thalweg_operator.naming import Process, TaskKey, tasks_named
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.survey import Need, Why
from thalweg_operator.sharing import (
    Hosted,
    Membership,
    host,
    membership_of,
    record_of,
    wishes_of,
)
from thalweg_operator_worlds import (
    NOW_S,
    by_name,
    node,
    shared_pod,
    template,
    topology_spec,
    vertex_body,
)
from thalweg_scheduling.model.plan import Plan

LIGHT = template(cpu="250m")


def shared(*names: str, **templates: Any) -> TopologySpec:
    """Vertices in a row, of one template but for those that are given another."""
    rows = [vertex_body(name, template=templates.get(name, LIGHT)) for name in names]
    return topology_spec(*rows, placement={"processes": "Shared"})


FLOW = shared("read", "split", "count")
ONE_EACH = {"read": 1, "split": 1, "count": 1}


def process(index: int, *tasks: str) -> Process:
    return Process(index=index, tasks=tasks_named(tasks))


def members(
    *recorded: Process,
    pods: tuple[PodFact, ...] = (),
    spec: TopologySpec = FLOW,
    replicas: Mapping[str, int] = ONE_EACH,
) -> Membership:
    return membership_of({"processes": record_of(recorded)}, pods, spec, replicas)


def names(tasks: tuple[TaskKey, ...]) -> list[str]:
    return [task.name for task in tasks]


def test_nothing_on_record() -> None:
    found = members()
    assert (found.recorded, found.processes) == ((), ())
    assert names(found.homeless) == ["read-0", "split-0", "count-0"]


def test_what_is_on_record_stays() -> None:
    both = (process(0, "read-0", "split-0"), process(4, "count-0"))
    found = members(*both)
    assert (found.recorded, found.processes, found.homeless) == (both, both, ())


def test_a_task_that_is_not_wanted_is_taken_out_and_an_empty_process_goes() -> None:
    found = members(
        process(0, "read-0", "split-0", "split-1"), process(1, "split-2"), process(2, "count-0")
    )
    assert found.processes == (process(0, "read-0", "split-0"), process(2, "count-0"))
    assert found.homeless == ()


def test_a_new_task_has_no_process() -> None:
    found = members(process(0, "read-0", "split-0", "count-0"), replicas={**ONE_EACH, "count": 2})
    assert found.processes == (process(0, "read-0", "split-0", "count-0"),)
    assert names(found.homeless) == ["count-1"]


def test_a_vertex_with_another_template_leaves_the_majority() -> None:
    spec = shared("read", "split", "count", read=template(image="worker:2", cpu="250m"))
    found = members(process(0, "read-0", "split-0", "count-0"), spec=spec)
    assert found.processes == (process(0, "split-0", "count-0"),)
    assert names(found.homeless) == ["read-0"]


def test_a_task_that_stands_in_two_processes_is_in_the_first() -> None:
    found = members(process(0, "read-0", "split-0"), process(1, "split-0", "count-0"))
    assert found.processes == (process(0, "read-0", "split-0"), process(1, "count-0"))


def test_a_lost_record_is_read_from_the_newest_pods() -> None:
    pods = (
        shared_pod(0, 1, "read-0", "split-0", "count-0"),
        shared_pod(0, 5, "read-0", "split-0"),
        shared_pod(2, 4, "count-0"),
    )
    found = members(pods=pods)
    assert found.recorded == ()
    assert found.processes == (process(0, "read-0", "split-0"), process(2, "count-0"))


def test_pods_say_nothing_where_there_is_a_record() -> None:
    pods = (shared_pod(3, 1, "count-0"),)
    found = members(process(0, "read-0", "split-0"), pods=pods)
    assert names(found.homeless) == ["count-0"]
    assert found.taken == {0, 3}, "a number that a pod still carries is not given again"


def test_the_record_is_in_order_and_read_back() -> None:
    two = (process(3, "count-0"), process(0, "read-0", "split-0"))
    assert record_of(two) == [
        {"index": 0, "tasks": ["read-0", "split-0"]},
        {"index": 3, "tasks": ["count-0"]},
    ]
    assert members(*two).processes == tuple(sorted(two))


def test_hashes_follow_tasks_template_and_senders() -> None:
    def hash_of(spec: TopologySpec, *tasks: str) -> str:
        found = members(process(0, *tasks), spec=spec, replicas={**ONE_EACH, "split": 2})
        return wishes_of(spec, found, {})[found.processes[0]].template_hash

    usual = hash_of(FLOW, "split-0", "count-0")
    assert hash_of(FLOW, "split-0", "count-0") == usual
    assert hash_of(FLOW, "split-0", "split-1", "count-0") != usual
    other = dict.fromkeys(("read", "split", "count"), template(image="worker:2"))
    assert hash_of(shared("read", "split", "count", **other), "split-0", "count-0") != usual
    # Now count sends too.
    longer = shared("read", "split", "count", "store")
    found = membership_of(
        {"processes": record_of([process(0, "split-0", "count-0")])},
        (),
        longer,
        {**ONE_EACH, "store": 1},
    )
    assert wishes_of(longer, found, {})[found.processes[0]].template_hash != usual


def test_a_process_goes_where_a_plan_moves_its_tasks() -> None:
    found = members(process(0, "read-0", "split-0"), process(1, "count-0"))
    wishes = wishes_of(FLOW, found, {TaskKey(vertex="split", index=0): "n2"})
    assert [wish.target for wish in wishes.values()] == ["n2", None]


NODES = (node("n1", cpu=2), node("n2", domain="b", cpu=2))


def hosted(
    plan: Mapping[str, tuple[str, int]],
    *needs: Need,
    recorded: tuple[Process, ...] = (),
    nodes: tuple[NodeFact, ...] = NODES,
    spec: TopologySpec = FLOW,
    replicas: Mapping[str, int] = ONE_EACH,
    reserved: Mapping[str, float] | None = None,
) -> Hosted:
    """By a plan of task to node and process; all homeless tasks need a pod."""
    membership = members(*recorded, spec=spec, replicas=replicas)
    ledger = Ledger(())
    for name, cores in (reserved or {}).items():
        ledger.reserve(name, {"cpu": cores})
    situation = Situation(
        name="shop/flow",
        spec=spec,
        replicas=replicas,
        surveys={},
        nodes=by_name(*nodes),
        ledger=ledger,
        now_s=NOW_S,
    )
    decided = Plan(
        strategy="Even",
        assignments={task: at for task, (at, _) in plan.items()},
        processes={task: number for task, (_, number) in plan.items()},
    )
    fresh = [Need(task=task, why=Why.FIRST, after=7) for task in membership.homeless]
    return host((*needs, *fresh), decided, situation, membership)


def groups(found: Hosted) -> list[tuple[str, list[str], str | None]]:
    return [
        (need.task.name, names(need.task.tasks), found.nodes.get(need.task.name))
        for need in found.needs
    ]


def test_the_plan_says_who_shares() -> None:
    found = hosted({"read-0": ("n1", 0), "split-0": ("n1", 0), "count-0": ("n2", 2)})
    assert groups(found) == [("p0", ["read-0", "split-0"], "n1"), ("p1", ["count-0"], "n2")]
    assert found.processes == (process(0, "read-0", "split-0"), process(1, "count-0"))
    assert {need.after for need in found.needs} == {7}
    assert found.missing == ()


def test_tasks_of_different_templates_never_share() -> None:
    spec = shared("read", "split", "count", count=template(image="counter:1", cpu="250m"))
    everywhere = dict.fromkeys(("read-0", "split-0", "count-0"), ("n1", 0))
    found = hosted(everywhere, spec=spec)
    assert [tasks for _, tasks, _ in groups(found)] == [["read-0", "split-0"], ["count-0"]]


def test_a_process_asks_for_no_more_than_a_core() -> None:
    replicas = {"read": 1, "split": 4, "count": 1}
    tasks = ["read-0", *(f"split-{n}" for n in range(4)), "count-0"]
    found = hosted(dict.fromkeys(tasks, ("n1", 0)), replicas=replicas)
    assert [len(tasks) for _, tasks, _ in groups(found)] == [4, 2]


def test_a_task_that_asks_for_more_than_a_core_is_alone() -> None:
    heavy = dict.fromkeys(("read", "split", "count"), template(cpu="1500m"))
    found = hosted(
        {"read-0": ("n1", 0), "split-0": ("n1", 0), "count-0": ("n1", 0)},
        spec=shared("read", "split", "count", **heavy),
        nodes=(node("n1", cpu=8),),
    )
    assert [tasks for _, tasks, _ in groups(found)] == [["read-0"], ["split-0"], ["count-0"]]


def test_tasks_that_fit_nowhere_wait_one_by_one() -> None:
    found = hosted({}, nodes=(node("n1", cpu=0.1),))
    assert groups(found) == [
        ("p0", ["read-0"], None),
        ("p1", ["split-0"], None),
        ("p2", ["count-0"], None),
    ]
    assert found.missing == (), "the plan has said it already"


def test_new_processes_take_free_numbers() -> None:
    found = hosted({"count-0": ("n1", 2)}, recorded=(process(0, "read-0"), process(2, "split-0")))
    assert groups(found) == [("p1", ["count-0"], "n1")]


WHOLE = process(0, "read-0", "split-0", "count-0")


@pytest.mark.parametrize(
    ("reserved", "node_name"),
    [({}, "n2"), ({"n2": 1.5}, "n1"), ({"n1": 1.5, "n2": 1.5}, None)],
)
def test_a_torn_process_goes_to_one_node_that_takes_all_of_it(
    reserved: dict[str, float], node_name: str | None
) -> None:
    found = hosted(
        {"read-0": ("n1", 0), "split-0": ("n2", 1), "count-0": ("n2", 1)},
        Need(task=WHOLE, why=Why.LOST),
        recorded=(WHOLE,),
        reserved=reserved,
    )
    assert found.nodes.get("p0") == node_name
    assert len(found.missing) == (node_name is None)
    assert all("p0" in sentence for sentence in found.missing)


def test_two_processes_do_not_take_the_same_room() -> None:
    one, two = process(0, "read-0", "split-0"), process(1, "count-0")
    found = hosted(
        {"read-0": ("n1", 0), "split-0": ("n1", 0), "count-0": ("n1", 2)},
        Need(task=one, why=Why.LOST),
        Need(task=two, why=Why.LOST),
        recorded=(one, two),
        reserved={"n1": 1.4},
    )
    assert found.nodes == {"p0": "n1", "p1": "n2"}


def test_a_cordoned_node_takes_nothing() -> None:
    found = hosted(
        {task.name: ("n1", 0) for task in WHOLE.tasks},
        Need(task=WHOLE, why=Why.DRAINING),
        recorded=(WHOLE,),
        nodes=(node("n1", cpu=2, cordoned=True), node("n2", cpu=2)),
    )
    assert found.nodes == {"p0": "n2"}


def test_a_move_goes_where_it_was_planned() -> None:
    found = hosted(
        {task.name: ("n1", 0) for task in WHOLE.tasks},
        Need(task=WHOLE, why=Why.MOVING, target="n2"),
        recorded=(WHOLE,),
    )
    assert found.nodes == {"p0": "n2"}
