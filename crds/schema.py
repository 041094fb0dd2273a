"""Words for writing a structural schema: one function a type, descriptions first.

The CRDs, the reference pages and the tests are all made from the values built here, so a field
is described once.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = dict[str, Any]
Rules = Sequence[Mapping[str, Any]]


def rule(cel: str, message: str, *, tell: str | None = None, field: str | None = None) -> Schema:
    """One CEL rule. `tell` is a CEL expression for a message that names the culprit."""
    made: Schema = {"rule": cel, "message": message}
    if tell is not None:
        made["messageExpression"] = tell
    if field is not None:
        made["fieldPath"] = field
    return made


def _finish(schema: Schema, rules: Rules, default: object = None) -> Schema:
    if default is not None:
        schema["default"] = default
    if rules:
        schema["x-kubernetes-validations"] = [dict(one) for one in rules]
    return schema


def text(
    description: str,
    *,
    max_length: int = 253,
    min_length: int = 0,
    default: str | None = None,
    rules: Rules = (),
) -> Schema:
    """A string, always bounded: CEL's cost is estimated from the bound."""
    schema: Schema = {"type": "string", "description": description, "maxLength": max_length}
    if min_length:
        schema["minLength"] = min_length
    return _finish(schema, rules, default)


def word(description: str, choices: Sequence[str], *, default: str | None = None) -> Schema:
    """One of a few words."""
    schema: Schema = {"type": "string", "description": description, "enum": list(choices)}
    return _finish(schema, (), default)


def whole(
    description: str,
    *,
    least: int,
    most: int,
    default: int | None = None,
    rules: Rules = (),
) -> Schema:
    """A whole number within bounds."""
    schema: Schema = {
        "type": "integer",
        "format": "int32" if most < 2**31 else "int64",
        "description": description,
        "minimum": least,
        "maximum": most,
    }
    return _finish(schema, rules, default)


def flag(description: str, *, default: bool | None = None) -> Schema:
    """True or false."""
    return _finish({"type": "boolean", "description": description}, (), default)


def moment(description: str) -> Schema:
    """A point in time, as RFC 3339."""
    return {"type": "string", "format": "date-time", "description": description}


def record(
    description: str,
    properties: Mapping[str, Schema],
    *,
    required: Sequence[str] = (),
    default: Mapping[str, Any] | None = None,
    rules: Rules = (),
) -> Schema:
    """An object with named fields."""
    schema: Schema = {
        "type": "object",
        "description": description,
        "properties": dict(properties),
    }
    if required:
        schema["required"] = list(required)
    return _finish(schema, rules, default)


def many(
    description: str,
    items: Schema,
    *,
    most: int,
    least: int = 0,
    keys: Sequence[str] = (),
    kind: str = "atomic",
    default: Sequence[Any] | None = None,
    rules: Rules = (),
) -> Schema:
    """A bounded list; `keys` make it a map in which no two items may share them."""
    schema: Schema = {
        "type": "array",
        "description": description,
        "items": items,
        "maxItems": most,
        "x-kubernetes-list-type": "map" if keys else kind,
    }
    if least:
        schema["minItems"] = least
    if keys:
        schema["x-kubernetes-list-map-keys"] = list(keys)
    return _finish(schema, rules, default)


LABEL = "^[a-z]([-a-z0-9]*[a-z0-9])?$"
CAMEL_CASE = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"


def label_rule(what: str) -> Schema:
    """The name becomes part of pod names, so it must be a DNS label that starts with a letter."""
    return rule(
        f"self.matches('{LABEL}')",
        f"{what} must start with a lower-case letter and use only lower-case letters, digits "
        "and dashes, without a dash at the end",
    )


IMMUTABLE = "self == oldSelf"


def conditions(types: Sequence[str]) -> Schema:
    """Conditions by the Kubernetes API conventions; `types` are those that we write."""
    named = ", ".join(f"`{one}`" for one in types)
    fields = {
        "type": text(f"What it is about: {named}.", max_length=63, min_length=1),
        "status": word("Whether it holds.", ("True", "False", "Unknown")),
        "observedGeneration": whole(
            "The generation of the spec that this was said of.", least=0, most=2**53
        ),
        "lastTransitionTime": moment("When `status` last changed."),
        "reason": {
            **text("One CamelCase word for machines.", max_length=128, min_length=1),
            "pattern": CAMEL_CASE,
        },
        "message": text("A sentence for people.", max_length=32768),
    }
    return many(
        "What is true of this object now, one entry a type.",
        record(
            "One condition.",
            fields,
            required=("type", "status", "lastTransitionTime", "reason", "message"),
        ),
        most=16,
        keys=("type",),
    )
