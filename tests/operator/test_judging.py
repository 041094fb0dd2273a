"""A spec that is wrong changes nothing: the last valid one stays in force."""

import json
from typing import Any

import pytest

from thalweg_operator.act.structure import last_valid_manifest
from thalweg_operator.api.validation import Offer
from thalweg_operator.judging import Verdict, judge
from thalweg_operator.observe.facts import PodFact
from thalweg_operator_worlds import (
    NAMESPACE,
    facts,
    owner,
    pod,
    shared_pod,
    topology,
    topology_body,
    vertex_body,
)

OFFER = Offer(strategies=("Even",))
GOOD = topology_body(vertex_body("read"), vertex_body("split"))
OLD = topology_body(vertex_body("read", replicas=5), vertex_body("split"))
CYCLE = {
    **GOOD,
    "edges": [{"from": "read", "to": "split"}, {"from": "split", "to": "read"}],
}
MAP = "word-count-last-valid"


def remembered(spec: dict[str, Any] = OLD, generation: int = 2) -> dict[str, Any]:
    return last_valid_manifest(NAMESPACE, owner(), spec, generation)


def verdict(
    spec: dict[str, Any], kept: dict[str, Any] | None = None, *, offer: Offer = OFFER
) -> Verdict:
    maps = {} if kept is None else {MAP: kept}
    return judge(facts(topology(spec, generation=3), config_maps=maps), offer)


def test_a_valid_spec_is_in_force() -> None:
    found = verdict(GOOD, remembered())
    assert found.spec is not None
    assert found.spec.vertices[0].replicas.initial == 2
    assert (found.judgement.in_force, found.judgement.is_valid) == (3, True)
    assert found.judgement.reason == "Valid"


def test_an_invalid_one_leaves_the_last_valid_in_force() -> None:
    found = verdict(CYCLE, remembered())
    assert found.spec is not None
    assert found.spec.vertices[0].replicas.initial == 5
    assert (found.judgement.in_force, found.judgement.is_valid) == (2, False)
    assert found.judgement.reason == "Cycle"
    assert "read → split → read" in found.judgement.message
    assert found.judgement.message.endswith("Generation 2 stays in force")


def test_an_invalid_first_one_is_not_carried_out() -> None:
    found = verdict(CYCLE)
    assert found.spec is None
    assert (found.judgement.in_force, found.judgement.is_valid) == (None, False)
    assert found.judgement.reason == "Cycle"


@pytest.mark.parametrize(
    "data",
    [
        None,
        {},
        {"generation": "2"},
        {"spec.json": json.dumps(OLD)},
        {"spec.json": json.dumps(OLD), "generation": "two"},
        {"spec.json": json.dumps(OLD), "generation": "3"},
        {"spec.json": json.dumps(OLD), "generation": "99"},
        {"spec.json": json.dumps(OLD), "generation": "0"},
        {"spec.json": "{", "generation": "2"},
        {"spec.json": "[]", "generation": "2"},
        {"spec.json": "null", "generation": "2"},
        {"spec.json": "[" * 100_000, "generation": "2"},
        {"spec.json": json.dumps({"vertices": "x"}), "generation": "2"},
        {"spec.json": json.dumps(CYCLE), "generation": "2"},
    ],
)
def test_a_spoilt_memory_is_none(data: dict[str, str] | None) -> None:
    found = verdict(CYCLE, {"data": data})
    assert found.spec is None
    assert found.judgement.in_force is None


@pytest.mark.parametrize("spec", [{}, {"vertices": [{"name": 7}]}, {**GOOD, "mode": "Maybe"}])
def test_an_unreadable_spec_is_invalid(spec: dict[str, Any]) -> None:
    found = verdict(spec, remembered())
    assert found.judgement.in_force == 2
    assert not found.judgement.is_valid
    assert found.judgement.message


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = verdict({**CYCLE, "strategy": "Magic"})
    assert "cycle" in found.judgement.message
    assert "Magic" in found.judgement.message


def test_a_strategy_that_this_installation_lacks() -> None:
    found = verdict({**GOOD, "strategy": "RaStream"}, remembered())
    assert found.judgement.reason == "StrategyUnavailable"
    assert found.judgement.in_force == 2


def test_a_memory_that_this_installation_cannot_carry_out_either() -> None:
    kept = remembered({**OLD, "strategy": "RaStream"})
    assert verdict(CYCLE, kept).spec is None


def test_by_default_the_planners_own_strategies_are_offered() -> None:
    found = judge(facts(topology(GOOD)))
    assert found.judgement.is_valid


SHARED = {**GOOD, "placement": {"processes": "Shared"}}
EVERYTHING = Offer(strategies=("Even",), shared_processes=True)


@pytest.mark.parametrize(
    ("spec", "pods", "is_valid"),
    [
        pytest.param(SHARED, (), True, id="no pods yet"),
        pytest.param(SHARED, (shared_pod(0, 1, "read-0"),), True, id="pods of its kind"),
        pytest.param(SHARED, (pod(0),), False, id="a task has a pod of its own"),
        pytest.param(SHARED, (pod(0, phase="Failed"),), True, id="that pod has ended"),
        pytest.param(SHARED, (pod(0, labels={"thalweg.dev/task": "x"}),), True, id="set aside"),
        pytest.param(GOOD, (shared_pod(0, 1, "read-0"),), False, id="tasks share a pod"),
        pytest.param(GOOD, (pod(0),), True, id="each has its own"),
    ],
)
def test_who_shares_a_pod_cannot_change_while_pods_run(
    spec: dict[str, Any], pods: tuple[PodFact, ...], is_valid: bool
) -> None:
    kept = {MAP: remembered()}
    found = judge(facts(topology(spec, generation=3), config_maps=kept, pods=pods), EVERYTHING)
    assert found.judgement.is_valid is is_valid
    if not is_valid:
        assert found.judgement.reason == "NotAvailable"
        assert "suspend the topology" in found.judgement.message
        assert found.judgement.in_force == 2
