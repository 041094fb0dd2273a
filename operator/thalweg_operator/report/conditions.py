"""Conditions by the Kubernetes API conventions, as pure functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_MESSAGE_LIMIT = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that is true, false or unknown of a topology."""

    kind: str
    status: bool | None
    reason: str
    message: str


def merged_conditions(
    before: Iterable[Mapping[str, Any]],
    now: Iterable[Condition],
    *,
    generation: int,
    at: str,
) -> list[dict[str, Any]]:
    """The list for the status. A condition that did not turn keeps the time of its last turn."""
    earlier = {condition.get("type"): condition for condition in before}
    return [
        _entry(condition, earlier.get(condition.kind), generation=generation, at=at)
        for condition in now
    ]


def _entry(
    condition: Condition, earlier: Mapping[str, Any] | None, *, generation: int, at: str
) -> dict[str, Any]:
    status = {True: "True", False: "False", None: "Unknown"}[condition.status]
    turned_at = at
    if earlier is not None and earlier.get("status") == status:
        turned_at = str(earlier.get("lastTransitionTime") or at)
    return {
        "type": condition.kind,
        "status": status,
        "reason": condition.reason,
        "message": condition.message[:_MESSAGE_LIMIT],
        "observedGeneration": generation,
        "lastTransitionTime": turned_at,
    }
