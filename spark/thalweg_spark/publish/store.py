"""The matrix store: one folder of Parquet files a run, and one pointer that moves at once.

A run is a moment in time. In its files each topology has row groups of its own, so a reader of one
topology's history reads nothing of the others; a file for each would be thousands a minute. The
store may be on any file system that pyarrow knows: a folder, `hdfs://…`, `s3://…`, `gs://…`. Where
a file cannot be replaced at once, a reader may find the pointer empty for a moment; each run says
of itself what the pointer would, as the last thing that is written of it.
"""

import json
import re
import time
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs, parquet

from thalweg_spark.errors import InvalidInput, StoreUnwritable
from thalweg_spark.schemas import SCHEMA_VERSION, TABLES, TEXT, WHOLE

POINTER = "CURRENT"
RUNS = "runs"
ABOUT = "run.json"
"""What a run says of itself; a run without it is not whole."""
LEAST_KEPT = 2
"""A reader may still be at the run before."""
_AHEAD_S = 60.0
"""Clocks differ by less. A pointer from further in the future would make all later runs late."""
_MOST_WARNINGS = 10
_WARNING_LENGTH = 300
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
    warnings: Sequence[str] = (),
    is_partial: bool = False,
) -> str:
    """Write all tables, then point to them; readers see the old run or the new one, never half.

    `is_partial` says that a server answered with less than it should have, as Thanos may.

    A run whose window ended (`at_s`) before that of the one pointed to comes late: it is kept as
    history and not pointed to.
    """
    if keep < LEAST_KEPT:
        raise InvalidInput(f"a matrix store keeps at least {LEAST_KEPT} runs; got {keep}")
    now_s = time.time()
    ended_s = now_s if at_s is None else at_s
    # Microseconds: two runs in one millisecond would sort by chance, and the newer be forgotten.
    run = f"{time.time_ns() // 1000:016d}-{uuid.uuid4().hex[:8]}"
    pointer = {
        "run": run,
        "schema_version": SCHEMA_VERSION,
        "engine": engine,
        "observed_at_s": observed_at_s,
        "at_s": ended_s,
        "warnings": [text[:_WARNING_LENGTH] for text in warnings[:_MOST_WARNINGS]],
        "is_partial": is_partial,
    }
    try:
        files, place = located(root)
        files.create_dir(f"{place}/{RUNS}/{run}", recursive=True)
        for name, columns in TABLES.items():
            _write(files, f"{place}/{RUNS}/{run}/{name}.parquet", tables[name], columns)
        _put(files, f"{place}/{RUNS}/{run}/{ABOUT}", pointer)
        before = _pointed_to(files, place, now_s)
        is_late = before is not None and before[1] > ended_s
        if not is_late:
            _point(files, place, pointer)
        current = before[0] if before is not None and is_late else run
        _forget(files, place, {run, current}, keep)
    except (OSError, pa.ArrowException) as error:
        told = f"cannot write to the matrix store {root}: {error}"
        raise StoreUnwritable(_without_secrets(told)) from error
    return run


def located(root: str | Path) -> tuple[fs.FileSystem, str]:
    """The file system of a store, and its path there."""
    if "://" in str(root):
        files, place = fs.FileSystem.from_uri(str(root))
        return files, place.rstrip("/")
    return fs.LocalFileSystem(), str(root)


def _without_secrets(text: str) -> str:
    """An object store's address may begin with a key and its password, and pyarrow repeats it."""
    return re.sub(r"(?<=://)[^'\n]*@", "", text)


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


def _pointed_to(files: fs.FileSystem, place: str, now_s: float) -> tuple[str, float] | None:
    """The run pointed to and when its window ended; None for a pointer that is to be overwritten:
    one that cannot be read, or that comes from the future.
    """
    try:
        with files.open_input_stream(f"{place}/{POINTER}") as stream:
            pointer = json.loads(stream.read())
        run, ended_s = str(pointer["run"]), float(pointer["at_s"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return (run, ended_s) if ended_s <= now_s + _AHEAD_S else None


def _point(files: fs.FileSystem, place: str, pointer: Mapping[str, Any]) -> None:
    """Replace the pointer as a whole: by renaming here, by one put in an object store."""
    local = isinstance(files, fs.LocalFileSystem)
    target = f"{place}/.{POINTER}.{pointer['run']}" if local else f"{place}/{POINTER}"
    _put(files, target, pointer)
    if local:
        files.move(target, f"{place}/{POINTER}")


def _put(files: fs.FileSystem, path: str, document: Mapping[str, Any]) -> None:
    with files.open_output_stream(path) as stream:
        stream.write(json.dumps(document).encode())


def _forget(files: fs.FileSystem, place: str, needed: Collection[str], keep: int) -> None:
    """Remove runs beyond the last ones; a folder of another name is not ours."""
    found = files.get_file_info(fs.FileSelector(f"{place}/{RUNS}"))
    runs = sorted(one.base_name for one in found if _RUN.fullmatch(one.base_name))
    for run in runs[: max(0, len(runs) - keep)]:
        if run not in needed:
            files.delete_dir(f"{place}/{RUNS}/{run}")
