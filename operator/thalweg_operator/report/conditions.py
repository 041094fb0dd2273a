"""Conditions by the Kubernetes API conventions, as pure functions."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

_MESSAGE_BYTES = 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """One thing that is true, false or unknown of a topology."""

    kind: str
    status: bool | None
    reason: str
    message: str
    gist: str = ""
    """How the message begins, where the rest of it changes all the time and is no news."""


def merged_conditions(
    before: Iterable[Mapping[str, Any]],
    now: Iterable[Condition],
    *,
    generation: int,
    at: str,
) -> list[dict[str, Any]]:
    """The list for the status: ours as they are now, then those that we say nothing about.

    A condition that did not turn keeps the time of its last turn.
    """
    earlier = {str(condition.get("type")): dict(condition) for condition in before}
    ours = [
        _entry(condition, earlier.pop(condition.kind, None), generation=generation, at=at)
        for condition in now
    ]
    return [*ours, *earlier.values()]


def _entry(
    condition: Condition, earlier: Mapping[str, Any] | None, *, generation: int, at: str
) -> dict[str, Any]:
    status = {True: "True", False: "False", None: "Unknown"}[condition.status]
    turned_at, message = at, shortened(condition.message, _MESSAGE_BYTES)
    if earlier is not None and earlier.get("status") == status:
        turned_at = str(earlier.get("lastTransitionTime") or at)
        if condition.gist and str(earlier.get("message")).startswith(condition.gist):
            message = str(earlier["message"])
    return {
        "type": condition.kind,
        "status": status,
        "reason": condition.reason,
        "message": message,
        "observedGeneration": generation,
        "lastTransitionTime": turned_at,
    }


def shortened(text: str, most_bytes: int) -> str:
    """The text, cut off with an ellipsis where it is too long: the server counts bytes.

    >>> shortened("a → b", 99), shortened("a → bcdef", 8)
    ('a → b', 'a → …')
    """
    encoded = text.encode()
    if len(encoded) <= most_bytes:
        return text
    return encoded[: most_bytes - len("…".encode())].decode(errors="ignore") + "…"
