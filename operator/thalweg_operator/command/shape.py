"""What the API server would refuse in a StreamTopology, for a file that has not been there.

Fields that do not exist and values out of bounds; the CRD has the same, and a test holds the two
together. What needs a look at several fields at once is in `api.validation`. A value of another
type is passed over here: whoever parses it says that better.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeAlias

Misfit: TypeAlias = tuple[str, str]
"""Where something is wrong, and what."""


class Shape(Protocol):
    """What a value should look like."""

    def misfits(self, value: object, where: str) -> Iterator[Misfit]:
        """Everything about the value that is not so."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole number between two bounds."""

    least: int
    most: int

    def misfits(self, value: object, where: str) -> Iterator[Misfit]:
        """Out of bounds."""
        if isinstance(value, int) and not self.least <= value <= self.most:
            yield where, f"{where} must be from {self.least} to {self.most}, not {value}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A string of bounded length."""

    most: int
    least: int = 1

    def misfits(self, value: object, where: str) -> Iterator[Misfit]:
        """Too short or too long."""
        if isinstance(value, str) and not self.least <= len(value) <= self.most:
            yield where, f"{where} must have {self.least} to {self.most} characters"


@dataclass(frozen=True, slots=True, kw_only=True)
class Name:
    """A part of pod names."""

    most: int

    def misfits(self, value: object, where: str) -> Iterator[Misfit]:
        """Too long, or not a DNS label that starts with a letter."""
        if not isinstance(value, str):
            return
        yield from Text(most=self.most).misfits(value, where)
        if value and not re.fullmatch("[a-z]([-a-z0-9]*[a-z0-9])?", value):
            yield (
                where,
                (
                    f"{where} must start with a lower-case letter and use only lower-case letters, "
                    f"digits and dashes, not {value!r}: pod names are made from it"
                ),
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """A list of bounded length."""

    each: Shape
    most: int
    least: int = 0

    def misfits(self, value: object, where: str) -> Iterator[Misfit]:
        """Too few or too many, and what is wrong with each."""
        if not isinstance(value, list):
            return
        if not self.least <= len(value) <= self.most:
            yield where, f"{where} has {len(value)} items; {self.least} to {self.most} may be"
        for position, item in enumerate(value):
            yield from self.each.misfits(item, f"{where}[{position}]")


@dataclass(frozen=True, slots=True)
class Fields:
    """An object with these fields and no others."""

    known: Mapping[str, Shape]

    def misfits(self, value: object, where: str) -> Iterator[Misfit]:
        """Fields that do not exist, and what is wrong with those that do."""
        if not isinstance(value, Mapping):
            return
        for key, item in value.items():
            if key in self.known:
                yield from self.known[key].misfits(item, f"{where}.{key}")
            else:
                yield f"{where}.{key}", f"{where} has no field {key}; {self._hint(str(key))}"

    def _hint(self, key: str) -> str:
        near = difflib.get_close_matches(key, self.known, n=1, cutoff=0.5)
        return f"did you mean {near[0]}?" if near else f"there are {', '.join(self.known)}"


@dataclass(frozen=True, slots=True)
class Anything:
    """A value that somebody else looks at."""

    def misfits(self, value: object, where: str) -> Iterator[Misfit]:  # noqa: ARG002
        """Nothing."""
        return iter(())


_REPLICAS = Whole(least=1, most=1024)
_PERCENT = Whole(least=1, most=100)
_DAY_S = Whole(least=0, most=86400)
_ANY = Anything()
_VERTEX_NAME = Name(most=20)

_VERTEX = Fields(
    {
        "name": _VERTEX_NAME,
        "replicas": Fields({"min": _REPLICAS, "max": _REPLICAS, "initial": _REPLICAS}),
        "template": _ANY,
        "rollout": Fields({"maxSurge": _REPLICAS}),
    }
)
_EDGE = Fields(
    {
        "from": _VERTEX_NAME,
        "to": _VERTEX_NAME,
        "grouping": Fields(
            {"type": _ANY, "keys": Many(each=Text(most=63), least=1, most=16)},
        ),
    }
)
_PLACEMENT = Fields(
    {
        "mode": _ANY,
        "binding": _ANY,
        "processes": _ANY,
        "domainLabel": Text(most=317),
        "minDomains": Whole(least=1, most=64),
        "maxSharePercent": _PERCENT,
        "minGainPercent": Whole(least=0, most=100),
    }
)
_SCALING = Fields(
    {
        "mode": _ANY,
        "targetUtilizationPercent": Whole(least=10, most=95),
        "backlogSeconds": Whole(least=1, most=86400),
        "scaleDownAfterSeconds": _DAY_S,
        "cooldownSeconds": _DAY_S,
        "maxUpFactor": Whole(least=2, most=64),
        "maxDownPercent": _PERCENT,
    }
)
_BUDGET = Fields(
    {
        "maxMoves": Whole(least=0, most=1024),
        "schedule": Text(least=9, most=100),
        "timeZone": Text(most=64),
        "durationSeconds": Whole(least=60, most=604800),
    }
)
_METRICS = Fields(
    {
        "source": Text(most=63),
        "preset": Text(most=63),
        "staleAfterSeconds": Whole(least=10, most=3600),
    }
)
NAME = Name(most=30)
SPEC = Fields(
    {
        "strategy": _ANY,
        "mode": _ANY,
        "suspend": _ANY,
        "vertices": Many(each=_VERTEX, least=1, most=64),
        "edges": Many(each=_EDGE, most=256),
        "placement": _PLACEMENT,
        "scaling": _SCALING,
        "grouping": Fields({"mode": _ANY}),
        "hibernation": Fields({"mode": _ANY}),
        "disruption": Fields({"budgets": Many(each=_BUDGET, least=1, most=16)}),
        "metrics": _METRICS,
    }
)
