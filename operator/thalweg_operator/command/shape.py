"""What the API server would refuse in a StreamTopology, for a file that has not been there.

Fields that do not exist and values out of bounds; the CRD has the same, and a test holds the two
together. What needs a look at several fields at once is in `api.validation`.
"""

import difflib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, TypeAlias


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """A whole number between two bounds."""

    least: int
    most: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Text:
    """A string of bounded length."""

    most: int
    least: int = 1
    pattern: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Many:
    """A list of bounded length."""

    each: "Shape"
    most: int
    least: int = 0


@dataclass(frozen=True, slots=True)
class Anything:
    """A value that somebody else looks at."""


Shape: TypeAlias = Mapping[str, "Shape"] | Whole | Text | Many | Anything

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
TOPOLOGY_NAME = Text(most=30, pattern="[a-z]([-a-z0-9]*[a-z0-9])?")
_VERTEX_NAME = Text(most=20, pattern=_LABEL)
_REPLICAS = Whole(least=1, most=1024)
_PERCENT = Whole(least=1, most=100)
_DAY = Whole(least=0, most=86400)
_MODE: Mapping[str, Shape] = MappingProxyType({"mode": Anything()})

_VERTEX: Mapping[str, Shape] = MappingProxyType(
    {
        "name": _VERTEX_NAME,
        "replicas": {"min": _REPLICAS, "max": _REPLICAS, "initial": _REPLICAS},
        "template": Anything(),
        "rollout": {"maxSurge": _REPLICAS},
    }
)
_EDGE: Mapping[str, Shape] = MappingProxyType(
    {
        "from": _VERTEX_NAME,
        "to": _VERTEX_NAME,
        "grouping": {"type": Anything(), "keys": Many(each=Text(most=63), least=1, most=16)},
    }
)
_BUDGET: Mapping[str, Shape] = MappingProxyType(
    {
        "maxMoves": Whole(least=0, most=1024),
        "schedule": Text(least=9, most=100),
        "timeZone": Text(most=64),
        "durationSeconds": Whole(least=60, most=604800),
    }
)
SPEC: Mapping[str, Shape] = MappingProxyType(
    {
        "strategy": Anything(),
        "mode": Anything(),
        "suspend": Anything(),
        "vertices": Many(each=_VERTEX, least=1, most=64),
        "edges": Many(each=_EDGE, most=256),
        "placement": {
            **_MODE,
            "binding": Anything(),
            "processes": Anything(),
            "domainLabel": Text(most=317),
            "minDomains": Whole(least=1, most=64),
            "maxSharePercent": _PERCENT,
            "minGainPercent": Whole(least=0, most=100),
        },
        "scaling": {
            **_MODE,
            "targetUtilizationPercent": Whole(least=10, most=95),
            "backlogSeconds": Whole(least=1, most=86400),
            "scaleDownAfterSeconds": _DAY,
            "cooldownSeconds": _DAY,
            "maxUpFactor": Whole(least=2, most=64),
            "maxDownPercent": _PERCENT,
        },
        "grouping": _MODE,
        "hibernation": _MODE,
        "disruption": {"budgets": Many(each=_BUDGET, least=1, most=16)},
        "metrics": {
            "source": Text(most=63),
            "preset": Text(most=63),
            "staleAfterSeconds": Whole(least=10, most=3600),
        },
    }
)


def misfits(shape: Shape, value: Any, where: str) -> Iterator[tuple[str, str]]:
    """Where a value is not as the shape says, and what is wrong there.

    A value of another type is passed over: whoever parses it says that better.
    """
    match shape:
        case Whole() if isinstance(value, int) and not isinstance(value, bool):
            if not shape.least <= value <= shape.most:
                yield where, f"{where} must be from {shape.least} to {shape.most}, not {value}"
        case Text() if isinstance(value, str):
            yield from _text_misfits(shape, value, where)
        case Many() if isinstance(value, list):
            if not shape.least <= len(value) <= shape.most:
                yield where, f"{where} has {len(value)} items; {shape.least} to {shape.most} may be"
            for position, item in enumerate(value):
                yield from misfits(shape.each, item, f"{where}[{position}]")
        case Mapping() if isinstance(value, Mapping):
            for key, item in value.items():
                if key in shape:
                    yield from misfits(shape[key], item, f"{where}.{key}")
                else:
                    yield f"{where}.{key}", _unknown(shape, str(key), where)
        case _:
            return


def _text_misfits(shape: Text, value: str, where: str) -> Iterator[tuple[str, str]]:
    if not shape.least <= len(value) <= shape.most:
        yield where, f"{where} must have {shape.least} to {shape.most} characters"
    elif shape.pattern and not re.fullmatch(shape.pattern, value):
        yield (
            where,
            (
                f"{where} must be lower-case letters, digits and dashes, not {value!r}: "
                "pod names are made from it"
            ),
        )


def _unknown(shape: Mapping[str, Shape], key: str, where: str) -> str:
    near = difflib.get_close_matches(key, shape, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]}?" if near else f"there are {', '.join(shape)}"
    return f"{where} has no field {key}; {hint}"
