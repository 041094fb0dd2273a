"""The committed CRDs are what the generator makes, and keep the rules of the house."""

import json
from collections.abc import Iterator

import pytest

from crds.generate import HERE, KINDS, Kind, crd, render
from crds.pod_fields import TARGET, condense
from crds.reference import TARGET as REFERENCE
from crds.reference import page, page_path
from crds.schema import Schema
from thalweg_testbed.cluster import Cluster

BY_KIND = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: str(kind.kind))
# What client-side apply can keep in its annotation; server-side apply has no such bound.
ANNOTATION_BYTES = 262_144
SERVED = {"apiVersion", "kind", "metadata"}


@BY_KIND
def test_the_committed_crd_is_the_generated_one(kind: Kind) -> None:
    assert kind.path.read_text(encoding="utf-8") == render(kind), "run python -m crds.generate"


def test_there_is_no_other_crd() -> None:
    assert {path for path in HERE.iterdir() if path.suffix in {".yaml", ".json"}} == {
        kind.path for kind in KINDS
    }


@BY_KIND
def test_the_reference_page_is_the_generated_one(kind: Kind) -> None:
    assert page_path(kind).read_text(encoding="utf-8") == page(kind), "run python -m crds.reference"


def test_every_page_is_linked() -> None:
    contents = (REFERENCE / "README.md").read_text()
    assert all(f"({page_path(kind).name})" in contents for kind in KINDS)


@BY_KIND
def test_a_crd_is_small_enough_for_every_way_to_apply_it(kind: Kind) -> None:
    assert len(json.dumps(crd(kind))) < ANNOTATION_BYTES


@BY_KIND
def test_names(kind: Kind) -> None:
    made = crd(kind)
    names = made["spec"]["names"]
    assert made["metadata"]["name"] == f"{names['plural']}.{made['spec']['group']}"
    assert "thalweg" in names["categories"]
    assert names["singular"] == kind.kind.lower()


def own_fields(path: str, schema: Schema) -> Iterator[tuple[str, Schema]]:
    """All fields but those of Kubernetes' pod template."""
    for name, inner in schema.get("properties", {}).items():
        if name == "template" or (not path and name in SERVED):
            continue
        yield from own_fields(f"{path}.{name}", inner)
    if "items" in schema:
        yield from own_fields(f"{path}[]", schema["items"])
    if path:
        yield path, schema


def is_bounded(schema: Schema) -> bool:
    match schema["type"]:
        case "string":
            return bool({"enum", "maxLength", "format"} & schema.keys())
        case "integer":
            return {"minimum", "maximum", "format"} <= schema.keys()
        case "array":
            return {"maxItems", "x-kubernetes-list-type"} <= schema.keys()
        case "object":
            return "properties" in schema
        case other:
            return str(other) == "boolean"


@BY_KIND
def test_every_field_is_described_and_bounded(kind: Kind) -> None:
    fields = dict(own_fields("", kind.schema()))
    assert len(fields) > 10
    assert [path for path, schema in fields.items() if not schema.get("description")] == []
    assert [path for path, schema in fields.items() if not is_bounded(schema)] == []


def all_rules(schema: Schema) -> Iterator[Schema]:
    yield from schema.get("x-kubernetes-validations", ())
    inside = [*schema.get("properties", {}).values()]
    inside += [schema[key] for key in ("items", "additionalProperties") if key in schema]
    for inner in inside:
        yield from all_rules(inner)


@BY_KIND
def test_every_rule_has_words_of_its_own(kind: Kind) -> None:
    rules = list(all_rules(kind.schema()))
    assert rules
    assert [rule for rule in rules if len(rule["message"]) < 15 or rule["message"][-1] == "."] == []


def test_a_reference_becomes_what_it_refers_to() -> None:
    quantity = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    components = {
        "Pod": {
            "description": "goes",
            "type": "object",
            "required": ["b", "a"],
            "properties": {
                "a": {"allOf": [{"$ref": "#/components/schemas/Part"}], "default": {}},
                "b": {
                    "type": "array",
                    "items": {"$ref": "#/components/schemas/Part"},
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                    "x-kubernetes-patch-strategy": "merge",
                },
                "c": {
                    "type": "object",
                    "additionalProperties": {"$ref": f"#/components/schemas/{quantity}"},
                },
            },
        },
        "Part": {"type": "object", "properties": {"name": {"type": "string", "default": ""}}},
        quantity: {"oneOf": [{"type": "string"}, {"type": "number"}]},
    }
    part = {"type": "object", "properties": {"name": {"type": "string"}}}
    condensed = condense(components, "Pod")
    amount = condensed["properties"]["c"].pop("additionalProperties")
    assert amount["x-kubernetes-int-or-string"] is True
    assert condensed == {
        "type": "object",
        "required": ["a", "b"],
        "properties": {
            "a": part,
            "b": {
                "type": "array",
                "items": part,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
            },
            "c": {"type": "object"},
        },
    }


@pytest.mark.control_plane
def test_the_pod_template_has_what_the_api_server_knows(control_plane: Cluster) -> None:
    openapi = json.loads(control_plane.kubectl("get", "--raw", "/openapi/v3/api/v1"))
    served = condense(openapi["components"]["schemas"])
    kept = json.loads(TARGET.read_text())
    assert set(field_paths(served)) <= set(field_paths(kept))


def field_paths(schema: Schema, path: str = "") -> Iterator[str]:
    for name, inner in schema.get("properties", {}).items():
        yield f"{path}.{name}"
        yield from field_paths(inner, f"{path}.{name}")
    for nested in ("items", "additionalProperties"):
        if nested in schema:
            yield from field_paths(schema[nested], f"{path}[]")
