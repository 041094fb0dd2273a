"""A running plan moves tasks: the new pod is made on its node first, and a move can be given up."""

import pytest

from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.survey import Survey, Why
from thalweg_operator_worlds import NOW_S, TWO_NODES, incarnation, look, node, pod

HERE = pod(0, 1, on="n1")


def moving(*pods: PodFact, nodes: tuple[NodeFact, ...] = TWO_NODES) -> Survey:
    return look(*pods, nodes=nodes, targets={0: "n2"})


def test_a_move_makes_before_it_breaks() -> None:
    found = moving(HERE)
    assert [(need.why, need.target, need.replaces) for need in found.needs] == [
        (Why.MOVING, "n2", HERE)
    ]
    assert (found.retire, found.delete) == ((), ())


def test_the_old_pod_serves_until_the_new_one_does() -> None:
    coming = pod(0, 2, on=None, planned="n2")
    found = moving(HERE, coming)
    assert found.needs == ()
    assert [incarnation(one) for one in found.serving.values()] == [1]
    assert [incarnation(one) for one in found.holders.values()] == [2]


def test_the_old_pod_retires_when_the_new_one_serves() -> None:
    found = moving(HERE, pod(0, 2, on="n2"))
    assert found.needs == ()
    assert [(incarnation(end.pod), end.why) for end in found.retire] == [(1, Why.SUPERSEDED)]


def test_a_task_that_is_there_already_stays() -> None:
    found = moving(pod(0, 1, on="n2"))
    assert (found.needs, found.retire, found.delete) == ((), (), ())


def test_a_move_that_kube_scheduler_refuses_is_given_up() -> None:
    refused = pod(0, 2, on=None, planned="n2", unschedulable_since_s=NOW_S - 15)
    found = moving(HERE, refused)
    assert found.needs == ()
    assert [(incarnation(end.pod), end.why) for end in found.delete] == [(2, Why.STUCK)]
    assert [incarnation(one) for one in found.serving.values()] == [1]


@pytest.mark.parametrize(
    "target",
    [
        (),
        (node("n2", cordoned=True),),
        (node("n2", ready=False),),
        (node("n2", deleting=True),),
    ],
    ids=["gone", "cordoned", "silent", "going"],
)
def test_nobody_moves_to_a_node_that_cannot_take_it(target: tuple[NodeFact, ...]) -> None:
    found = moving(HERE, nodes=(TWO_NODES[0], *target))
    assert (found.needs, found.retire, found.delete) == ((), (), ())


def test_a_lost_task_is_placed_anew_and_not_by_the_plan() -> None:
    (need,) = moving(pod(0, 1, deleting=True)).needs
    assert (need.why, need.target) == (Why.LOST, None)


def test_a_changed_template_comes_first() -> None:
    (need,) = moving(pod(0, 1, template_hash="old")).needs
    assert (need.why, need.target) == (Why.CHANGED, None)
