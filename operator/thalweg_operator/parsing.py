"""Plain YAML values into a tree of frozen dataclasses, with errors that say where and what instead.

Any dataclass of scalars, tuples of strings, other such dataclasses and mappings of them will do.
"""

import dataclasses
import difflib
import types
import typing
from collections.abc import Mapping

from thalweg_operator.errors import InvalidSettings

T = typing.TypeVar("T")


def parse_settings(shape: type[T], values: object, where: str = "") -> T:
    """Return a `shape` made of `values`; InvalidSettings if it cannot be."""
    if not isinstance(values, Mapping):
        raise InvalidSettings(f"{where or 'settings'}: expected a mapping; got {values!r}")
    hints = typing.get_type_hints(shape)
    given = {}
    for key, value in values.items():
        if key not in hints:
            raise InvalidSettings(_unknown(str(key), list(hints), where))
        given[key] = _parse(hints[key], value, _join(where, key))
    required = {
        entry.name
        for entry in dataclasses.fields(shape)  # type: ignore[arg-type]
        if entry.default is dataclasses.MISSING and entry.default_factory is dataclasses.MISSING
    }
    if missing := sorted(required - set(given)):
        raise InvalidSettings(f"{where or 'settings'}: {missing[0]} is missing")
    return shape(**given)


def put(values: dict[str, object], dotted: str, value: object) -> None:
    """Set a nested value by its dotted name, making the mappings on the way."""
    *way, last = dotted.split(".")
    here = values
    for part in way:
        below = here.setdefault(part, {})
        if not isinstance(below, dict):
            raise InvalidSettings(f"{dotted}: {part} is no mapping")
        here = below
    here[last] = value


def _parse(hint: object, value: object, where: str) -> object:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if isinstance(hint, type) and dataclasses.is_dataclass(hint):
        return parse_settings(hint, value, where)
    if origin is tuple:
        return _strings(value, where)
    if origin is Mapping:
        if not isinstance(value, Mapping):
            raise InvalidSettings(f"{where}: expected a mapping; got {value!r}")
        parsed = {
            str(key): _parse(arguments[1], item, _join(where, key)) for key, item in value.items()
        }
        return types.MappingProxyType(parsed)
    return _scalar(hint, value, where)


def _scalar(hint: object, value: object, where: str) -> object:
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(hint, type) and type(value) is hint:
        return value
    wanted = {float: "a number", int: "a whole number", str: "text", bool: "true or false"}
    word = wanted.get(hint, "something else") if isinstance(hint, type) else "something else"
    raise InvalidSettings(f"{where}: expected {word}; got {value!r}")


def _strings(value: object, where: str) -> tuple[str, ...]:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise InvalidSettings(f"{where}: expected a list of text; got {value!r}")


def _unknown(key: str, known: list[str], where: str) -> str:
    near = difflib.get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {_join(where, near[0])}?" if near else f"known are {', '.join(known)}"
    return f"{_join(where, key)} is no setting; {hint}"


def _join(where: str, key: object) -> str:
    return f"{where}.{key}" if where else str(key)
