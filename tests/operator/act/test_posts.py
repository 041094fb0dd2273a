"""Where needed pods go, and who has to leave for one that fits nowhere else."""

from typing import Any

import pytest

from thalweg_operator.act.carry_out import Post, posts_for, without_room_for_two
from thalweg_operator.act.manifests import Berth
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.survey import Need, Why
from thalweg_operator_worlds import TWO_NODES, ZONE, by_name, pod, topology_spec, vertex_body

SPEC = topology_spec(vertex_body("split"))
ANYWHERE = Berth(domain_label=ZONE)


def need(
    index: int = 0, *, why: Why = Why.CHANGED, replaces: PodFact | None = None, pinned: bool = True
) -> Need:
    return Need(
        task=TaskKey(vertex="split", index=index), why=why, replaces=replaces, pinned=pinned
    )


def posted(*needs: Need, assigned: dict[str, str], binds_node: bool = True) -> tuple[Post, ...]:
    return posts_for(needs, assigned, by_name(*TWO_NODES), SPEC, binds_node=binds_node)


@pytest.mark.parametrize(
    ("binds_node", "berth"),
    [
        (True, Berth(domain_label=ZONE, domain="b", node="n2")),
        (False, Berth(domain_label=ZONE, domain="b")),
    ],
)
def test_a_planned_pod_is_bound_to_its_node_or_to_the_domain(
    binds_node: bool, berth: Berth
) -> None:
    (made,) = posted(need(), assigned={"split-0": "n2"}, binds_node=binds_node)
    assert (made.berth, made.planned_node) == (berth, "n2")


def test_a_pod_that_fits_nowhere_waits_where_an_autoscaler_can_see_it() -> None:
    (made,) = posted(need(why=Why.FIRST), assigned={})
    assert (made.berth, made.planned_node) == (ANYWHERE, None)


def test_a_served_task_that_fits_nowhere_waits_without_a_pod() -> None:
    assert posted(need(replaces=pod(0)), assigned={}) == ()


@pytest.mark.parametrize("replaces", [None, pod(0)])
def test_where_kube_scheduler_knows_better_it_chooses(replaces: PodFact | None) -> None:
    refused = need(why=Why.STUCK, pinned=False, replaces=replaces)
    (made,) = posted(refused, assigned={"split-0": "n1"})
    assert (made.berth, made.planned_node) == (ANYWHERE, None)


def test_another_domain_label() -> None:
    spec = topology_spec(vertex_body("split"), placement={"domainLabel": "kubernetes.io/hostname"})
    (made,) = posts_for([need()], {"split-0": "n2"}, by_name(*TWO_NODES), spec, binds_node=False)
    assert made.berth == Berth(domain_label="kubernetes.io/hostname", domain="n2")


CHANGED = (need(0, replaces=pod(0)), need(1, replaces=pod(1)))


def leaving(*needs: Need, posts: tuple[Post, ...] = (), **more: Any) -> list[str]:
    disrupted = more.pop("disrupted", 0)
    endings = without_room_for_two(needs, posts, disrupted=disrupted, **more)
    assert {ending.why for ending in endings} <= {Why.NO_ROOM_FOR_TWO}
    return [ending.pod.name for ending in endings]


def test_one_pod_at_a_time_leaves_for_its_successor() -> None:
    assert leaving(*CHANGED) == [pod(0).name]


def test_nobody_leaves_while_a_task_is_not_served() -> None:
    assert leaving(*CHANGED, disrupted=1) == []


def test_nobody_leaves_whose_successor_has_a_place() -> None:
    posts = posted(CHANGED[0], assigned={"split-0": "n1"})
    assert leaving(*CHANGED, posts=posts) == [pod(1).name]


@pytest.mark.parametrize("why", [Why.DRAINING, Why.STUCK])
def test_nobody_leaves_for_less_than_a_changed_template(why: Why) -> None:
    assert leaving(need(why=why, replaces=pod(0))) == []


def test_nobody_leaves_who_does_not_serve() -> None:
    assert leaving(need()) == []


def test_nobody_leaves_for_a_template_that_would_not_fit_even_then() -> None:
    assert leaving(*CHANGED, fits_instead=lambda _: False) == []
    assert leaving(*CHANGED, fits_instead=lambda one: one.task.index == 1) == [pod(1).name]
