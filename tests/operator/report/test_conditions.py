"""Conditions by the conventions of Kubernetes."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_operator.report.conditions import Condition, merged_conditions, shortened

BEFORE, NOW = "2026-03-01T12:00:00Z", "2026-03-01T13:00:00Z"


def condition(
    *,
    kind: str = "Ready",
    status: bool | None = True,
    message: str = "all is well",
    gist: str = "",
) -> Condition:
    return Condition(kind=kind, status=status, reason="AllTasksReady", message=message, gist=gist)


def merged(before: list[dict[str, Any]], *now: Condition) -> list[dict[str, Any]]:
    return merged_conditions(before, now, generation=3, at=NOW)


def test_a_first_condition() -> None:
    assert merged([], condition()) == [
        {
            "type": "Ready",
            "status": "True",
            "reason": "AllTasksReady",
            "message": "all is well",
            "observedGeneration": 3,
            "lastTransitionTime": NOW,
        }
    ]


@pytest.mark.parametrize(("status", "word"), [(True, "True"), (False, "False"), (None, "Unknown")])
def test_status_words(status: bool | None, word: str) -> None:
    assert merged([], condition(status=status))[0]["status"] == word


@pytest.mark.parametrize(
    ("earlier", "turned_at"),
    [
        ({"status": "True", "lastTransitionTime": BEFORE}, BEFORE),
        ({"status": "False", "lastTransitionTime": BEFORE}, NOW),
        ({"status": "Unknown", "lastTransitionTime": BEFORE}, NOW),
        ({"status": "True"}, NOW),
        ({}, NOW),
    ],
)
def test_only_a_turn_changes_the_time(earlier: dict[str, str], turned_at: str) -> None:
    before = {"type": "Ready", "message": "other words", **earlier}
    (found,) = merged([before], condition())
    assert (found["lastTransitionTime"], found["message"]) == (turned_at, "all is well")


def test_what_others_say_is_kept() -> None:
    theirs = {"type": "Approved", "status": "True", "lastTransitionTime": BEFORE}
    found = merged([theirs, {"type": "Ready", "status": "True"}], condition())
    assert [one["type"] for one in found] == ["Ready", "Approved"]
    assert found[1] == theirs


def test_merging_again_changes_nothing() -> None:
    once = merged([], condition(), condition(kind="Valid", status=False))
    again = merged_conditions(
        once, (condition(), condition(kind="Valid", status=False)), generation=3, at="later"
    )
    assert again == once


@pytest.mark.parametrize(
    ("earlier", "kept"),
    [
        ({"status": "True", "message": "no cpu; 3 are free"}, True),
        ({"status": "False", "message": "no cpu; 3 are free"}, False),
        ({"status": "True", "message": "no memory; 3 are free"}, False),
    ],
)
def test_what_is_no_news_leaves_the_message_that_stands(
    earlier: dict[str, str], kept: bool
) -> None:
    now = condition(message="no cpu; 2 are free", gist="no cpu;")
    (found,) = merged([{"type": "Ready", **earlier}], now)
    assert found["message"] == ("no cpu; 3 are free" if kept else "no cpu; 2 are free")


def test_long_messages_are_cut() -> None:
    (found,) = merged([], condition(message="long " * 1000))
    assert len(found["message"].encode()) <= 1024
    assert found["message"].endswith("…")


@given(text=st.text(max_size=60), most=st.integers(3, 40))
def test_shortened_fits_and_keeps_the_beginning(text: str, most: int) -> None:
    short = shortened(text, most)
    assert len(short.encode()) <= most
    if short != text:
        assert text.startswith(short.removesuffix("…"))
        assert len(text.encode()) > most
