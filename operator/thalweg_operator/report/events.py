"""Events: one for each kind of thing that a turn did to a topology, never one for each pod."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any

from thalweg_operator.act.carry_out import Happening
from thalweg_operator.observe.survey import Why
from thalweg_operator.report.conditions import shortened

_NOTE_BYTES = 1024
_INSTANCE_CHARACTERS = 128
_NAMED_AT_MOST = 5
_WARNINGS = frozenset(
    {Why.LOST, Why.NODE_LOST, Why.FAILED, Why.STUCK, Why.NO_ROOM_FOR_TWO, Why.REFUSED}
)


def events_for(
    topology: Mapping[str, Any], happenings: Iterable[Happening], *, now_s: float, reporter: str
) -> list[dict[str, Any]]:
    """The events to post about a topology."""
    by_reason: dict[Why, list[str]] = {}
    for happening in happenings:
        by_reason.setdefault(happening.why, []).append(happening.message)
    return [
        _event(topology, reason, _note(messages), now_s=now_s, reporter=reporter)
        for reason, messages in by_reason.items()
    ]


def _note(messages: list[str]) -> str:
    more = len(messages) - _NAMED_AT_MOST
    text = "; ".join(messages[:_NAMED_AT_MOST]) + (f"; and {more} more" if more > 0 else "")
    return shortened(text, _NOTE_BYTES)


def _event(
    topology: Mapping[str, Any], reason: Why, note: str, *, now_s: float, reporter: str
) -> dict[str, Any]:
    metadata = topology["metadata"]
    return {
        "metadata": {
            "generateName": f"{metadata['name']}-",
            "namespace": metadata["namespace"],
        },
        "eventTime": datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ"),
        "reportingController": "thalweg.dev/operator",
        "reportingInstance": reporter[:_INSTANCE_CHARACTERS],
        "action": "Reconcile",
        "reason": str(reason),
        "note": note,
        "type": "Warning" if reason in _WARNINGS else "Normal",
        "regarding": {
            "apiVersion": topology["apiVersion"],
            "kind": topology["kind"],
            "namespace": metadata["namespace"],
            "name": metadata["name"],
            "uid": metadata["uid"],
        },
    }
