"""The routes file: who receives now, which keys each has, and a version that only rises."""

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_operator.act.manifests import ROUTES_KEY
from thalweg_operator.act.routes import (
    Receiver,
    RoutedEdge,
    key_groups,
    receiver_of,
    routes_document,
    routes_text,
)
from thalweg_operator.naming import TaskKey
from thalweg_operator_worlds import NOW_S, pod
from thalweg_scheduling.group.keys import KEY_GROUPS


def receiver(index: int, *, incarnation: int = 1) -> Receiver:
    return Receiver(
        task=TaskKey(vertex="count", index=index),
        incarnation=incarnation,
        address=f"10.0.0.{index}",
        node="n1",
        domain="a",
    )


def edge(*receivers: Receiver, grouping: str = "Shuffle", replicas: int = 2) -> RoutedEdge:
    keys = {"keys": ["word"]} if grouping == "Fields" else {}
    return RoutedEdge(
        to="count",
        grouping={"type": grouping, **keys},
        replicas=replicas,
        receivers=receivers,
    )


def told(*edges: RoutedEdge, before: str | None = None, now_s: float = 0.0) -> str:
    return routes_document("word-count", "split", edges, before, now_s=now_s)


def written(*edges: RoutedEdge, before: str | None = None, now_s: float = 0.0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(told(*edges, before=before, now_s=now_s))
    return found


def test_document() -> None:
    assert written(edge(receiver(0), grouping="Fields", replicas=2)) == {
        "version": 1,
        "topology": "word-count",
        "vertex": "split",
        "edges": [
            {
                "to": "count",
                "grouping": {"type": "Fields", "keys": ["word"]},
                "tasks": [
                    {
                        "name": "count-0",
                        "incarnation": 1,
                        "address": "10.0.0.0",
                        "node": "n1",
                        "domain": "a",
                        "weight": 1,
                        "keyGroups": [[0, 511]],
                    }
                ],
            }
        ],
    }


@pytest.mark.parametrize("grouping", ["PartialKey", "WChoices"])
def test_only_fields_has_key_groups(grouping: str) -> None:
    (task,) = written(edge(receiver(0), grouping=grouping))["edges"][0]["tasks"]
    assert "keyGroups" not in task


def test_only_near_source_says_where_senders_are() -> None:
    places = (("n2", "b"), ("n1", "a"), ("n2", "b"))
    for grouping in ("Shuffle", "NearSource"):
        document = written(replace(edge(receiver(0), grouping=grouping), senders=places))
        found = document["edges"][0].get("senders")
        expected = [
            {"node": "n1", "domain": "a", "tasks": 1},
            {"node": "n2", "domain": "b", "tasks": 2},
        ]
        assert found == (expected if grouping == "NearSource" else None)


def test_the_same_routes_are_the_same_text() -> None:
    first = told(edge(receiver(0)), now_s=NOW_S)
    assert told(edge(receiver(0)), before=first, now_s=NOW_S + 9) == first


def test_the_version_rises_with_every_change() -> None:
    text = None
    for version, edges in enumerate(
        [(), (edge(),), (edge(receiver(0)),), (edge(receiver(0, incarnation=2)),), (edge(),)], 1
    ):
        text = told(*edges, before=text)
        assert json.loads(text)["version"] == version


def test_a_file_after_one_that_is_gone_has_a_higher_version() -> None:
    """Receivers remember the old one's version, and take only what is newer."""
    text = told(edge(receiver(0)), now_s=NOW_S)
    for turn in range(100):
        text = told(edge(receiver(0, incarnation=turn + 2)), before=text, now_s=NOW_S)
    again = written(edge(receiver(0)), now_s=NOW_S + 1)
    assert again["version"] > json.loads(text)["version"]


def test_a_clock_that_was_put_back_lowers_no_version() -> None:
    first = told(edge(receiver(0)), now_s=NOW_S)
    second = told(edge(), before=first, now_s=NOW_S - 3600)
    assert json.loads(second)["version"] == json.loads(first)["version"] + 1


@pytest.mark.parametrize(
    "spoilt",
    [
        "",
        "{",
        "[]",
        "7",
        '"text"',
        "null",
        "{}",
        '{"version": "x"}',
        '{"version": null}',
        '{"version": true}',
        '{"version": -3}',
        '{"version": 1.5}',
        "[" * 100_000,
    ],
)
def test_a_spoilt_file_is_written_anew(spoilt: str) -> None:
    assert written(edge(receiver(0)), before=spoilt) == written(edge(receiver(0)))


def test_right_content_with_a_spoilt_version_is_written_anew() -> None:
    right = written(edge(receiver(0)))
    spoilt = json.dumps({**right, "version": 0})
    assert written(edge(receiver(0)), before=spoilt)["version"] == 1


def test_a_version_set_by_hand_still_only_rises() -> None:
    right = {**written(edge(receiver(0))), "version": 40}
    assert written(edge(receiver(0)), before=json.dumps(right))["version"] == 40
    assert written(edge(), before=json.dumps(right))["version"] == 41


@given(replicas=st.integers(1, KEY_GROUPS))
def test_every_key_group_has_exactly_one_task(replicas: int) -> None:
    covered: list[int] = []
    sizes: set[int] = set()
    for index in range(replicas):
        first, last = key_groups(index, replicas)
        covered += range(first, last + 1)
        sizes.add(last + 1 - first)
    assert covered == list(range(KEY_GROUPS))
    assert max(sizes) - min(sizes) <= 1
    assert min(sizes) >= 1


def test_receiver() -> None:
    task = TaskKey(vertex="split", index=0)
    found = receiver_of(task, pod(0, 7, on="n2"), {"n2": "b"})
    assert found == Receiver(task=task, incarnation=7, address="10.0.0.1", node="n2", domain="b")


def test_no_receiver_without_an_address_or_a_node() -> None:
    task = TaskKey(vertex="split", index=0)
    assert receiver_of(task, pod(0, ready=False), {}) is None
    assert receiver_of(task, pod(0, on=None), {}) is None


def test_a_node_without_a_domain_is_in_none() -> None:
    found = receiver_of(TaskKey(vertex="split", index=0), pod(0), {})
    assert found is not None
    assert found.domain == ""


@pytest.mark.parametrize(
    ("config_map", "text"),
    [
        (None, None),
        ({}, None),
        ({"data": None}, None),
        ({"data": {"other": "x"}}, None),
        ({"data": {ROUTES_KEY: "{}"}}, "{}"),
    ],
)
def test_text_of_a_config_map(config_map: dict[str, Any] | None, text: str | None) -> None:
    assert routes_text(config_map) == text
