"""What becomes of each answer, and which requests are sent again."""

import json
import time
from collections.abc import Callable
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from thalweg_operator.cluster import client as client_module
from thalweg_operator.cluster.client import Client, unguarded
from thalweg_operator.cluster.connection import Connection, connect
from thalweg_operator.cluster.resources import CONFIG_MAPS, LEASES, NODES, PODS, STREAM_TOPOLOGIES
from thalweg_operator.cluster.transport import READ_ATTEMPTS, Transport, error_of
from thalweg_operator.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    InvalidSettings,
    NotFound,
    NotLeader,
    Refused,
    Unavailable,
)

BODY = {"metadata": {"namespace": "n", "name": "x"}}


def instant(connection: Connection) -> Transport:
    return Transport(connection, pause=lambda _: None)


@pytest.mark.parametrize(
    ("status", "reason", "kind"),
    [
        (400, "BadRequest", Refused),
        (401, "Unauthorized", Unavailable),
        (403, "Forbidden", Refused),
        (404, "NotFound", NotFound),
        (408, "Timeout", Unavailable),
        (409, "AlreadyExists", AlreadyExists),
        (409, "Conflict", Conflict),
        (410, "Expired", Unavailable),
        (415, "UnsupportedMediaType", Refused),
        (422, "Invalid", Refused),
        (429, "TooManyRequests", Unavailable),
        (500, "InternalError", Unavailable),
        (503, "ServiceUnavailable", Unavailable),
    ],
)
def test_each_answer_is_one_kind_of_error(status: int, reason: str, kind: type[ApiError]) -> None:
    error = error_of(status, {"reason": reason, "message": "why"}, "GET /x")
    assert type(error) is kind
    assert (error.status, error.reason, str(error)) == (status, reason, "GET /x: why")


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        (PODS.path(), "/api/v1/pods"),
        (PODS.path("n", "p", "eviction"), "/api/v1/namespaces/n/pods/p/eviction"),
        (NODES.path(None, "a"), "/api/v1/nodes/a"),
        (NODES.path("ignored", "a"), "/api/v1/nodes/a"),
        (LEASES.path("n"), "/apis/coordination.k8s.io/v1/namespaces/n/leases"),
        (
            STREAM_TOPOLOGIES.path("n", "t", "status"),
            "/apis/thalweg.dev/v1alpha1/namespaces/n/streamtopologies/t/status",
        ),
        (PODS.path("n", "../nodes/a"), "/api/v1/namespaces/n/pods/..%2Fnodes%2Fa"),
    ],
)
def test_paths(path: str, wanted: str) -> None:
    assert path == wanted


def test_a_read_is_sent_again_until_it_is_answered(scripted: Any, connection: Connection) -> None:
    scripted.replies = [(500, {}), (429, {}), (200, {"kind": "Pod"})]
    assert instant(connection).read("/x", {}) == {"kind": "Pod"}
    assert scripted.methods() == ["GET", "GET", "GET"]


def test_a_read_is_given_up_after_some_attempts(scripted: Any, connection: Connection) -> None:
    scripted.replies = [(503, {"message": "later"})]
    with pytest.raises(Unavailable, match="later"):
        instant(connection).read("/x", {})
    assert len(scripted.requests) == READ_ATTEMPTS


@pytest.mark.parametrize("status", [404, 403, 409, 410])
def test_a_read_that_would_fail_again_is_not_sent_again(
    scripted: Any, connection: Connection, status: int
) -> None:
    scripted.replies = [(status, {})]
    with pytest.raises(ApiError):
        instant(connection).read("/x", {})
    assert len(scripted.requests) == 1


@pytest.mark.parametrize("body", [b"<html>proxy</html>", b"[]", b""])
def test_an_answer_that_is_no_object_is_unavailable(
    scripted: Any, connection: Connection, body: bytes
) -> None:
    scripted.replies = [(200, body)]
    with pytest.raises(Unavailable):
        instant(connection).read("/x", {})


def test_a_server_that_is_not_there_is_unavailable(kubeconfig_of: Callable[..., Path]) -> None:
    nowhere = connect(kubeconfig_of("http://127.0.0.1:1"))
    with pytest.raises(Unavailable, match="GET /x"):
        instant(nowhere).read("/x", {})


def test_a_server_that_does_not_answer_is_unavailable(
    scripted: Any, connection: Connection
) -> None:
    scripted.hold.clear()
    client = Client(connection, guard=unguarded, read_timeout_s=0.05, read_attempts=1)
    with pytest.raises(Unavailable):
        client.get(PODS, "n", "p")


@pytest.mark.parametrize(
    "write",
    [
        lambda client: client.create(CONFIG_MAPS, BODY),
        lambda client: client.apply(CONFIG_MAPS, BODY),
        lambda client: client.merge(CONFIG_MAPS, "n", "x", {}),
        lambda client: client.replace(CONFIG_MAPS, BODY),
        lambda client: client.delete(CONFIG_MAPS, "n", "x", uid="u"),
        lambda client: client.evict("n", "x", uid="u"),
    ],
    ids=["create", "apply", "merge", "replace", "delete", "evict"],
)
class TestEveryWrite:
    def test_is_sent_once(
        self, scripted: Any, connection: Connection, write: Callable[[Client], object]
    ) -> None:
        scripted.replies = [(503, {})]
        with pytest.raises(Unavailable):
            write(Client(connection, guard=unguarded))
        assert len(scripted.requests) == 1

    def test_asks_the_guard_first(
        self, scripted: Any, connection: Connection, write: Callable[[Client], object]
    ) -> None:
        def refuse() -> None:
            raise NotLeader("no")

        counted: list[str] = []
        client = Client(connection, guard=refuse, count_write=lambda verb, _: counted.append(verb))
        with pytest.raises(NotLeader):
            write(client)
        assert scripted.requests == []
        assert counted == []

    def test_is_counted(self, connection: Connection, write: Callable[[Client], object]) -> None:
        counted: list[str] = []
        client = Client(
            connection, guard=unguarded, count_write=lambda verb, _: counted.append(verb)
        )
        write(client)
        assert len(counted) == 1


def test_reads_do_not_ask_the_guard(scripted: Any, connection: Connection) -> None:
    def refuse() -> None:
        raise NotLeader("no")

    client = Client(connection, guard=refuse)
    scripted.replies = [(200, {"items": []}), (404, {})]
    assert client.list(PODS) == []
    assert client.get(PODS, "n", "p") is None


def test_preconditions_are_sent(scripted: Any, connection: Connection) -> None:
    client = Client(connection, guard=unguarded)
    client.delete(PODS, "n", "p", uid="u1", resource_version="7", grace_s=0)
    client.merge(PODS, "n", "p", {"metadata": {"labels": {"a": "b"}}}, uid="u1")
    deleted, merged = (json.loads(body) for _, _, body in scripted.requests)
    assert deleted["preconditions"] == {"uid": "u1", "resourceVersion": "7"}
    assert deleted["gracePeriodSeconds"] == 0
    assert merged["metadata"] == {"labels": {"a": "b"}, "uid": "u1"}


def test_a_list_starts_anew_when_its_page_has_expired(
    scripted: Any, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_module, "PAGE_ITEMS", 1)
    first = {"items": [{"metadata": {"name": "a"}}], "metadata": {"continue": "t"}}
    last = {"items": [{"metadata": {"name": "b"}}], "metadata": {}}
    scripted.replies = [(200, first), (410, {}), (200, first), (200, last)]
    items = Client(connection, guard=unguarded).list(PODS, labels="a=b")
    assert [item["metadata"]["name"] for item in items] == ["a", "b"]
    assert {(item["apiVersion"], item["kind"]) for item in items} == {("v1", "Pod")}
    paths = [path for _, path, _ in scripted.requests]
    assert paths[0] == "/api/v1/pods?labelSelector=a%3Db&limit=1"
    assert paths[1] == paths[0] + "&continue=t"


def test_the_token_and_the_agent_are_sent(scripted: Any, connection: Connection) -> None:
    instant(connection).read("/x", {})
    assert scripted.headers[0]["Authorization"] == "Bearer t0"
    assert scripted.headers[0]["User-Agent"] == "tests"


def test_the_servers_time_is_told_once_it_answered(
    scripted: Any, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    two_hours_on = time.time() + 7200
    monkeypatch.setattr(
        scripted.http.RequestHandlerClass,
        "date_time_string",
        lambda *_: formatdate(two_hours_on, usegmt=True),
    )
    client = Client(connection, guard=unguarded)
    assert client.server_now_s() is None
    client.get(PODS, "n", "p")
    assert client.server_now_s() == pytest.approx(two_hours_on, abs=60)


def test_an_answer_without_a_date_changes_nothing(
    scripted: Any, connection: Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scripted.http.RequestHandlerClass, "date_time_string", lambda *_: "soon")
    client = Client(connection, guard=unguarded)
    client.get(PODS, "n", "p")
    assert client.server_now_s() is None


def test_a_kubeconfig_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidSettings, match="nowhere"):
        connect(tmp_path / "nowhere")
