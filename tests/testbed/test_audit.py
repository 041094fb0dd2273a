"""The audit log as values: order, filters, and a log that is still being written."""

import json
from pathlib import Path
from typing import Any

import pytest

from thalweg_testbed.audit import AuditLog


def _event(verb: str, resource: str, name: str, **other: Any) -> dict[str, Any]:
    target = {"resource": resource, "namespace": "shop", "name": name, **other.pop("target", {})}
    return {
        "verb": verb,
        "stage": "ResponseComplete",
        "user": {"username": other.pop("user", "operator")},
        "userAgent": other.pop("agent", "thalweg/1"),
        "objectRef": target,
        "requestURI": other.pop("uri", "/api"),
        "responseStatus": {"code": other.pop("code", 200)},
        "requestReceivedTimestamp": "2026-01-01T10:00:00.000001Z",
        "stageTimestamp": "2026-01-01T10:00:00.250001Z",
        **other,
    }


def _log(path: Path, *events: dict[str, Any], end: str = "\n") -> Path:
    path.write_text("\n".join(json.dumps(event) for event in events) + end)
    return path


@pytest.fixture
def log(tmp_path: Path) -> AuditLog:
    events = [
        _event("create", "pods", "a", code=201),
        _event("get", "pods", "a"),
        _event("patch", "pods", "a", target={"subresource": "status"}),
        _event("update", "leases", "leader", user="other", agent="kubectl/v1"),
        _event("delete", "pods", "b", code=404),
        _event("create", "pods", "c", uri="/api/v1/pods?dryRun=All&fieldManager=x"),
        _event("create", "pods", "d", impersonatedUser={"username": "guest"}),
    ]
    return AuditLog.read(_log(tmp_path / "audit.log", *events))


def test_writes_of_one_user_in_order(log: AuditLog) -> None:
    assert log.writes_by("operator").lines() == [
        "create pods shop/a",
        "patch pods/status shop/a",
        "delete pods shop/b",
    ]


def test_an_impersonated_user_is_the_one_who_wrote(log: AuditLog) -> None:
    assert log.writes_by("guest").lines() == ["create pods shop/d"]


def test_a_subresource_is_another_resource(log: AuditLog) -> None:
    assert len(log.of("pods").writes()) == 3
    assert len(log.of("pods/status")) == 1
    assert len(log.of("pods", namespace="elsewhere")) == 0


def test_by_user_agent(log: AuditLog) -> None:
    assert log.by_agent("kubectl/").lines() == ["update leases shop/leader"]


def test_refused_requests_are_told_apart(log: AuditLog) -> None:
    assert [record.succeeded for record in log.writes_by("operator")] == [True, True, False]


def test_times_are_read(log: AuditLog) -> None:
    record = log.records[0]
    assert (record.completed - record.received).total_seconds() == pytest.approx(0.25)


def test_an_unfinished_last_line_is_left_for_the_next_reading(tmp_path: Path) -> None:
    path = tmp_path / "audit.log"
    first = AuditLog.read(_log(path, _event("create", "pods", "a"), end='\n{"verb": "cre'))
    second = AuditLog.read(_log(path, _event("create", "pods", "a"), _event("get", "pods", "b")))
    assert first.lines() == ["create pods shop/a"]
    assert second.since(first).lines() == ["get pods shop/b"]


def test_requests_without_an_object(tmp_path: Path) -> None:
    event = _event("create", "", "")
    del event["objectRef"], event["responseStatus"]
    (record,) = AuditLog.read(_log(tmp_path / "audit.log", event))
    assert (record.what, record.code) == ("create", 0)
