"""StreamVertex, StreamPlan and NodeHibernation on the real API server."""

import secrets
from collections.abc import Iterator
from typing import Any

import pytest

from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import NODE_HIBERNATIONS, STREAM_PLANS, STREAM_VERTICES
from thalweg_operator.errors import Refused
from thalweg_testbed.cluster import Cluster
from thalweg_testbed.errors import CommandFailed

pytestmark = pytest.mark.control_plane

Manifest = dict[str, Any]
VERTEX = {"topology": "words", "vertex": "split", "replicas": 2, "min": 1, "max": 4}
PLAN = {
    "topology": "words",
    "generation": 3,
    "fingerprint": "abc",
    "decidedAt": "2026-01-01T00:00:00Z",
    "strategy": "Even",
    "summary": "move split-0",
    "moves": [{"task": "split-0", "from": "a-0", "to": "b-0"}],
}


def named(namespace: str | None, name: str, spec: Manifest) -> Manifest:
    metadata = {"name": name} if namespace is None else {"name": name, "namespace": namespace}
    return {"metadata": metadata, "spec": spec}


@pytest.fixture
def vertex(api: Client, namespace: str) -> Manifest:
    return api.create(STREAM_VERTICES, named(namespace, "words-split", VERTEX))


@pytest.fixture
def plan(api: Client, namespace: str) -> Manifest:
    return api.create(STREAM_PLANS, named(namespace, "words-1", PLAN))


@pytest.fixture
def sleeper(api: Client) -> Iterator[Manifest]:
    name = f"node-{secrets.token_hex(4)}"
    made = api.create(NODE_HIBERNATIONS, named(None, name, {"node": name, "desired": "Asleep"}))
    yield made
    api.delete(NODE_HIBERNATIONS, None, name, uid=made["metadata"]["uid"])


def scale(namespace: str, replicas: int) -> Manifest:
    return {
        "apiVersion": "autoscaling/v1",
        "kind": "Scale",
        "metadata": {"name": "words-split", "namespace": namespace},
        "spec": {"replicas": replicas},
    }


@pytest.mark.parametrize("replicas", [1, 3, 4])
def test_scale_within_bounds(api: Client, namespace: str, vertex: Manifest, replicas: int) -> None:
    api.merge(
        STREAM_VERTICES, namespace, "words-split", scale(namespace, replicas), subresource="scale"
    )
    found = api.get(STREAM_VERTICES, namespace, "words-split")
    assert found is not None
    assert found["spec"] == {**VERTEX, "replicas": replicas}


@pytest.mark.parametrize("replicas", [0, 5, 1025])
def test_scale_out_of_bounds(api: Client, namespace: str, vertex: Manifest, replicas: int) -> None:
    with pytest.raises(Refused) as refusal:
        api.merge(
            STREAM_VERTICES,
            namespace,
            "words-split",
            scale(namespace, replicas),
            subresource="scale",
        )
    found = api.get(STREAM_VERTICES, namespace, "words-split")
    assert found is not None
    assert found["spec"]["replicas"] == VERTEX["replicas"]
    assert "replicas" in str(refusal.value)


def test_kubectl_scale_says_where_the_bounds_are(
    control_plane: Cluster, namespace: str, vertex: Manifest
) -> None:
    with pytest.raises(CommandFailed, match=r"vertex split in StreamTopology words"):
        control_plane.kubectl("scale", "svtx/words-split", "--replicas=9", "-n", namespace)
    control_plane.kubectl("scale", "svtx/words-split", "--replicas=4", "-n", namespace)
    assert control_plane.get("svtx/words-split", "-n", namespace)["spec"]["replicas"] == 4


def test_bounds_and_replicas_change_in_one_write(
    api: Client, namespace: str, vertex: Manifest
) -> None:
    narrowed = {"spec": {"min": 3, "replicas": 3}}
    with pytest.raises(Refused, match="replicas must be between min and max"):
        api.merge(STREAM_VERTICES, namespace, "words-split", {"spec": {"min": 3}})
    changed = api.merge(STREAM_VERTICES, namespace, "words-split", narrowed)
    assert (changed["spec"]["min"], changed["spec"]["replicas"]) == (3, 3)


def test_apply_without_replicas_leaves_them(api: Client, namespace: str, vertex: Manifest) -> None:
    bounds = {key: value for key, value in VERTEX.items() if key != "replicas"}
    applied = api.apply(STREAM_VERTICES, named(namespace, "words-split", {**bounds, "max": 8}))
    assert (applied["spec"]["max"], applied["spec"]["replicas"]) == (8, 2)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"replicas": 0}, "replicas must be between min and max"),
        ({"replicas": 5}, "replicas must be between min and max"),
        ({"replicas": None}, "spec.replicas: Required value"),
        ({"min": 5, "replicas": 5}, "min must not be larger than max"),
        ({"min": 0}, "should be greater than or equal to 1"),
        ({"max": 1025}, "should be less than or equal to 1024"),
        ({"max": None}, "spec.max: Required value"),
        ({"min": None}, "spec.min: Required value"),
        ({"vertex": "count"}, "called <topology>-<vertex>; edit the StreamTopology instead"),
        ({"vertex": None}, "spec.vertex: Required value"),
        ({"topology": None}, "spec.topology: Required value"),
    ],
    ids=str,
)
def test_a_wrong_vertex_is_refused(
    api: Client, shared_namespace: str, change: Manifest, says: str
) -> None:
    spec = {key: value for key, value in (VERTEX | change).items() if value is not None}
    with pytest.raises(Refused) as refusal:
        api.create(STREAM_VERTICES, named(shared_namespace, "words-split", spec))
    assert says in str(refusal.value)


@pytest.mark.parametrize("change", [{"topology": "lines"}, {"vertex": "count"}], ids=str)
def test_a_vertex_stays_what_it_is(
    api: Client, namespace: str, vertex: Manifest, change: Manifest
) -> None:
    with pytest.raises(Refused, match="a StreamVertex cannot change its"):
        api.merge(STREAM_VERTICES, namespace, "words-split", {"spec": change})


def test_tasks_and_incarnations_are_kept(api: Client, namespace: str, vertex: Manifest) -> None:
    status = {
        "replicas": 1,
        "readyReplicas": 1,
        "selector": "thalweg.dev/vertex=split",
        "nextIncarnation": 7,
        "tasks": [{"index": 0, "incarnation": 5, "node": "a-0", "domain": "a"}],
    }
    reported = api.merge(
        STREAM_VERTICES, namespace, "words-split", {"status": status}, subresource="status"
    )
    assert reported["status"] == status


def test_a_plan_can_only_be_approved(api: Client, namespace: str, plan: Manifest) -> None:
    assert plan["spec"]["approved"] is False
    approved = api.merge(STREAM_PLANS, namespace, "words-1", {"spec": {"approved": True}})
    assert approved["spec"]["approved"] is True


@pytest.mark.parametrize(
    "change",
    [
        {"topology": "lines"},
        {"generation": 4},
        {"fingerprint": "def"},
        {"decidedAt": "2026-01-02T00:00:00Z"},
        {"strategy": "Auto"},
        {"summary": "nothing"},
        {"moves": []},
        {"moves": None},
        {"replicas": [{"vertex": "split", "from": 1, "to": 2}]},
        {"assignments": [{"task": "split-0", "node": "c-0"}]},
        {"weights": [{"from": "a", "to": "b", "shares": []}]},
        {"asleep": ["c-0"]},
        {"predicted": {"latency": "1ms"}},
        {"reasons": [{"reason": "Moved", "message": "because"}]},
        {"compared": [{"strategy": "Even", "message": "worse"}]},
    ],
    ids=str,
)
def test_a_plan_is_a_record(api: Client, namespace: str, plan: Manifest, change: Manifest) -> None:
    with pytest.raises(Refused, match=r"a StreamPlan is a record; only spec\.approved"):
        api.merge(STREAM_PLANS, namespace, "words-1", {"spec": change})


def test_a_node_is_woken_by_hand(api: Client, sleeper: Manifest) -> None:
    name = sleeper["metadata"]["name"]
    assert (sleeper["spec"]["actuator"], sleeper["spec"]["timeoutSeconds"]) == ("Cordon", 600)
    woken = api.merge(NODE_HIBERNATIONS, None, name, {"spec": {"desired": "Awake"}})
    assert woken["spec"]["desired"] == "Awake"


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"node": "other"}, "make another NodeHibernation for another node"),
        ({"desired": "Off"}, '"Asleep", "Awake"'),
        ({"actuator": "Job"}, "wake it first, then choose another actuator"),
        ({"timeoutSeconds": 29}, "should be greater than or equal to 30"),
    ],
    ids=str,
)
def test_a_wrong_hibernation_is_refused(
    api: Client, sleeper: Manifest, change: Manifest, says: str
) -> None:
    with pytest.raises(Refused) as refusal:
        api.merge(NODE_HIBERNATIONS, None, sleeper["metadata"]["name"], {"spec": change})
    assert says in str(refusal.value)


def test_a_hibernation_is_called_like_its_node(api: Client) -> None:
    wrong = named(None, "somebody", {"node": "a-0", "desired": "Asleep"})
    with pytest.raises(Refused, match="must have the name of its node"):
        api.create(NODE_HIBERNATIONS, wrong)
