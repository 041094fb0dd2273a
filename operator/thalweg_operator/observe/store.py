"""The matrix store, read only: what the condensing child has published last."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from thalweg_operator.errors import StoreUnreadable

POINTER = "CURRENT"
RUNS = "runs"
ABOUT = "run.json"
SCHEMA_VERSION = 4
TABLES = (
    "dependency",
    "task_load",
    "node_latency",
    "node_capacity",
    "node_traffic",
    "tuple_latency",
    "coverage",
)

OF_TOPOLOGIES = frozenset(TABLES) - {"node_latency", "node_capacity"}
"""Tables whose rows say which topology they are about; what is about none says so by no name."""

Rows = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, kw_only=True)
class Matrices:
    """One run of condensing."""

    run: str
    engine: str
    observed_at_s: float
    tables: Mapping[str, Rows]
    warnings: tuple[str, ...] = ()
    """What the metrics source said about its answers, and what could not be asked."""
    is_partial: bool = False
    """Whether a server answered with less than it should have: nobody knows what is missing."""

    def rows(self, table: str, namespace: str, topology: str) -> Rows:
        """A table's rows about one topology."""
        return self._by_topology.get((table, namespace, topology), ())

    @cached_property
    def _by_topology(self) -> dict[tuple[str, str, str], list[Mapping[str, Any]]]:
        """Sorted once: every topology asks at every turn."""
        found: dict[tuple[str, str, str], list[Mapping[str, Any]]] = {}
        for table, rows in self.tables.items():
            for row in rows:
                key = (table, row.get("namespace") or "", row.get("topology") or "")
                found.setdefault(key, []).append(row)
        return found


def read_matrices(root: str | Path, *, only: tuple[str, str] | None = None) -> Matrices | None:
    """The run that the pointer names; None before the first.

    Of the namespace and name of `only`, nothing of other topologies is read: a file has row groups
    for each.
    """
    # pyarrow takes a third of a second to import, and only a measuring operator needs it.
    from pyarrow import ArrowException

    try:
        files, place = _located(root)
        pointer = _pointer(files, place)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError, ArrowException) as error:
        # An object store's address may begin with a key and its password, and pyarrow repeats it.
        told = re.sub(r"(?<=://)[^'\n]*@", "", str(error))
        raise StoreUnreadable(f"the pointer of the matrix store cannot be read: {told}") from error
    if pointer.get("schema_version") != SCHEMA_VERSION:
        raise StoreUnreadable(
            f"the matrix store has schema version {pointer.get('schema_version')}, this operator "
            f"reads {SCHEMA_VERSION}: run the same release of both"
        )
    folder = f"{place}/{RUNS}/{pointer['run']}"
    return Matrices(
        run=str(pointer["run"]),
        engine=str(pointer.get("engine") or ""),
        observed_at_s=float(pointer["observed_at_s"]),
        tables={table: _rows(files, folder, table, only) for table in TABLES},
        warnings=tuple(map(str, pointer.get("warnings") or ())),
        is_partial=bool(pointer.get("is_partial")),
    )


def _pointer(files: Any, place: str) -> dict[str, Any]:  # noqa: ANN401
    """What the pointer says; while it is being written, what the newest whole run says of itself.

    Only folders replace a file at once: elsewhere a reader may come upon an empty one.
    """
    try:
        return _document(files, f"{place}/{POINTER}")
    except (ValueError, TypeError):
        for run in _newest_first(files, place):
            try:
                return _document(files, f"{place}/{RUNS}/{run}/{ABOUT}")
            except (OSError, ValueError, TypeError):
                continue
        raise


def _newest_first(files: Any, place: str) -> list[str]:  # noqa: ANN401
    from pyarrow import fs

    folder = fs.FileSelector(f"{place}/{RUNS}", allow_not_found=True)
    return sorted((one.base_name for one in files.get_file_info(folder)), reverse=True)


def _document(files: Any, path: str) -> dict[str, Any]:  # noqa: ANN401
    with files.open_input_stream(path) as stream:
        found = json.loads(stream.read())
    if not isinstance(found, dict):
        raise TypeError(f"{path} holds no mapping")
    return found


def _located(root: str | Path) -> tuple[Any, str]:
    """The file system of a store, and its path there."""
    from pyarrow import fs

    if "://" not in str(root):
        return fs.LocalFileSystem(), str(root)
    files, place = fs.FileSystem.from_uri(str(root))
    return files, place.rstrip("/")


def _rows(files: Any, folder: str, table: str, only: tuple[str, str] | None) -> Rows:  # noqa: ANN401
    from pyarrow import ArrowException, parquet

    wanted = None
    if only is not None and table in OF_TOPOLOGIES:
        wanted = [("namespace", "in", ("", only[0])), ("topology", "in", ("", only[1]))]
    try:
        rows: Rows = parquet.read_table(
            f"{folder}/{table}.parquet", filesystem=files, filters=wanted
        ).to_pylist()
    except (OSError, ArrowException) as error:
        raise StoreUnreadable(
            f"{table}.parquet of the matrix store cannot be read: {error}"
        ) from error
    return rows
