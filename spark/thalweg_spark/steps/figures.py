"""From series to figures: the one step that looks into samples, in numpy, on every core at once."""

import math
from collections.abc import Iterator
from dataclasses import fields
from itertools import groupby, islice
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from thalweg_spark.condense.figures import FLOWS, KEY_LABELS, KEYS, Figure, figure
from thalweg_spark.condense.places import PLACE_FACTS
from thalweg_spark.condense.presence import PRESENCE_FACTS, is_live
from thalweg_spark.condense.rates import rise_of, together
from thalweg_spark.condense.series import Series
from thalweg_spark.steps.series import Said, series_of

NUMBERS = tuple(one.name for one in fields(Figure) if one.type is float)
_PARTS = (
    ("pod", "STRING", pa.string()),
    ("node", "STRING", pa.string()),
    ("to_vertex", "STRING", pa.string()),
    ("first_s", "DOUBLE", pa.float64()),
    ("last_s", "DOUBLE", pa.float64()),
    ("is_live", "BOOLEAN", pa.bool_()),
    ("samples", "BIGINT", pa.int64()),
    ("rise", "DOUBLE", pa.float64()),
)
"""What is kept of each series, where it matters which pod it came from and until when."""
FIGURES_DDL = ", ".join(
    [
        "fact STRING",
        *(f"{label} STRING" for label in KEY_LABELS),
        "samples BIGINT",
        *(f"{number} DOUBLE" for number in NUMBERS),
        f"parts ARRAY<STRUCT<{', '.join(f'{name}: {kind}' for name, kind, _ in _PARTS)}>>",
    ]
)
_FIGURES_ARROW = pa.schema(
    [
        ("fact", pa.string()),
        *((label, pa.string()) for label in KEY_LABELS),
        ("samples", pa.int64()),
        *((number, pa.float64()) for number in NUMBERS),
        ("parts", pa.list_(pa.struct([(name, kind) for name, _, kind in _PARTS]))),
    ]
)
_BATCH_ROWS = 1000
_WITH_PARTS = frozenset((*PRESENCE_FACTS, *PLACE_FACTS, *FLOWS))
Row = dict[str, Any]


def figures(series: DataFrame, *, recent_s: float) -> DataFrame:
    """One row a figure: what it is about, its numbers, null for unknown, and its series.

    Rows about the same must follow one another in one partition.
    """

    def work_out(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in found for row in series_of(batch) if row[0]["note"] is None)
        done = (_row(list(each), recent_s) for _, each in groupby(rows, key=_about))
        while several := list(islice(done, _BATCH_ROWS)):
            yield pa.RecordBatch.from_pylist(several, schema=_FIGURES_ARROW)

    return series.mapInArrow(work_out, FIGURES_DDL)


def _about(row: tuple[Said, Series]) -> str:
    about: str = row[0]["about"]
    return about


def _row(rows: list[tuple[Said, Series]], recent_s: float) -> Row:
    said, parts = rows[0][0], [series for _, series in rows]
    fact, asked_s = said["fact"], said["asked_s"]
    key = tuple(said[label] for label in KEYS[fact])
    known = figure(fact, key, parts, at_s=asked_s, recent_s=recent_s)
    return {
        "fact": fact,
        **dict.fromkeys(KEY_LABELS, ""),
        **dict(zip(KEYS[fact], key, strict=True)),
        "samples": known.samples,
        **{number: _number(getattr(known, number)) for number in NUMBERS},
        "parts": [_part(one, asked_s) for one in parts] if fact in _WITH_PARTS else [],
    }


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value


def _part(series: Series, asked_s: float) -> Row:
    return {
        **{label: series.labels.get(label, "") for label in ("pod", "node", "to_vertex")},
        "first_s": float(series.times_s[0]),
        "last_s": series.last_s,
        "is_live": is_live(series, asked_s),
        "samples": series.times_s.size,
        "rise": _number(rise_of(together([series]))),
    }
