"""Series as rows: what Prometheus (or a file of history) gives the steps, and how it is cleaned.

A row holds a whole series, its samples as two vectors. Spark moves rows and never looks into the
vectors; what needs them runs in numpy, a batch of rows at a time (docs/decisions/0010).
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.figures import is_ours, key_of
from thalweg_spark.condense.series import Series, identity, joined

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
    "thread",
    "le",
)
"""The labels that a step may group by, under our own names."""

SERIES_DDL = ", ".join(
    [
        "fact STRING",
        "about STRING",
        "series BIGINT",
        *(f"{label} STRING" for label in LABELS),
        "times_s ARRAY<DOUBLE>",
        "numbers ARRAY<DOUBLE>",
        "asked_s DOUBLE",
        "note STRING",
    ]
)
"""One row is one series in one chunk of time, or a note about what could not be read.

Rows that are `about` the same make one figure. `asked_s` is the moment by which all is asked, the
end of every window.
"""

SERIES_ARROW = pa.schema(
    [
        ("fact", pa.string()),
        ("about", pa.string()),
        ("series", pa.int64()),
        *((label, pa.string()) for label in LABELS),
        ("times_s", pa.list_(pa.float64())),
        ("numbers", pa.list_(pa.float64())),
        ("asked_s", pa.float64()),
        ("note", pa.string()),
    ]
)
Said = Mapping[str, Any]
"""A row without its samples."""
WARNING = "!warning"
ERROR = "!error"
_BATCH_SAMPLES = 200_000


def batches(found: Iterable[tuple[str, Series]], asked_s: float) -> Iterator[pa.RecordBatch]:
    """Series as Arrow batches of a bounded size; those that are not ours are left out."""
    rows: list[tuple[str, Series]] = []
    samples = 0
    for fact, one in found:
        if not is_ours(fact, one.labels):
            continue
        rows.append((fact, one))
        samples += one.times_s.size
        if samples >= _BATCH_SAMPLES:
            yield _batch(rows, asked_s)
            rows, samples = [], 0
    if rows:
        yield _batch(rows, asked_s)


def note_batch(kind: str, notes: Iterable[str]) -> pa.RecordBatch:
    """What the server said, or why it could not be asked, on the way that samples take."""
    rows = [{"fact": kind, "series": 0, "times_s": [], "numbers": [], "note": one} for one in notes]
    return pa.RecordBatch.from_pylist(rows, schema=SERIES_ARROW)


def _batch(rows: list[tuple[str, Series]], asked_s: float) -> pa.RecordBatch:
    offsets = np.cumsum([0, *(one.times_s.size for _, one in rows)]).astype(np.int32)
    columns = [
        pa.array([fact for fact, _ in rows], pa.string()),
        pa.array([_about(fact, one.labels) for fact, one in rows], pa.string()),
        pa.array([_identity(fact, one.labels) for fact, one in rows], pa.int64()),
        *(
            pa.array([one.labels.get(label, "") for _, one in rows], pa.string())
            for label in LABELS
        ),
        pa.ListArray.from_arrays(offsets, np.concatenate([one.times_s for _, one in rows])),
        pa.ListArray.from_arrays(offsets, np.concatenate([one.values for _, one in rows])),
        pa.array(np.full(len(rows), asked_s)),
        pa.nulls(len(rows), pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=SERIES_ARROW)


def _about(fact: str, labels: Mapping[str, str]) -> str:
    """What a series is about, as one text."""
    return json.dumps([fact, *key_of(fact, labels)])


def _identity(fact: str, labels: Mapping[str, str]) -> int:
    """A number for a series, the same everywhere; of a million two clash once in 10⁷ runs."""
    text = json.dumps([fact, sorted(identity(labels))])
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


def series_of(batch: pa.RecordBatch) -> Iterator[tuple[Said, Series]]:
    """The rows of a batch: all columns but the samples, and the series, without a copy."""
    names = [name for name in batch.schema.names if name not in ("times_s", "numbers")]
    words = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
    offsets = batch.column("times_s").offsets.to_numpy()
    times_s, numbers = (batch.column(name).values.to_numpy() for name in ("times_s", "numbers"))
    for row, said in enumerate(words):
        part = slice(offsets[row], offsets[row + 1])
        told = dict(zip(names, said, strict=True))
        labels = {label: told[label] for label in LABELS if told.get(label)}
        yield told, Series(labels=labels, times_s=times_s[part], values=numbers[part])


def whole_series(read: DataFrame, asked_s: float) -> DataFrame:
    """Each series once, its chunks put together and cleaned, beside those about the same."""

    def put_together(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        rows = (row for batch in found for row in series_of(batch))
        return batches(_joined(rows), asked_s)

    return (
        read.where(fn.col("note").isNull())
        .repartition("about")
        .sortWithinPartitions("about", "series")
        .mapInArrow(put_together, SERIES_DDL)
    )


def _joined(rows: Iterable[tuple[Said, Series]]) -> Iterator[tuple[str, Series]]:
    for (fact, _), chunks in groupby(rows, key=lambda row: (row[0]["fact"], row[0]["series"])):
        whole = joined([series for _, series in chunks])
        if whole is not None:
            yield fact, whole
