"""The snapshot that a plan is made from says what is true of the cluster, and no more."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from thalweg_operator.deciding import (
    Situation,
    Undecidable,
    build_snapshot,
    fits_instead,
    place_tasks,
)
from thalweg_operator.naming import Process, TaskKey, Unit, tasks_named
from thalweg_operator.observe.facts import NodeFact, PodFact, Taint
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.survey import Need, Survey, Why, Wish, survey_shared
from thalweg_operator_worlds import (
    HASH,
    NOW_S,
    PATIENCE,
    by_name,
    look,
    node,
    pod,
    shared_pod,
    template,
    topology_spec,
    vertex_body,
)
from thalweg_scheduling.model.snapshot import UNPLACED

NODES = (node("n1", cpu=4), node("n2", domain="b", cpu=4))
EMPTY = look(replicas=0)


def situation(
    *pods: PodFact,
    replicas: int = 2,
    nodes: tuple[NodeFact, ...] = NODES,
    foreign: tuple[PodFact, ...] = (),
    survey: Survey | None = None,
    vertex: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Situation:
    """One vertex `split` of pods that ask for one core."""
    return Situation(
        name="shop/word-count",
        spec=topology_spec(vertex or vertex_body("split"), **spec),
        replicas={"split": replicas},
        surveys={"split": survey or look(*pods, replicas=replicas, nodes=nodes)},
        nodes=by_name(*nodes),
        ledger=Ledger((*pods, *foreign)),
        now_s=NOW_S,
    )


def column(matrix: np.ndarray[Any, Any], resources: tuple[str, ...], name: str) -> list[float]:
    return [float(value) for value in matrix[:, resources.index(name)]]


def cpu_capacity(of: Situation) -> list[float]:
    snapshot = build_snapshot(of)
    return column(snapshot.capacity, snapshot.resources, "cpu")


def cpu_demand(of: Situation) -> list[float]:
    snapshot = build_snapshot(of)
    return column(snapshot.demand, snapshot.resources, "cpu")


def test_names_tasks_and_edges() -> None:
    spec = topology_spec(vertex_body("read"), vertex_body("split"))
    snapshot = build_snapshot(
        Situation(
            name="shop/word-count",
            spec=spec,
            replicas={"read": 1, "split": 2},
            surveys={"read": EMPTY, "split": EMPTY},
            nodes=by_name(*reversed(NODES)),
            ledger=Ledger([]),
            now_s=NOW_S,
        )
    )
    assert [task.name for task in snapshot.tasks] == ["read-0", "split-0", "split-1"]
    assert snapshot.nodes == ("n1", "n2")
    assert snapshot.domains == ("a", "b")
    assert [(edge.source, edge.target) for edge in snapshot.edges] == [(0, 1)]
    assert snapshot.resources == ("cpu", "pods")


def test_capacity_is_what_others_leave() -> None:
    foreign = pod(7, vertex="other", on="n1", requests={"cpu": 1.5})
    planned = pod(8, vertex="other", on=None, planned="n2", requests={"cpu": 0.5})
    assert cpu_capacity(situation(foreign=(foreign, planned))) == [2.5, 3.5]


def test_pods_that_stay_are_part_of_what_the_topology_may_use() -> None:
    found = situation(pod(0, on="n1"), pod(1, on=None, planned="n2"))
    assert cpu_capacity(found) == [4.0, 4.0]
    assert list(build_snapshot(found).placement) == [0, 1]


def test_a_pod_that_makes_way_still_takes_its_room() -> None:
    changed = pod(0, on="n1", template_hash="old")
    found = situation(changed, pod(1, on="n2"))
    assert cpu_capacity(found) == [3.0, 4.0]
    assert list(build_snapshot(found).placement) == [UNPLACED, 1]


def test_a_pod_that_has_to_wait_for_its_roll_stays() -> None:
    found = situation(pod(0, on="n1", template_hash="old"), pod(1, on="n2", template_hash="old"))
    assert list(build_snapshot(found).placement) == [UNPLACED, 1]


def test_a_surge_pod_has_the_task_and_the_old_one_only_room() -> None:
    found = situation(
        pod(0, 1, on="n1", template_hash="old"),
        pod(0, 2, on="n2", ready=False),
        pod(1, 3, on="n1"),
    )
    assert list(build_snapshot(found).placement) == [1, 0]
    assert cpu_capacity(found) == [3.0, 4.0]


@pytest.mark.parametrize(
    "leaving",
    [pod(5, 9, on="n1", retired_at_s=NOW_S), pod(5, 9, on="n1", deleting=True)],
    ids=["retiring", "being deleted"],
)
def test_pods_on_their_way_out_still_take_room(leaving: PodFact) -> None:
    assert cpu_capacity(situation(pod(0), leaving)) == [3.0, 4.0]


def test_a_pod_without_any_node_is_still_to_be_placed() -> None:
    found = situation(pod(0, on=None, unschedulable_since_s=NOW_S), pod(1, on="n2"))
    assert list(build_snapshot(found).placement) == [UNPLACED, 1]


def test_pods_that_stay_count_by_what_they_asked_for() -> None:
    """The template may have changed since, and admission may have added a sidecar."""
    found = situation(
        pod(0, on="n1", requests={"cpu": 3.0}),
        vertex=vertex_body("split", template=template(cpu="2")),
    )
    assert cpu_demand(found) == [3.0, 2.0]


def test_a_resource_that_a_node_does_not_know_is_not_there() -> None:
    asking = template(cpu=None)
    asking["spec"]["containers"][0]["resources"] = {"requests": {"gpu.dev/a": "1"}}
    nodes = (node("n1"), node("n2", allocatable={"gpu.dev/a": 1.0}))
    plan = place_tasks(situation(nodes=nodes, vertex=vertex_body("split", template=asking)))
    assert dict(plan.placed) == {"split-0": "n2"}
    assert [lack.task for lack in plan.missing] == ["split-1"]
    assert [lack.resource for lack in plan.missing] == ["gpu.dev/a"]


@pytest.mark.parametrize(
    "unfit",
    [
        node("n1", domain=None),
        node("n1", cordoned=True),
        node("n1", ready=False),
        node("n1", deleting=True),
        node("n1", taints=(Taint(key="x", value="", effect="NoSchedule"),)),
        node("n1", cpu=0.5),
        node("n1", allocatable={"pods": 0.0}),
    ],
    ids=["unlabelled", "cordoned", "not ready", "going", "tainted", "small", "no pods left"],
)
def test_nodes_that_cannot_take_a_task(unfit: NodeFact) -> None:
    plan = place_tasks(situation(nodes=(unfit, NODES[1])))
    assert set(plan.placed.values()) == {"n2"}


def test_without_any_node_every_task_is_missing() -> None:
    plan = place_tasks(situation(nodes=()))
    assert dict(plan.placed) == {}
    assert [lack.task for lack in plan.missing] == ["split-0", "split-1"]


def test_a_suspended_topology_has_nothing_to_place() -> None:
    plan = place_tasks(situation(replicas=0))
    assert not plan.placed
    assert not plan.missing


def test_limits_are_the_users() -> None:
    found = situation(placement={"minDomains": 2, "maxSharePercent": 60, "minGainPercent": 7})
    limits = build_snapshot(found).limits.placement
    assert (limits.min_domains, limits.max_share_percent) == (2, 60)
    assert limits.min_gain_percent == 7


def test_the_same_facts_give_the_same_plan() -> None:
    found = situation(pod(0), replicas=5)
    assert place_tasks(found).assignments == place_tasks(found).assignments


def test_a_tenants_nonsense_is_no_trouble_for_others() -> None:
    """The API server will refuse the pod, and say why."""
    nonsense = template(resources={"requests": {"cpu": "-1"}})
    plan = place_tasks(situation(vertex=vertex_body("split", template=nonsense)))
    assert len(plan.placed) == 2


def test_what_the_planner_refuses_is_the_topologys_own_trouble() -> None:
    with pytest.raises(Undecidable, match="Magic"):
        place_tasks(situation(strategy="Magic"))


def replacing(one: PodFact | None) -> Need:
    return Need(task=TaskKey(vertex="split", index=0), why=Why.CHANGED, replaces=one)


@pytest.mark.parametrize(
    ("cpu", "old", "foreign_cpu", "fits"),
    [
        ("4", 4.0, 0.0, True),
        ("5", 4.0, 0.0, False),
        ("3", 2.0, 1.0, True),
        ("3", 2.0, 1.5, False),
        (None, 1.0, 9.0, True),
    ],
)
def test_whether_a_successor_fits_where_its_predecessor_is(
    cpu: str | None, old: float, foreign_cpu: float, fits: bool
) -> None:
    one = pod(0, on="n1", requests={"cpu": old})
    found = situation(
        one,
        replicas=1,
        foreign=(pod(9, vertex="other", on="n1", requests={"cpu": foreign_cpu}),),
        vertex=vertex_body("split", template=template(cpu=cpu)),
    )
    assert fits_instead(found, replacing(one)) is fits


@pytest.mark.parametrize(
    "one", [None, pod(0, on="n9"), pod(0, on="n3")], ids=["nobody", "node gone", "node cordoned"]
)
def test_no_successor_fits_where_nobody_may_be(one: PodFact | None) -> None:
    nodes = (*NODES, node("n3", cordoned=True))
    assert not fits_instead(situation(nodes=nodes, replicas=1), replacing(one))


def sharing(*pods: PodFact, units: tuple[Process, ...]) -> Situation:
    """A topology of which these processes run, or should."""
    wishes: dict[Unit, Wish] = {unit: Wish(template_hash=HASH) for unit in units}
    found = survey_shared(wishes, pods, by_name(*NODES), PATIENCE, NOW_S)
    tasks = [task for unit in units for task in unit.tasks]
    return situation(*pods, replicas=len(tasks), survey=found, placement={"processes": "Shared"})


BOTH = Process(index=0, tasks=tasks_named(["split-0", "split-1"]))
LAST = Process(index=1, tasks=tasks_named(["split-2"]))


def test_tasks_that_share_a_pod_share_what_it_asked_for() -> None:
    there = shared_pod(0, 1, "split-0", "split-1", requests={"cpu": 3.0, "pods": 1.0})
    snapshot = build_snapshot(sharing(there, units=(BOTH, LAST)))
    assert column(snapshot.demand, snapshot.resources, "cpu") == [1.5, 1.5, 1.0]
    # The pod is counted once, and what it takes is the topology's own to use.
    assert column(snapshot.capacity, snapshot.resources, "cpu") == [4.0, 4.0]
    assert snapshot.placement.tolist() == [0, 0, UNPLACED]
    assert snapshot.process is not None
    assert snapshot.process.tolist() == [0, 0, 2]
    assert snapshot.limits.placement.shared_processes


def test_a_process_fits_instead_of_its_old_pod_only_as_a_whole() -> None:
    there = shared_pod(0, 1, "split-0", "split-1", requests={"cpu": 2.0})
    now = sharing(there, units=(BOTH,))
    need = Need(task=BOTH, why=Why.CHANGED, replaces=there)
    assert fits_instead(now, need)
    now.ledger.reserve("n1", {"cpu": 2.5})
    assert not fits_instead(now, need)
