"""The pod of a task: the user's template, kept whole, with what a task needs on top."""

import json
from copy import deepcopy
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_operator import naming
from thalweg_operator.act.manifests import Berth, PodOrder, pod_manifest, template_hash
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.eligibility import is_eligible
from thalweg_operator_worlds import NAMESPACE, TOPOLOGY, ZONE, node, owner, template

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PINNED = Berth(domain_label=ZONE, domain="a", node="n1")
IN_DOMAIN = {"key": ZONE, "operator": "In", "values": ["a"]}
ON_NODE = {"key": "metadata.name", "operator": "In", "values": ["n1"]}

FULL_TEMPLATE: dict[str, Any] = {
    "metadata": {
        "labels": {"app": "shop", naming.MANAGED_BY: "Helm"},
        "annotations": {"note": "mine"},
    },
    "spec": {
        "serviceAccountName": "worker",
        "nodeSelector": {"disk": "ssd"},
        "tolerations": [{"key": "stream", "operator": "Exists"}],
        "terminationGracePeriodSeconds": 90,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "affinity": {
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": 1, "preference": {"matchExpressions": [IN_DOMAIN]}}
                ]
            }
        },
        "initContainers": [{"name": "fetch", "image": "fetch:1"}],
        "containers": [
            {
                "name": "worker",
                "image": "worker:1",
                "env": [{"name": "COLOUR", "value": "$(THALWEG_TASK)"}],
                "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            },
            {"name": "sidecar", "image": "proxy:1"},
        ],
        "volumes": [{"name": "scratch", "emptyDir": {}}],
    },
}


def order(of: dict[str, Any] | None = None, *, sends: bool = True) -> PodOrder:
    return PodOrder(
        namespace=NAMESPACE,
        topology=TOPOLOGY,
        task=TaskKey(vertex="split", index=3),
        incarnation=17,
        template=template() if of is None else of,
        sends=sends,
        berth=PINNED,
        planned_node="n1",
        owner=owner(),
    )


def worker(pod: dict[str, Any]) -> dict[str, Any]:
    found: dict[str, Any] = pod["spec"]["containers"][0]
    return found


def environment(pod: dict[str, Any]) -> dict[str, Any]:
    entries = worker(pod)["env"]
    assert len({entry["name"] for entry in entries}) == len(entries)
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in entries}


def terms_of(pod: dict[str, Any]) -> list[dict[str, Any]]:
    required = pod["spec"]["affinity"]["nodeAffinity"][REQUIRED]
    found: list[dict[str, Any]] = required["nodeSelectorTerms"]
    return found


def contains(whole: Any, part: Any) -> bool:
    """Whether every value of a part stands in the whole, lists in any order."""
    if isinstance(part, dict):
        return all(key in whole and contains(whole[key], value) for key, value in part.items())
    if isinstance(part, list):
        return all(any(contains(there, value) for there in whole) for value in part)
    return bool(whole == part)


def test_who_the_pod_is() -> None:
    pod = pod_manifest(order())
    metadata = pod["metadata"]
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    assert (metadata["namespace"], metadata["name"]) == (NAMESPACE, "word-count-split-3-17")
    assert metadata["labels"] == {
        naming.MANAGED_BY: "thalweg",
        naming.TOPOLOGY: TOPOLOGY,
        naming.VERTEX: "split",
        naming.TASK: "3",
        naming.INCARNATION: "17",
        naming.STATE: "active",
        naming.TEMPLATE_HASH: template_hash(template(), sends=True),
    }
    assert metadata["annotations"] == {naming.PLANNED_NODE: "n1"}
    assert [(ref["uid"], ref["controller"]) for ref in metadata["ownerReferences"]] == [
        ("uid-topology", True)
    ]
    assert pod["spec"]["restartPolicy"] == "Always"


def test_what_the_worker_is_told() -> None:
    assert environment(pod_manifest(order())) == {
        "THALWEG_TOPOLOGY": TOPOLOGY,
        "THALWEG_VERTEX": "split",
        "THALWEG_TASK": "split-3",
        "THALWEG_INCARNATION": "17",
        "THALWEG_DOMAIN": "a",
        "THALWEG_ROUTES": "/etc/thalweg/routes/routes.json",
        "THALWEG_NODE": {"fieldRef": {"fieldPath": "spec.nodeName"}},
        "THALWEG_POD": {"fieldRef": {"fieldPath": "metadata.name"}},
        "THALWEG_NAMESPACE": {"fieldRef": {"fieldPath": "metadata.namespace"}},
    }


def test_routes_are_mounted_and_may_come_later() -> None:
    spec = pod_manifest(order())["spec"]
    assert spec["volumes"] == [
        {
            "name": "thalweg-routes",
            "configMap": {"name": "word-count-split-routes", "optional": True},
        }
    ]
    assert spec["containers"][0]["volumeMounts"] == [
        {"name": "thalweg-routes", "mountPath": "/etc/thalweg/routes", "readOnly": True}
    ]


def test_a_sink_has_no_routes() -> None:
    pod = pod_manifest(order(sends=False))
    assert "volumes" not in pod["spec"]
    assert "THALWEG_ROUTES" not in environment(pod)


def test_nothing_of_the_template_is_lost() -> None:
    pod = pod_manifest(order(FULL_TEMPLATE))
    kept = deepcopy(FULL_TEMPLATE)
    del kept["metadata"]["labels"][naming.MANAGED_BY]
    assert contains(pod["spec"], kept["spec"])
    assert contains(pod["metadata"], kept["metadata"])
    assert pod["metadata"]["labels"][naming.MANAGED_BY] == "thalweg"
    assert pod["spec"]["containers"][1] == FULL_TEMPLATE["spec"]["containers"][1]


def test_the_users_variables_can_refer_to_ours() -> None:
    names = [entry["name"] for entry in worker(pod_manifest(order(FULL_TEMPLATE)))["env"]]
    assert names.index("THALWEG_TASK") < names.index("COLOUR")


def test_a_restricted_template_stays_restricted() -> None:
    """Pod Security `restricted`: only some kinds of volumes, and security contexts untouched."""
    spec = pod_manifest(order(FULL_TEMPLATE))["spec"]
    allowed = {"configMap", "emptyDir", "projected", "secret", "downwardAPI"}
    assert all(set(volume) - {"name"} <= allowed for volume in spec["volumes"])
    assert spec["securityContext"] == FULL_TEMPLATE["spec"]["securityContext"]
    own = FULL_TEMPLATE["spec"]["containers"][0]["securityContext"]
    assert spec["containers"][0]["securityContext"] == own
    added = set(spec) - set(FULL_TEMPLATE["spec"])
    assert added == {"restartPolicy"}


def test_reserved_names_are_ours_where_the_crd_was_not_asked() -> None:
    stolen = template(volumes=[{"name": "thalweg-routes", "emptyDir": {}}])
    stolen["metadata"] = {
        "labels": {naming.TASK: "99"},
        "annotations": {naming.PLANNED_NODE: "elsewhere"},
    }
    stolen["spec"]["containers"][0] |= {
        "env": [{"name": "THALWEG_TASK", "value": "stolen"}, {"name": "MINE", "value": "1"}],
        "volumeMounts": [{"name": "thalweg-routes", "mountPath": "/etc/thalweg/routes"}],
    }
    pod = pod_manifest(order(stolen))
    assert environment(pod)["THALWEG_TASK"] == "split-3"
    assert environment(pod)["MINE"] == "1"
    assert [list(volume) for volume in pod["spec"]["volumes"]] == [["name", "configMap"]]
    assert [mount.get("readOnly") for mount in worker(pod)["volumeMounts"]] == [True]
    assert pod["metadata"]["labels"][naming.TASK] == "3"
    assert pod["metadata"]["annotations"][naming.PLANNED_NODE] == "n1"


@pytest.mark.parametrize(
    ("berth", "term"),
    [
        (PINNED, {"matchExpressions": [IN_DOMAIN], "matchFields": [ON_NODE]}),
        (replace(PINNED, node=None), {"matchExpressions": [IN_DOMAIN]}),
        (
            Berth(domain_label=ZONE),
            {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]},
        ),
    ],
    ids=["node", "domain", "anywhere"],
)
def test_berth(berth: Berth, term: dict[str, Any]) -> None:
    pod = pod_manifest(replace(order(), berth=berth))
    assert terms_of(pod) == [term]


def test_the_berth_goes_into_each_of_the_users_alternatives() -> None:
    fast = {"key": "disk", "operator": "In", "values": ["ssd"]}
    own = {"matchExpressions": [fast]}
    other = {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["n9"]}]}
    terms = [own, other]
    narrowed = terms_of(pod_manifest(order(template(affinity=affinity(*terms)))))
    assert narrowed == [
        {"matchExpressions": [fast, IN_DOMAIN], "matchFields": [ON_NODE]},
        {"matchExpressions": [IN_DOMAIN], "matchFields": [*other["matchFields"], ON_NODE]},
    ]


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": list(terms)}}}


expressions = st.fixed_dictionaries(
    {
        "key": st.sampled_from(["disk", ZONE]),
        "operator": st.sampled_from(["In", "NotIn", "Exists", "DoesNotExist"]),
        "values": st.lists(st.sampled_from(["ssd", "a", "b"]), max_size=2),
    }
)
terms = st.fixed_dictionaries({}, optional={"matchExpressions": st.lists(expressions, max_size=2)})


@given(own=st.none() | st.lists(terms, min_size=1, max_size=3), pinned=st.booleans())
def test_a_pod_may_run_exactly_where_both_the_user_and_the_plan_say(
    own: list[dict[str, Any]] | None, pinned: bool
) -> None:
    given_template = template() if own is None else template(affinity=affinity(*own))
    berth = PINNED if pinned else Berth(domain_label=ZONE)
    spec = pod_manifest(replace(order(given_template), berth=berth))["spec"]
    for each in (node("n1"), node("n2"), node("n3", domain="b"), node("n4", domain=None)):
        by_user = is_eligible(given_template["spec"], each, domain_label=ZONE)
        by_plan = each.name == "n1" if pinned else ZONE in each.labels
        assert is_eligible(spec, each, domain_label=ZONE) is (by_user and by_plan)


def test_inputs_are_not_changed() -> None:
    before = deepcopy(FULL_TEMPLATE)
    pod_manifest(order(FULL_TEMPLATE))["spec"]["containers"].clear()
    assert before == FULL_TEMPLATE


def test_a_task_without_a_plan_has_no_planned_node() -> None:
    pod = pod_manifest(replace(order(), planned_node=None))
    assert pod["metadata"]["annotations"] == {}


def test_the_hash_does_not_depend_on_order_or_on_the_pod() -> None:
    shuffled = json.loads(json.dumps(FULL_TEMPLATE, sort_keys=True))
    assert template_hash(shuffled, sends=True) == template_hash(FULL_TEMPLATE, sends=True)
    here = pod_manifest(order())["metadata"]["labels"][naming.TEMPLATE_HASH]
    there = pod_manifest(
        replace(order(), incarnation=99, berth=Berth(domain_label=ZONE), planned_node=None)
    )
    assert there["metadata"]["labels"][naming.TEMPLATE_HASH] == here


@pytest.mark.parametrize(
    "changed",
    [
        template(image="worker:2"),
        template(cpu="2"),
        template(nodeSelector={"disk": "ssd"}),
        template(terminationGracePeriodSeconds=1),
        {**template(), "metadata": {"labels": {"app": "x"}}},
        {**template(), "metadata": {"annotations": {"note": "x"}}},
    ],
)
def test_the_hash_changes_with_the_template(changed: dict[str, Any]) -> None:
    assert template_hash(changed, sends=True) != template_hash(template(), sends=True)


def test_the_hash_changes_when_a_vertex_begins_to_send() -> None:
    assert template_hash(template(), sends=True) != template_hash(template(), sends=False)


def test_the_hash_is_a_label_value() -> None:
    text = template_hash(template(), sends=True)
    assert text.isalnum()
    assert 0 < len(text) <= 63
