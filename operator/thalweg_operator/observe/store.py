"""The matrix store, read only: what the condensing child has published last."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from thalweg_operator.errors import StoreUnreadable

POINTER = "CURRENT"
RUNS = "runs"
SCHEMA_VERSION = 1
TABLES = (
    "dependency",
    "task_load",
    "node_latency",
    "node_capacity",
    "tuple_latency",
    "coverage",
)

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrices:
    """One run of condensing."""

    run: str
    engine: str
    observed_at_s: float
    tables: Mapping[str, Rows]


def read_matrices(root: Path) -> Matrices | None:
    """The run that the pointer names; None before the first."""
    try:
        pointer = json.loads((root / POINTER).read_text())
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StoreUnreadable(f"the pointer of the matrix store cannot be read: {error}") from error
    if pointer.get("schema_version") != SCHEMA_VERSION:
        raise StoreUnreadable(
            f"the matrix store has schema version {pointer.get('schema_version')}, this operator "
            f"reads {SCHEMA_VERSION}: run the same release of both"
        )
    folder = root / RUNS / str(pointer["run"])
    return Matrices(
        run=str(pointer["run"]),
        engine=str(pointer.get("engine") or ""),
        observed_at_s=float(pointer["observed_at_s"]),
        tables={table: _rows(folder / f"{table}.parquet") for table in TABLES},
    )


def _rows(file: Path) -> Rows:
    # pyarrow takes a third of a second to import, and only a measuring operator needs it.
    from pyarrow import ArrowException, parquet

    try:
        rows: Rows = parquet.read_table(file).to_pylist()
    except (OSError, ArrowException) as error:
        raise StoreUnreadable(f"{file.name} of the matrix store cannot be read: {error}") from error
    return rows
