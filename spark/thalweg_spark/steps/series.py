"""Series as rows: what Prometheus (or a file of history) gives the steps, and how it is cleaned."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.series import Series
from thalweg_spark.steps import arrays
from thalweg_spark.steps.once import once

LABELS = (
    "namespace",
    "topology",
    "vertex",
    "task",
    "to_vertex",
    "to_task",
    "pod",
    "source_node",
    "target_node",
    "node",
    "device",
    "address",
    "le",
)
"""The labels that a step may group by, under our own names."""

SERIES_DDL = ", ".join(
    [
        "fact STRING",
        "series BIGINT",
        *(f"{label} STRING" for label in LABELS),
        "samples ARRAY<STRUCT<at_s: DOUBLE, value: DOUBLE>>",
        "asked_s DOUBLE",
        "note STRING",
    ]
)
"""One row is one series in one chunk of time, or a note about what could not be read.

`asked_s` is the moment by which all is asked, the end of every window.
"""

_SAMPLES = pa.list_(pa.struct([("at_s", pa.float64()), ("value", pa.float64())]))
SERIES_ARROW = pa.schema(
    [
        ("fact", pa.string()),
        ("series", pa.int64()),
        *((label, pa.string()) for label in LABELS),
        ("samples", _SAMPLES),
        ("asked_s", pa.float64()),
        ("note", pa.string()),
    ]
)
WARNING = "!warning"
ERROR = "!error"
_BATCH_SAMPLES = 200_000


def batches(found: Iterable[tuple[str, Series]], asked_s: float) -> Iterator[pa.RecordBatch]:
    """Series as Arrow batches of a bounded size."""
    rows: list[tuple[str, Series]] = []
    samples = 0
    for fact, one in found:
        rows.append((fact, one))
        samples += one.times_s.size
        if samples >= _BATCH_SAMPLES:
            yield _batch(rows, asked_s)
            rows, samples = [], 0
    if rows:
        yield _batch(rows, asked_s)


def note_batch(kind: str, notes: Iterable[str]) -> pa.RecordBatch:
    """What the server said, or why it could not be asked, on the way that samples take."""
    rows = [{"fact": kind, "series": 0, "samples": [], "note": note} for note in notes]
    return pa.RecordBatch.from_pylist(rows, schema=SERIES_ARROW)


def _batch(rows: list[tuple[str, Series]], asked_s: float) -> pa.RecordBatch:
    offsets = np.cumsum([0, *(one.times_s.size for _, one in rows)]).astype(np.int32)
    samples = pa.StructArray.from_arrays(
        [
            pa.array(np.concatenate([one.times_s for _, one in rows])),
            pa.array(np.concatenate([one.values for _, one in rows])),
        ],
        names=["at_s", "value"],
    )
    columns = [
        pa.array([fact for fact, _ in rows], pa.string()),
        pa.array([_identity(fact, one.labels) for fact, one in rows], pa.int64()),
        *(
            pa.array([one.labels.get(label, "") for _, one in rows], pa.string())
            for label in LABELS
        ),
        pa.ListArray.from_arrays(offsets, samples),
        pa.array(np.full(len(rows), asked_s)),
        pa.nulls(len(rows), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SERIES_ARROW)


def _identity(fact: str, labels: Mapping[str, str]) -> int:
    """A number for a series, the same everywhere; of a million two clash once in 10⁷ runs."""
    text = json.dumps([fact, sorted(labels.items())])
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def whole_series(read: DataFrame) -> DataFrame:
    """Each series once, its chunks put together, cleaned, with the rises between its samples."""
    return with_rises(
        read.where(fn.col("note").isNull())
        .groupBy("fact", "series", *LABELS)
        .agg(
            fn.flatten(fn.collect_list("samples")).alias("samples"),
            fn.max("asked_s").alias("asked_s"),
        )
        .withColumn("samples", once(read, _right_samples))
        .withColumn("samples", once(read, _once_each))
    )


def with_rises(whole: DataFrame) -> DataFrame:
    """Whole series with the rises between their samples; notes among them have none."""
    return whole.withColumn("rises", once(whole, _rises))


def _right_samples() -> Column:
    return arrays.right_samples(fn.col("samples"))


def _once_each() -> Column:
    return arrays.once_each(fn.col("samples"))


def _rises() -> Column:
    return arrays.rises_of(fn.col("samples"))


def of_facts(series: DataFrame, facts: Iterable[str], keys: Iterable[str]) -> DataFrame:
    """The series of some facts; those without one of the key labels are not ours."""
    found = series.where(fn.col("fact").isin(*facts))
    for key in keys:
        found = found.where(fn.col(key) != "")
    return found
