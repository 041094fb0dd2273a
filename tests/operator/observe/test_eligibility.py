"""Nodes that kube-scheduler would filter out are told apart, with the reason."""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from thalweg_operator.observe.eligibility import is_eligible, why_not_eligible
from thalweg_operator.observe.facts import NodeFact, Taint

ZONE = "topology.kubernetes.io/zone"
NODE = NodeFact(
    name="a-0",
    uid="u1",
    labels={ZONE: "a", "disk": "ssd", "cores": "16", "kubernetes.io/os": "linux"},
    taints=(),
    is_cordoned=False,
    is_ready=True,
    ready_changed_at_s=None,
    allocatable={},
    is_deleting=False,
)


def why(spec: Mapping[str, object], node: NodeFact = NODE) -> str:
    reason = why_not_eligible(spec, node, domain_label=ZONE)
    assert is_eligible(spec, node, domain_label=ZONE) is (reason == "")
    return reason


def test_a_plain_pod_may_go_to_a_plain_node() -> None:
    assert why({}) == ""


@pytest.mark.parametrize(
    ("node", "reason"),
    [
        (replace(NODE, is_deleting=True), "being deleted"),
        (replace(NODE, is_ready=False), "not ready"),
        (replace(NODE, is_cordoned=True), "cordoned"),
        (replace(NODE, labels={}), f"no label {ZONE}"),
        (replace(NODE, labels={ZONE: ""}), f"no label {ZONE}"),
    ],
)
def test_nodes_that_take_nobody(node: NodeFact, reason: str) -> None:
    assert why({"tolerations": [{"operator": "Exists"}]}, node) == reason


def tainted(effect: str, value: str = "red") -> NodeFact:
    return replace(NODE, taints=(Taint(key="team", value=value, effect=effect),))


@pytest.mark.parametrize(
    ("effect", "toleration", "reason"),
    [
        ("NoSchedule", {}, "taint team=red:NoSchedule"),
        ("NoExecute", {"key": "other", "operator": "Exists"}, "taint team=red:NoExecute"),
        ("PreferNoSchedule", {"key": "other", "operator": "Exists"}, ""),
        ("NoSchedule", {"key": "team", "value": "red"}, ""),
        ("NoSchedule", {"key": "team", "operator": "Equal", "value": "red"}, ""),
        ("NoSchedule", {"key": "team", "value": "blue"}, "taint team=red:NoSchedule"),
        ("NoSchedule", {"key": "team", "operator": "Exists"}, ""),
        ("NoSchedule", {"operator": "Exists"}, ""),
        ("NoExecute", {"operator": "Exists", "effect": "NoSchedule"}, "taint team=red:NoExecute"),
        ("NoSchedule", {"key": "team", "operator": "Exists", "effect": "NoSchedule"}, ""),
        ("NoSchedule", {"key": "team", "operator": "Roughly"}, "taint team=red:NoSchedule"),
    ],
)
def test_taints_and_tolerations(effect: str, toleration: object, reason: str) -> None:
    assert why({"tolerations": [toleration]}, tainted(effect)) == reason


def test_every_taint_needs_a_toleration() -> None:
    taints = (
        Taint(key="team", value="", effect="NoSchedule"),
        Taint(key="spot", value="", effect="NoExecute"),
    )
    spec = {"tolerations": [{"key": "team", "operator": "Exists"}]}
    assert why(spec, replace(NODE, taints=taints)) == "taint spot:NoExecute"


@pytest.mark.parametrize(
    ("selector", "reason"),
    [
        ({"disk": "ssd", ZONE: "a"}, ""),
        ({"disk": "ssd", ZONE: "b"}, f"node selector {ZONE}=b"),
        ({"gpu": "yes"}, "node selector gpu=yes"),
        (None, ""),
    ],
)
def test_node_selector(selector: object, reason: str) -> None:
    assert why({"nodeSelector": selector}) == reason


def required(*terms: object) -> Mapping[str, object]:
    selector = {"nodeSelectorTerms": list(terms)}
    key = "requiredDuringSchedulingIgnoredDuringExecution"
    return {"affinity": {"nodeAffinity": {key: selector}}}


def label(key: str, relation: str, *values: str) -> Mapping[str, object]:
    return {"matchExpressions": [{"key": key, "operator": relation, "values": list(values)}]}


def field(key: str, relation: str, *values: str) -> Mapping[str, object]:
    return {"matchFields": [{"key": key, "operator": relation, "values": list(values)}]}


@pytest.mark.parametrize(
    ("term", "is_met"),
    [
        (label("disk", "In", "hdd", "ssd"), True),
        (label("disk", "In", "hdd"), False),
        (label("gpu", "In", "yes"), False),
        (label("disk", "NotIn", "hdd"), True),
        (label("disk", "NotIn", "ssd"), False),
        (label("gpu", "NotIn", "yes"), True),
        (label("disk", "Exists"), True),
        (label("gpu", "Exists"), False),
        (label("gpu", "DoesNotExist"), True),
        (label("disk", "DoesNotExist"), False),
        (label("cores", "Gt", "8"), True),
        (label("cores", "Gt", "16"), False),
        (label("cores", "Lt", "32"), True),
        (label("cores", "Lt", "16"), False),
        (label("disk", "Gt", "8"), False),
        (label("gpu", "Lt", "8"), False),
        (label("cores", "Gt", "8", "9"), False),
        (label("cores", "Gt", "few"), False),
        (label("cores", "Resembles", "16"), False),
        (field("metadata.name", "In", "a-0"), True),
        (field("metadata.name", "In", "a-1"), False),
        (field("metadata.name", "NotIn", "a-1"), True),
        (field("metadata.uid", "NotIn", "u9"), False),
        ({**label("disk", "In", "ssd"), **field("metadata.name", "In", "a-1")}, False),
        ({**label("disk", "In", "ssd"), **field("metadata.name", "In", "a-0")}, True),
        ({}, False),
        (None, False),
    ],
)
def test_required_node_affinity(term: object, is_met: bool) -> None:
    assert why(required(term)) == ("" if is_met else "node affinity")


def test_one_term_is_enough_and_none_is_not() -> None:
    assert why(required(label("disk", "In", "hdd"), label("disk", "In", "ssd"))) == ""
    assert why(required()) == "node affinity"


def test_preferred_affinity_forbids_nothing() -> None:
    key = "preferredDuringSchedulingIgnoredDuringExecution"
    preference = [{"weight": 1, "preference": label("disk", "In", "hdd")}]
    assert why({"affinity": {"nodeAffinity": {key: preference}}}) == ""


@pytest.mark.parametrize(
    ("wanted", "reason"),
    [({"name": "linux"}, ""), ({"name": "windows"}, "runs linux, not windows"), (None, "")],
)
def test_operating_system(wanted: object, reason: str) -> None:
    assert why({"os": wanted}) == reason


def test_an_unlabelled_operating_system_is_not_held_against_a_node() -> None:
    assert why({"os": {"name": "windows"}}, replace(NODE, labels={ZONE: "a"})) == ""
