"""The client against a real API server: what only the server can refuse."""

from typing import Any

import pytest

from thalweg_operator.cluster import client as client_module
from thalweg_operator.cluster.client import Client, unguarded
from thalweg_operator.cluster.connection import connect
from thalweg_operator.cluster.resources import CONFIG_MAPS, POD_DISRUPTION_BUDGETS, PODS, Object
from thalweg_operator.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    NotFound,
    Refused,
    Unavailable,
)
from thalweg_testbed.cluster import Cluster
from thalweg_testbed.waiting import eventually

pytestmark = pytest.mark.control_plane

NO_SUCH_UID = "00000000-0000-4000-8000-000000000000"


@pytest.fixture
def client(control_plane: Cluster) -> Client:
    return Client(connect(control_plane.kubeconfig, user_agent="client-test"), guard=unguarded)


def config_map(namespace: str, name: str = "one", **data: str) -> Object:
    return {"metadata": {"namespace": namespace, "name": name}, "data": data}


def pod(namespace: str, name: str = "one") -> Object:
    return {
        "metadata": {"namespace": namespace, "name": name, "labels": {"app": name}},
        "spec": {"containers": [{"name": "main", "image": "registry.k8s.io/pause:3.10"}]},
    }


def test_create_then_get(client: Client, namespace: str) -> None:
    made = client.create(CONFIG_MAPS, config_map(namespace, a="1"))
    assert client.get(CONFIG_MAPS, namespace, "one") == made
    with pytest.raises(AlreadyExists):
        client.create(CONFIG_MAPS, config_map(namespace))


def test_what_is_not_there_is_none(client: Client, namespace: str) -> None:
    assert client.get(CONFIG_MAPS, namespace, "none") is None


def test_apply_creates_changes_and_lets_go(client: Client, namespace: str) -> None:
    client.apply(CONFIG_MAPS, config_map(namespace, a="1", b="2"))
    assert client.apply(CONFIG_MAPS, config_map(namespace, b="3"))["data"] == {"b": "3"}


def test_the_same_applied_again_changes_nothing(client: Client, namespace: str) -> None:
    first = client.apply(CONFIG_MAPS, config_map(namespace, a="1"))
    second = client.apply(CONFIG_MAPS, config_map(namespace, a="1"))
    assert first["metadata"]["resourceVersion"] == second["metadata"]["resourceVersion"]


def test_apply_takes_a_field_from_another_manager(
    client: Client, control_plane: Cluster, namespace: str
) -> None:
    control_plane.apply(
        {"apiVersion": "v1", "kind": "ConfigMap", **config_map(namespace, a="theirs", c="kept")}
    )
    data = client.apply(CONFIG_MAPS, config_map(namespace, a="ours"))["data"]
    assert data == {"a": "ours", "c": "kept"}


def test_apply_with_a_uid_never_makes_what_is_gone(client: Client, namespace: str) -> None:
    made = client.apply(CONFIG_MAPS, config_map(namespace))
    uid = made["metadata"]["uid"]
    client.delete(CONFIG_MAPS, namespace, "one", uid=uid)
    with pytest.raises((Conflict, NotFound)):
        client.apply(CONFIG_MAPS, config_map(namespace), uid=uid)
    assert client.get(CONFIG_MAPS, namespace, "one") is None


@pytest.mark.parametrize("stale", [{"uid": NO_SUCH_UID}, {"resource_version": "1"}])
def test_a_stale_merge_or_apply_is_refused(
    client: Client, namespace: str, stale: dict[str, str]
) -> None:
    before = client.create(CONFIG_MAPS, config_map(namespace, a="1"))
    with pytest.raises(Conflict):
        client.merge(CONFIG_MAPS, namespace, "one", {"data": {"a": "2"}}, **stale)
    with pytest.raises(Conflict):
        client.apply(CONFIG_MAPS, config_map(namespace, a="2"), **stale)
    assert client.get(CONFIG_MAPS, namespace, "one") == before


def test_a_merge_of_what_was_read_is_taken(client: Client, namespace: str) -> None:
    metadata = client.create(CONFIG_MAPS, config_map(namespace, a="1"))["metadata"]
    merged = client.merge(
        CONFIG_MAPS,
        namespace,
        "one",
        {"data": {"b": "2"}},
        uid=metadata["uid"],
        resource_version=metadata["resourceVersion"],
    )
    assert merged["data"] == {"a": "1", "b": "2"}


def test_delete_takes_that_very_object_only(client: Client, namespace: str) -> None:
    metadata = client.create(CONFIG_MAPS, config_map(namespace))["metadata"]
    with pytest.raises(Conflict):
        client.delete(CONFIG_MAPS, namespace, "one", uid=NO_SUCH_UID)
    with pytest.raises(Conflict):
        client.delete(CONFIG_MAPS, namespace, "one", uid=metadata["uid"], resource_version="1")
    assert client.get(CONFIG_MAPS, namespace, "one") is not None
    client.delete(CONFIG_MAPS, namespace, "one", uid=metadata["uid"])
    client.delete(CONFIG_MAPS, namespace, "one", uid=metadata["uid"])
    assert client.get(CONFIG_MAPS, namespace, "one") is None


def test_a_replace_needs_the_present_version(client: Client, namespace: str) -> None:
    made = client.create(CONFIG_MAPS, config_map(namespace, a="1"))
    client.replace(CONFIG_MAPS, {**made, "data": {"a": "2"}})
    with pytest.raises(Conflict):
        client.replace(CONFIG_MAPS, {**made, "data": {"a": "3"}})


def test_lists_come_in_pages(
    client: Client, control_plane: Cluster, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "PAGE_ITEMS", 3)
    for number in range(7):
        body = config_map(namespace, f"page-{number}")
        body["metadata"]["labels"] = {"paged": "yes"}
        client.create(CONFIG_MAPS, body)
    items = client.list(CONFIG_MAPS, namespace=namespace, labels="paged=yes")
    assert [item["metadata"]["name"] for item in items] == [f"page-{n}" for n in range(7)]
    assert {item["kind"] for item in items} == {"ConfigMap"}

    def three_pages() -> bool:
        asked = control_plane.audit().by_agent("client-test").of("configmaps", namespace=namespace)
        return sum(record.verb == "list" for record in asked) == 3

    eventually(three_pages)


def test_a_field_selects(client: Client, namespace: str) -> None:
    for name in ("a", "b"):
        client.create(CONFIG_MAPS, config_map(namespace, name))
    items = client.list(CONFIG_MAPS, namespace=namespace, fields="metadata.name=b")
    assert [item["metadata"]["name"] for item in items] == ["b"]


def test_what_is_wrong_is_refused_in_the_servers_words(client: Client, namespace: str) -> None:
    with pytest.raises(Refused, match="RFC 1123 subdomain"):
        client.create(CONFIG_MAPS, config_map(namespace, "Not_A_Name"))


def test_a_field_that_the_server_does_not_know_is_refused(client: Client, namespace: str) -> None:
    unknown = {**config_map(namespace), "dta": {"a": "1"}}
    with pytest.raises(Refused, match="dta"):
        client.create(CONFIG_MAPS, unknown)
    with pytest.raises(ApiError, match="dta"):  # the server calls this one its own fault
        client.apply(CONFIG_MAPS, unknown)
    client.create(CONFIG_MAPS, config_map(namespace))
    with pytest.raises(Refused, match="dta"):
        client.merge(CONFIG_MAPS, namespace, "one", {"dta": {"a": "1"}})


def test_what_is_forbidden_is_refused(
    client: Client, control_plane: Cluster, namespace: str
) -> None:
    stranger = connect(control_plane.service_account_kubeconfig(namespace, "default"))
    with pytest.raises(Refused, match="cannot create resource"):
        Client(stranger, guard=unguarded).create(CONFIG_MAPS, config_map(namespace))


def test_eviction_asks_the_budget(client: Client, namespace: str) -> None:
    budget: dict[str, Any] = {
        "metadata": {"namespace": namespace, "name": "one"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "one"}}},
    }
    made = client.create(POD_DISRUPTION_BUDGETS, budget)
    uid = client.create(PODS, pod(namespace))["metadata"]["uid"]
    eventually(lambda: _is_counted(client, namespace), what="the budget counts the pod")
    with pytest.raises(Unavailable, match="disruption budget"):
        client.evict(namespace, "one", uid=uid)
    client.delete(POD_DISRUPTION_BUDGETS, namespace, "one", uid=made["metadata"]["uid"])
    client.evict(namespace, "one", uid=uid)
    eventually(lambda: client.get(PODS, namespace, "one") is None, what="the pod is gone")
    client.evict(namespace, "one", uid=uid)


def test_eviction_takes_that_very_pod_only(client: Client, namespace: str) -> None:
    client.create(PODS, pod(namespace))
    with pytest.raises(Conflict):
        client.evict(namespace, "one", uid=NO_SUCH_UID)
    assert client.get(PODS, namespace, "one") is not None


def _is_counted(client: Client, namespace: str) -> bool:
    budget = client.get(POD_DISRUPTION_BUDGETS, namespace, "one") or {}
    return bool(budget.get("status", {}).get("currentHealthy") == 1)
