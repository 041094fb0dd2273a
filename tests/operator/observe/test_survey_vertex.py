"""Tasks of one vertex are looked at together: rolls keep to a budget, surplus tasks leave."""

import pytest

from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.survey import Why
from thalweg_operator_worlds import NOW_S, incarnation, look, pod

OLD = "old0"
READY = pod(0, 1)


def rolling(*states: str) -> list[PodFact]:
    """Pods of tasks 0, 1, …: `old`, `new`, or `both` while the new one starts."""
    pods = []
    for task, state in enumerate(states):
        if state in ("old", "both"):
            pods.append(pod(task, 1, template_hash=OLD))
        if state in ("new", "both"):
            pods.append(pod(task, 2, ready=state == "new"))
    return pods


@pytest.mark.parametrize(
    ("states", "surge", "needing"),
    [
        (("old", "old", "old"), 1, [0]),
        (("both", "old", "old"), 1, []),
        (("new", "old", "old"), 1, [1]),
        (("old", "old", "old"), 2, [0, 1]),
        (("both", "old", "old"), 2, [1]),
        (("old", "both", "old"), 3, [0, 2]),
        (("gone", "both", "old"), 1, [0]),
        (("both", "both", "old"), 1, []),
    ],
)
def test_a_roll_keeps_to_its_surge(states: tuple[str, ...], surge: int, needing: list[int]) -> None:
    found = look(*rolling(*states), replicas=3, surge=surge)
    assert [need.task.index for need in found.needs] == needing


def test_a_failed_successor_holds_its_place_in_the_roll() -> None:
    pods = [
        pod(0, 1, template_hash=OLD),
        pod(0, 2, phase="Failed", created_at_s=NOW_S - 1),
        pod(1, 1, template_hash=OLD),
    ]
    assert look(*pods, replicas=2).needs == ()


@pytest.mark.parametrize(
    ("surplus", "retire", "delete"),
    [
        (pod(1, 4), [4], []),
        (pod(1, 4, ready=False), [], [4]),
        (pod(1, 4, on=None, planned="n1"), [], [4]),
        (pod(1, 4, phase="Failed", created_at_s=NOW_S), [], [4]),
        (pod(1, 4, on="n9"), [], [4]),
        (pod(1, 4, deleting=True), [], []),
        (pod(1, 4, retired_at_s=NOW_S), [], []),
        (pod(1, 4, retired_at_s=NOW_S - 60), [], [4]),
        (pod(1, 4, template_hash=OLD), [4], []),
        (pod(10**6, 4), [4], []),
    ],
)
def test_tasks_not_wanted_any_more(surplus: PodFact, retire: list[int], delete: list[int]) -> None:
    found = look(READY, surplus)
    assert [incarnation(end.pod) for end in found.retire] == retire
    assert [incarnation(end.pod) for end in found.delete] == delete
    assert {end.why for end in (*found.retire, *found.delete)} <= {Why.SCALED_DOWN}
    assert [task.index for task in found.holders] == [0]
    assert found.leaving == (surplus.phase != "Failed")


def test_a_new_pod_is_newer_than_every_pod_of_the_vertex() -> None:
    found = look(pod(0, 3), pod(5, 17), replicas=3)
    assert [(need.task.index, need.after) for need in found.needs] == [(1, 17), (2, 17)]


def test_the_order_in_which_pods_come_does_not_matter() -> None:
    pods = [pod(0, 1, template_hash=OLD), pod(0, 2), pod(1, 9, on="n9"), pod(2, 4)]
    assert look(*pods, replicas=2) == look(*reversed(pods), replicas=2)
