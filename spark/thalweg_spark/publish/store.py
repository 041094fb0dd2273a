"""The matrix store: one folder of Parquet files a run, and one pointer that moves at once."""

import json
import os
import re
import shutil
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

from thalweg_spark.errors import StoreUnwritable
from thalweg_spark.schemas import SCHEMA_VERSION, TABLES, TEXT, WHOLE

POINTER = "CURRENT"
RUNS = "runs"
_RUN = re.compile(r"\d{13}-[0-9a-f]{8}")


def publish(
    root: Path,
    tables: Mapping[str, Sequence[Mapping[str, Any]]],
    *,
    engine: str,
    observed_at_s: float,
    keep: int = 20,
) -> str:
    """Write all tables, then point to them; readers see the old run or the new one, never half."""
    run = f"{int(time.time() * 1000):013d}-{uuid.uuid4().hex[:8]}"
    try:
        folder = root / RUNS / run
        folder.mkdir(parents=True)
        for name, columns in TABLES.items():
            parquet.write_table(_table(tables[name], columns), folder / f"{name}.parquet")
        _point(root, run, engine=engine, observed_at_s=observed_at_s)
        _forget(root, run, keep)
    except OSError as error:
        raise StoreUnwritable(f"cannot write to the matrix store {root}: {error}") from error
    return run


def schema_of(columns: Sequence[str]) -> pa.Schema:
    """The Arrow types of a table's columns."""
    return pa.schema([(column, _kind(column)) for column in columns])


def _kind(column: str) -> pa.DataType:
    if column in TEXT:
        return pa.string()
    return pa.int64() if column in WHOLE else pa.float64()


def _table(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pa.Table:
    return pa.table(
        {column: [row[column] for row in rows] for column in columns}, schema=schema_of(columns)
    )


def _point(root: Path, run: str, *, engine: str, observed_at_s: float) -> None:
    document = {
        "run": run,
        "schema_version": SCHEMA_VERSION,
        "engine": engine,
        "observed_at_s": observed_at_s,
    }
    fresh = root / f".{POINTER}.{run}"
    with fresh.open("w") as stream:
        json.dump(document, stream)
        stream.flush()
        os.fsync(stream.fileno())
    fresh.replace(root / POINTER)


def _forget(root: Path, current: str, keep: int) -> None:
    """Remove runs beyond the last ones; a folder of another name is not ours."""
    runs = sorted(folder.name for folder in (root / RUNS).iterdir() if _RUN.fullmatch(folder.name))
    for run in runs[: max(0, len(runs) - keep)]:
        if run != current:
            shutil.rmtree(root / RUNS / run, ignore_errors=True)
