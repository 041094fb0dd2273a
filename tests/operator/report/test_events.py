"""Events: one for each kind of thing that was done."""

from thalweg_operator.act.carry_out import Happening
from thalweg_operator.observe.survey import Why
from thalweg_operator.report.events import events_for
from thalweg_operator_worlds import NAMESPACE, NOW_S, TOPOLOGY, topology


def happening(number: int, why: Why = Why.FIRST, message: str = "") -> Happening:
    return Happening(task=f"split-{number}", why=why, message=message or f"split-{number} starts")


def test_one_event_a_reason() -> None:
    found = events_for(
        topology(),
        [*(happening(n) for n in range(100)), happening(7, Why.NODE_LOST, "split-7 lost its node")],
        now_s=NOW_S,
        reporter="operator-1",
    )
    assert [(event["reason"], event["type"]) for event in found] == [
        ("Created", "Normal"),
        ("NodeLost", "Warning"),
    ]
    assert found[0]["note"] == (
        "split-0 starts; split-1 starts; split-2 starts; split-3 starts; split-4 starts; "
        "and 95 more"
    )
    assert found[1]["note"] == "split-7 lost its node"


def test_an_event_is_about_the_topology() -> None:
    (event,) = events_for(topology(), [happening(0)], now_s=NOW_S + 0.25, reporter="operator-1")
    assert event["regarding"] == {
        "apiVersion": "thalweg.dev/v1alpha1",
        "kind": "StreamTopology",
        "namespace": NAMESPACE,
        "name": TOPOLOGY,
        "uid": "uid-topology",
    }
    assert event["metadata"]["namespace"] == NAMESPACE
    assert event["eventTime"] == "2026-03-01T12:00:00.250000Z"
    assert event["reportingInstance"] == "operator-1"


def test_what_the_server_would_refuse_is_cut() -> None:
    (event,) = events_for(
        topology(), [happening(0, message="→" * 2000)], now_s=NOW_S, reporter="h" * 253
    )
    assert len(event["note"].encode()) <= 1024
    assert len(event["reportingInstance"]) <= 128
    assert len(event["reason"]) <= 128


def test_nothing_done_nothing_told() -> None:
    assert events_for(topology(), [], now_s=NOW_S, reporter="x") == []


def test_every_reason_is_one_camel_case_word() -> None:
    for why in Why:
        assert why.value[0].isupper()
        assert why.value.isalpha()
