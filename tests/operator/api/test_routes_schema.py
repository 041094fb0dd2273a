"""The routes file that the operator writes is the one that docs/routes.schema.json describes."""

import copy
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from thalweg_operator.act.routes import Receiver, RoutedEdge, routes_document
from thalweg_operator.naming import TaskKey

SCHEMA = json.loads((Path(__file__).parents[3] / "docs" / "routes.schema.json").read_text())
CHECK = jsonschema.Draft202012Validator(SCHEMA)


def written() -> dict[str, Any]:
    receivers = tuple(
        Receiver(
            task=TaskKey(vertex="count", index=index),
            incarnation=7,
            address=f"10.0.0.{index}",
            node="a-0",
            domain="a",
        )
        for index in range(3)
    )
    edges = [
        RoutedEdge(
            to=to,
            grouping=grouping,
            replicas=3,
            receivers=receivers,
            senders=(("a-0", "a"), ("b-0", "")),
        )
        for to, grouping in (
            ("count", {"type": "Fields", "keys": ["word"]}),
            ("audit", {"type": "Shuffle"}),
            ("near", {"type": "NearSource"}),
        )
    ]
    document: dict[str, Any] = json.loads(
        routes_document("words", "split", edges, before=None, now_s=1.0)
    )
    return document


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_what_the_operator_writes_fits() -> None:
    CHECK.validate(written())


def test_nobody_to_send_to_fits() -> None:
    edge = RoutedEdge(to="count", grouping={"type": "Shuffle"}, replicas=1, receivers=())
    CHECK.validate(json.loads(routes_document("words", "split", [edge], before=None, now_s=1.0)))


def test_fields_that_come_later_fit() -> None:
    CHECK.validate({**written(), "later": True})


@pytest.mark.parametrize("grouping", ["Fields", "PartialKey", "WChoices"])
def test_groupings_by_key_name_their_keys(grouping: str) -> None:
    def fits(**more: Any) -> bool:
        edge = RoutedEdge(to="a", grouping={"type": grouping, **more}, replicas=1, receivers=())
        return CHECK.is_valid(
            json.loads(routes_document("words", "split", [edge], before=None, now_s=1.0))
        )

    assert fits(keys=["word"])
    assert not fits()


@pytest.mark.parametrize(
    "path",
    [
        ("version",),
        ("topology",),
        ("vertex",),
        ("edges",),
        ("edges", 0, "to"),
        ("edges", 0, "grouping"),
        ("edges", 0, "grouping", "type"),
        ("edges", 0, "grouping", "keys"),
        ("edges", 0, "tasks"),
        ("edges", 0, "tasks", 0, "keyGroups"),
        *(("edges", 2, "senders", 1, field) for field in ("node", "domain", "tasks")),
        *(
            ("edges", 1, "tasks", 2, field)
            for field in ("name", "incarnation", "address", "node", "domain", "weight")
        ),
    ],
    ids=str,
)
def test_what_a_worker_relies_on_must_be_there(path: tuple[Any, ...]) -> None:
    document = copy.deepcopy(written())
    holder: Any = document
    for part in path[:-1]:
        holder = holder[part]
    del holder[path[-1]]
    assert not CHECK.is_valid(document)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "count"),
        ("name", "Count-0"),
        ("incarnation", -1),
        ("weight", -0.5),
        ("address", ""),
        ("keyGroups", [[0]]),
        ("keyGroups", [[0, 1024]]),
    ],
    ids=str,
)
def test_what_makes_no_sense_does_not_fit(field: str, value: Any) -> None:
    document = written()
    document["edges"][0]["tasks"][0][field] = value
    assert not CHECK.is_valid(document)
