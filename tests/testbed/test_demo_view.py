"""What the demo shows: one look at a topology, and the tale of its decisions."""

from io import StringIO
from typing import Any

from rich.console import Console

from thalweg_testbed.demo_view import Event, Look, look, summary


def node(name: str, domain: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "labels": {"topology.kubernetes.io/zone": domain}}}


def pod(vertex: str, node_name: str, **more: str) -> dict[str, Any]:
    labels = {"thalweg.dev/vertex": vertex, "thalweg.dev/state": "active", **more}
    return {"metadata": {"labels": labels}, "spec": {"nodeName": node_name}}


TOPOLOGY: dict[str, Any] = {
    "spec": {"vertices": [{"name": "read"}, {"name": "split"}]},
    "status": {
        "vertices": [{"name": "read", "desired": 1}, {"name": "split", "desired": 2}],
        "tasks": {"summary": "2/3"},
        "decisions": [
            {"at": "1970-01-01T00:01:40Z", "message": "split 2→3"},
            {"at": "1970-01-01T00:00:40Z", "message": "2 tasks move"},
        ],
    },
}
FLOWING = {
    "offered_per_s": 1000.0,
    "latency_s": 0.0184,
    "cross_domain_share": 0.25,
    "backlog_tuples": 0.2,
}
NODES = [node("a-0", "a"), node("b-0", "b")]


def seen(at_s: float, **flowing: Any) -> Look:
    pods = [
        pod("read", "a-0"),
        pod("split", "b-0"),
        pod("split", "b-0", **{"thalweg.dev/state": "retiring"}),
        pod("split", ""),
    ]
    return look(TOPOLOGY, pods, NODES, {**FLOWING, **flowing}, at_s)


def test_a_look_counts_the_pods_that_serve() -> None:
    found = seen(1.0)
    assert found.by_domain == {"a": {"read": 1, "split": 0}, "b": {"read": 0, "split": 1}}
    assert found.line() == (
        "tasks 2/3 (read=1 split=2)  by domain a:1 b:1  "
        "1000 tuples/s come in, latency 18.4 ms, cross-domain 25 %"
    )


def test_what_waits_is_told() -> None:
    assert "1000 tuples/s come in, 1234 waiting, " in seen(1.0, backlog_tuples=1234.4).line()


def test_what_is_unknown_is_not_zero() -> None:
    fresh = look({"spec": TOPOLOGY["spec"]}, [], NODES, {}, 1.0)
    assert "latency –, cross-domain –" in fresh.line()
    assert dict(fresh.replicas) == {"read": 0, "split": 0}


def test_the_view_shows_each_domain_and_the_last_decision() -> None:
    console = Console(width=100, record=True, file=StringIO())
    console.print(seen(1.0).view("load × 5"))
    text = console.export_text()
    assert "load × 5" in text
    assert "decided: split 2→3" in text
    assert text.count("■") == 2


def test_each_decision_is_told_with_what_was_before_and_after() -> None:
    looks = [
        seen(35.0, latency_s=0.05),
        seen(45.0, latency_s=0.03),
        seen(60.0, latency_s=0.02),
        seen(95.0, latency_s=0.2),
        seen(120.0, latency_s=0.01),
    ]
    done = [
        Event(at_s=30.0, text="apply", is_decision=False),
        Event(at_s=61.0, text="load × 5", is_decision=False),
    ]
    lines = summary(done, looks)
    heads = [line for line in lines if not line.startswith(" " * 9)]
    assert heads == [
        " 0:00  ==> apply",
        " 0:10  decided: 2 tasks move",
        " 0:31  ==> load × 5",
        " 1:10  decided: split 2→3",
    ]
    told = [line.split("latency ")[1].split(",")[0] for line in lines if line not in heads]
    assert told == ["50 ms", "20 ms", "200 ms", "10 ms"]


def test_decisions_between_two_looks_are_told_as_one() -> None:
    looks = [seen(35.0, latency_s=0.05), seen(120.0, latency_s=0.01)]
    lines = summary([], looks)
    assert [line.split(":")[0].strip() for line in lines[1:2]] == ["before"]
    assert "50 ms" in lines[1]
    assert lines[2].endswith("decided: split 2→3")
    assert "after:" in lines[3]
    assert "10 ms" in lines[3]
    assert len(lines) == 4


def test_no_look_no_tale() -> None:
    assert summary([], []) == []
