"""Reads fields of a manifest, strictly: what is wrong raises, with the field's path.

The API server has checked a manifest that comes from a cluster. One that comes from a file has been
checked by nobody.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any, TypeVar

from thalweg_operator.errors import OperatorError

Word = TypeVar("Word", bound=StrEnum)


class InvalidManifest(OperatorError):
    """A manifest that cannot be read; the message names the field and says what belongs there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fields:
    """The fields of one object and where it stands in the manifest."""

    values: Mapping[str, Any]
    path: str

    def below(self, name: str) -> "Fields":
        """A nested object; an empty one where it is missing."""
        return as_fields(self.values.get(name) or {}, self._path(name))

    def each(self, name: str) -> tuple["Fields", ...]:
        """The objects of a list; none where it is missing."""
        values = self.values.get(name) or []
        if not isinstance(values, list | tuple):
            raise InvalidManifest(f"{self._path(name)} must be a list")
        return tuple(
            as_fields(value, f"{self._path(name)}[{position}]")
            for position, value in enumerate(values)
        )

    def text(self, name: str, default: str | None = None) -> str:
        """A string. It is required where there is no default."""
        value = self.values.get(name, default)
        if not isinstance(value, str) or not value:
            raise InvalidManifest(f"{self._path(name)} must be a string")
        return value

    def optional_text(self, name: str) -> str | None:
        """A string, or None where it is missing."""
        return self.text(name) if self.values.get(name) is not None else None

    def texts(self, name: str) -> tuple[str, ...]:
        """The strings of a list; none where it is missing."""
        values = self.values.get(name) or []
        if not isinstance(values, list | tuple) or not all(isinstance(v, str) for v in values):
            raise InvalidManifest(f"{self._path(name)} must be a list of strings")
        return tuple(values)

    def whole(self, name: str, default: int | None = None) -> int:
        """A whole number. It is required where there is no default."""
        value = self.values.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool):
            raise InvalidManifest(f"{self._path(name)} must be a whole number")
        return value

    def optional_whole(self, name: str) -> int | None:
        """A whole number, or None where it is missing."""
        return self.whole(name) if self.values.get(name) is not None else None

    def flag(self, name: str, *, default: bool) -> bool:
        """True or false."""
        value = self.values.get(name, default)
        if not isinstance(value, bool):
            raise InvalidManifest(f"{self._path(name)} must be true or false")
        return value

    def word(self, name: str, default: Word) -> Word:
        """One of the words that the default is one of."""
        value = self.values.get(name, default)
        choices = type(default)
        try:
            return choices(value)
        except ValueError:
            raise InvalidManifest(
                f"{self._path(name)} must be one of {', '.join(choices)}{_quoting(value)}"
            ) from None

    def optional_word(self, name: str, choices: type[Word]) -> Word | None:
        """One of some words, or None where it is missing."""
        return self.word(name, next(iter(choices))) if self.values.get(name) is not None else None

    def mapping(self, name: str) -> Mapping[str, Any]:
        """An object that is passed on as it is, read-only at the top. It is required."""
        value = self.values.get(name)
        if not isinstance(value, Mapping):
            raise InvalidManifest(f"{self._path(name)} must be an object")
        return MappingProxyType(dict(value))

    def _path(self, name: str) -> str:
        return f"{self.path}.{name}" if self.path else name


def as_fields(value: object, path: str) -> Fields:
    """Take a value for an object, or say that it is none."""
    if not isinstance(value, Mapping):
        raise InvalidManifest(f"{path or 'the manifest'} must be an object")
    return Fields(values=value, path=path)


def _quoting(value: object) -> str:
    # YAML takes a bare Off for false; nobody finds that out from "must be one of".
    return '; write "Off" in quotes' if value is False else f", not {value!r}"
