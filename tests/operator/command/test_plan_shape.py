"""What a file may hold is what the CRD lets through."""

from pathlib import Path
from typing import Any

import yaml

from thalweg_operator.command.shape import (
    NAME,
    SPEC,
    Anything,
    Fields,
    Many,
    Name,
    Shape,
    Text,
    Whole,
)

CRD = Path(__file__).parents[3] / "crds" / "streamtopologies.thalweg.dev.yaml"


def from_schema(schema: dict[str, Any]) -> Shape:
    """The shape that a part of the CRD's schema describes."""
    match schema["type"]:
        case "integer":
            return Whole(least=schema["minimum"], most=schema["maximum"])
        case "array":
            each = from_schema(schema["items"])
            return Many(each=each, least=schema.get("minItems", 0), most=schema["maxItems"])
        case "string" if "enum" not in schema:
            return _text(schema)
        case "object" if "containers" not in str(schema["properties"].get("spec", "")):
            return Fields({name: from_schema(one) for name, one in schema["properties"].items()})
        case _:
            return Anything()


def _text(schema: dict[str, Any]) -> Shape:
    rules = [rule["rule"] for rule in schema.get("x-kubernetes-validations", ())]
    if "self.matches('^[a-z]([-a-z0-9]*[a-z0-9])?$')" in rules:
        return Name(most=schema["maxLength"])
    return Text(least=schema.get("minLength", 0), most=schema["maxLength"])


def whole_schema() -> dict[str, Any]:
    crd = yaml.load(CRD.read_text(), Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))  # noqa: S506
    schema: dict[str, Any] = crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return schema


def test_the_shape_is_that_of_the_crd() -> None:
    assert from_schema(whole_schema()["properties"]["spec"]) == SPEC


def test_the_name_is_bounded_as_in_the_crd() -> None:
    rules = [rule["rule"] for rule in whole_schema()["x-kubernetes-validations"]]
    assert f"size(self.metadata.name) <= {NAME.most}" in rules
