"""Write the reference pages from the CRDs' own schema: `python -m crds.reference`."""

import json
from collections.abc import Iterator
from pathlib import Path

from crds.generate import GROUP, KINDS, VERSION, Kind
from crds.schema import Schema

TARGET = Path(__file__).parent.parent / "docs" / "reference"
_HEADER = "<!-- Made by `python -m crds.reference`; do not edit. -->\n"
_TEMPLATE = "template"
_SKIPPED = ("apiVersion", "kind", "metadata")


def page(kind: Kind) -> str:
    """The reference page of one kind."""
    schema = kind.schema()
    lines = [
        _HEADER,
        f"# {kind.kind}",
        "",
        schema["description"],
        "",
        f"`apiVersion: {GROUP}/{VERSION}` · `kind: {kind.kind}` · {kind.scope.lower()} · "
        f"`kubectl get {kind.short}`",
        "",
        *_rules(schema),
    ]
    for name, inner in schema["properties"].items():
        if name not in _SKIPPED:
            lines += _sections(name, inner)
    return "\n".join(lines).rstrip() + "\n"


def page_path(kind: Kind) -> Path:
    """Where the page is kept."""
    return TARGET / f"{kind.kind.lower()}.md"


def _sections(path: str, schema: Schema) -> Iterator[str]:
    """A section for an object, then one for each object in it."""
    if path.endswith(f".{_TEMPLATE}"):
        yield from _template_section(path, schema)
        return
    yield from (f"## {path}", "", schema.get("description", ""), "")
    yield from ("| field | type | default | meaning |", "| --- | --- | --- | --- |")
    for name, inner in schema["properties"].items():
        yield _row(path, name, inner, required=name in schema.get("required", ()))
    yield ""
    yield from _rules(schema)
    for name, inner in schema["properties"].items():
        below = _record(inner)
        if below is not None:
            yield from _sections(_path(path, name, inner), below)


def _template_section(path: str, schema: Schema) -> Iterator[str]:
    yield from (f"## {path}", "", schema["description"], "")
    yield (
        "It has all fields of a Kubernetes 1.34 pod template. Fields of later versions are refused "
        "by kubectl's own check and dropped by clients that do not ask for it."
    )
    yield ""
    messages = list(dict.fromkeys(_all_messages(schema)))
    yield from (
        "The API server refuses what breaks these rules:",
        "",
        *(f"- {_plain(one)}" for one in messages),
        "",
    )


def _rules(schema: Schema) -> Iterator[str]:
    messages = [one["message"] for one in schema.get("x-kubernetes-validations", ())]
    if messages:
        yield from (
            "The API server refuses what breaks these rules:",
            "",
            *(f"- {_plain(one)}" for one in messages),
            "",
        )


def _all_messages(schema: Schema) -> Iterator[str]:
    for one in schema.get("x-kubernetes-validations", ()):
        yield one["message"]
    for inner in schema.get("properties", {}).values():
        yield from _all_messages(inner)
    if "items" in schema:
        yield from _all_messages(schema["items"])


def _row(path: str, name: str, schema: Schema, *, required: bool) -> str:
    words = [schema.get("description", "")]
    words += [f"*Rule: {one['message']}.*" for one in _own_rules(schema)]
    label = f"`{name}`" + (" **required**" if required else "")
    if _record(schema) is not None:
        label += f" ([fields](#{_anchor(_path(path, name, schema))}))"
    return f"| {label} | {_type(schema)} | {_default(schema)} | {_cell(' '.join(words))} |"


def _own_rules(schema: Schema) -> list[Schema]:
    """The rules of a field that has no section of its own to tell them in."""
    if _record(schema) is not None and schema["type"] == "object":
        return []
    rules: list[Schema] = schema.get("x-kubernetes-validations", [])
    return rules


def _record(schema: Schema) -> Schema | None:
    """The object with named fields that this is, or is a list of."""
    inner: Schema = schema.get("items", schema)
    return inner if "properties" in inner else None


def _path(path: str, name: str, schema: Schema) -> str:
    return f"{path}.{name}" + ("[]" if schema["type"] == "array" else "")


def _anchor(heading: str) -> str:
    return "".join(letter for letter in heading.lower() if letter.isalnum() or letter in "-_")


def _type(schema: Schema) -> str:
    if "enum" in schema:
        return ", ".join(f"`{choice}`" for choice in schema["enum"])
    if schema["type"] == "array":
        return f"list, {_span(schema.get('minItems', 0), schema['maxItems'])} items"
    if schema["type"] == "integer":
        if schema["maximum"] >= 2**53:
            return f"integer, at least {schema['minimum']}"
        return f"integer, {_span(schema['minimum'], schema['maximum'])}"
    if schema.get("format") == "date-time":
        return "time"
    if schema["type"] == "string":
        return f"string, at most {schema['maxLength']} characters"
    return str(schema["type"])


def _span(least: int, most: int) -> str:
    return f"{least} to {most}"


def _default(schema: Schema) -> str:
    if "default" not in schema:
        return ""
    value = schema["default"]
    if isinstance(value, dict):
        return ""
    return f"`{value}`" if isinstance(value, str) else f"`{json.dumps(value)}`"


def _cell(text: str) -> str:
    return _plain(text).replace("|", "\\|")


def _plain(text: str) -> str:
    """Keep Markdown from taking <name> for a tag; code in backticks is safe already."""
    parts = text.split("`")
    parts[::2] = [part.replace("<", "\\<") for part in parts[::2]]
    return "`".join(parts)


def main() -> None:
    """Write all pages."""
    for kind in KINDS:
        page_path(kind).write_text(page(kind), encoding="utf-8")


if __name__ == "__main__":
    main()
