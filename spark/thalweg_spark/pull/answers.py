"""Answers of Prometheus: bytes to documents whose samples are vectors, within bounded memory."""

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg_spark.condense.series import Floats

LABEL_LIMIT = 1024
_SERIES = re.compile(rb'"metric"\s*:\s*\{')


class Unreadable(Exception):
    """An answer that is not what was asked for."""


class TooMany(Unreadable):
    """An answer with more series than one may have."""

    def __init__(self, most_series: int) -> None:
        """Say how many one may have."""
        super().__init__(f"there are more than {most_series} series; narrow the preset")


def parsed(body: bytearray, *, most_series: int) -> object:
    """The document; the body is emptied on the way, for both at once may be much.

    Samples become vectors as soon as a series is read: as Python's numbers they take ten times the
    room. Too many series are refused before any of them is made.
    """
    if body.count(b'"metric"') > most_series and _count(body) > most_series:
        raise TooMany(most_series)
    try:
        text = body.decode()
        body.clear()
        return json.loads(text, object_hook=_compact)
    except (ValueError, RecursionError) as error:
        raise Unreadable(f"the answer cannot be read: {error}") from error


def _count(body: bytearray) -> int:
    """How many series: labels may have that name as well, so this is asked where it matters."""
    return sum(1 for _ in _SERIES.finditer(body))


def _compact(found: dict[str, Any]) -> dict[str, Any]:
    """A series with its samples as a vector; what cannot be one stays, to be told later."""
    values = found.get("values")
    if isinstance(values, list) and "metric" in found:
        try:
            found["values"] = _vector(values)
        except (TypeError, ValueError, OverflowError):
            return found
    return found


def is_series(item: object) -> bool:
    """Whether it has labels and samples."""
    return (
        isinstance(item, dict)
        and isinstance(item.get("metric"), dict)
        and isinstance(item.get("values"), list | np.ndarray)
    )


def labels_of(item: Mapping[str, Any]) -> dict[str, str]:
    """Labels of a bounded length, as text that can be written."""
    return {
        _plain(name): _plain(value) for name, value in item["metric"].items() if name != "__name__"
    }


def _plain(value: object) -> str:
    text = str(value)[:LABEL_LIMIT]
    # JSON can say half of a pair of code units, which no file can hold.
    return text if text.isascii() else text.encode(errors="replace").decode()


def samples_of(item: Mapping[str, Any]) -> Floats:
    """Shape (samples, 2): times and values."""
    values = item["values"]
    if isinstance(values, np.ndarray):
        return values
    try:
        return _vector(values)
    except (TypeError, ValueError, OverflowError) as error:
        raise Unreadable(f"a sample cannot be read: {error}") from error


def _vector(values: Sequence[Any]) -> Floats:
    pairs = [(float(at), value) for at, value in values]
    times_s, numbers = zip(*pairs, strict=True) if pairs else ((), ())
    return np.array([times_s, _numbers(numbers)], dtype=np.float64).T


def _numbers(values: Sequence[Any]) -> list[float]:
    """All at once where each is a text that says a number, as it should be."""
    try:
        return list(map(float, values)) if set(map(type, values)) <= {str} else _each(values)
    except ValueError:
        return _each(values)


def _each(values: Sequence[object]) -> list[float]:
    return [_number(value) for value in values]


def _number(value: object) -> float:
    try:
        return float(str(value))
    except ValueError:
        return float("nan")
