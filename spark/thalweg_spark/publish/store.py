"""The matrix store: one folder of Parquet files a run, and one pointer that moves at once.

A run is a moment in time. In its files each topology has row groups of its own, so a reader of one
topology's history reads nothing of the others; a file for each would be thousands a minute. The
store may be on any file system that pyarrow knows: a folder, `hdfs://…`, `s3://…`, `gs://…`.
"""

import json
import re
import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs, parquet

from thalweg_spark.errors import StoreUnwritable
from thalweg_spark.schemas import SCHEMA_VERSION, TABLES, TEXT, WHOLE

POINTER = "CURRENT"
RUNS = "runs"
_RUN = re.compile(r"\d{13,16}-[0-9a-f]{8}")
_OWNER = ("namespace", "topology")

Row = Mapping[str, Any]


def publish(
    root: str | Path,
    tables: Mapping[str, Sequence[Row]],
    *,
    engine: str,
    observed_at_s: float,
    at_s: float | None = None,
    keep: int = 20,
) -> str:
    """Write all tables, then point to them; readers see the old run or the new one, never half.

    A run whose window ended (`at_s`) before that of the one pointed to comes late: it is kept as
    history and not pointed to.
    """
    ended_s = time.time() if at_s is None else at_s
    # Microseconds: two runs in one millisecond would sort by chance, and the newer be forgotten.
    run = f"{time.time_ns() // 1000:016d}-{uuid.uuid4().hex[:8]}"
    pointer = {
        "run": run,
        "schema_version": SCHEMA_VERSION,
        "engine": engine,
        "observed_at_s": observed_at_s,
        "at_s": ended_s,
    }
    try:
        files, place = located(root)
        files.create_dir(f"{place}/{RUNS}/{run}", recursive=True)
        for name, columns in TABLES.items():
            _write(files, f"{place}/{RUNS}/{run}/{name}.parquet", tables[name], columns)
        if ended_s >= _newest_s(files, place):
            _point(files, place, pointer)
        _forget(files, place, run, keep)
    except (OSError, pa.ArrowException) as error:
        raise StoreUnwritable(f"cannot write to the matrix store {root}: {error}") from error
    return run


def located(root: str | Path) -> tuple[fs.FileSystem, str]:
    """The file system of a store, and its path there."""
    if "://" in str(root):
        files, place = fs.FileSystem.from_uri(str(root))
        return files, place.rstrip("/")
    return fs.LocalFileSystem(), str(root)


def schema_of(columns: Sequence[str]) -> pa.Schema:
    """The Arrow types of a table's columns."""
    return pa.schema([(column, _kind(column)) for column in columns])


def _kind(column: str) -> pa.DataType:
    if column in TEXT:
        return pa.string()
    return pa.int64() if column in WHOLE else pa.float64()


def _write(files: fs.FileSystem, path: str, rows: Sequence[Row], columns: Sequence[str]) -> None:
    schema = schema_of(columns)
    with parquet.ParquetWriter(path, schema, filesystem=files) as out:
        for part in _by_topology(rows):
            out.write_table(
                pa.table({column: [row[column] for row in part] for column in columns}, schema)
            )


def _by_topology(rows: Sequence[Row]) -> Iterable[list[Row]]:
    """Rows in the order they have, cut where the topology changes."""

    def owner(row: Row) -> tuple[Any, ...]:
        return tuple(row.get(name, "") for name in _OWNER)

    return (list(part) for _, part in groupby(rows, owner))


def _newest_s(files: fs.FileSystem, place: str) -> float:
    """When the window of what is pointed to ended; a pointer that cannot be read is overwritten."""
    try:
        with files.open_input_stream(f"{place}/{POINTER}") as stream:
            return float(json.loads(stream.read())["at_s"])
    except (OSError, ValueError, KeyError, TypeError):
        return 0.0


def _point(files: fs.FileSystem, place: str, pointer: Mapping[str, Any]) -> None:
    """Replace the pointer as a whole: by renaming here, by one put in an object store."""
    local = isinstance(files, fs.LocalFileSystem)
    target = f"{place}/.{POINTER}.{pointer['run']}" if local else f"{place}/{POINTER}"
    with files.open_output_stream(target) as stream:
        stream.write(json.dumps(pointer).encode())
    if local:
        files.move(target, f"{place}/{POINTER}")


def _forget(files: fs.FileSystem, place: str, current: str, keep: int) -> None:
    """Remove runs beyond the last ones; a folder of another name is not ours."""
    found = files.get_file_info(fs.FileSelector(f"{place}/{RUNS}"))
    runs = sorted(one.base_name for one in found if _RUN.fullmatch(one.base_name))
    for run in runs[: max(0, len(runs) - keep)]:
        if run != current:
            files.delete_dir(f"{place}/{RUNS}/{run}")
