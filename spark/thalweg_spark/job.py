"""The Spark engine: the same tables as numpy's, from a laptop to a cluster by one setting."""

import math
import time
from collections.abc import Iterable

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from thalweg_spark.condense.coverage import Row, coverage
from thalweg_spark.condense.expectation import Expectation
from thalweg_spark.condense.figures import FIGURE_KEYS, Figure
from thalweg_spark.condense.places import Seen, pod_nodes, stays
from thalweg_spark.condense.presence import Presence
from thalweg_spark.engine import Found, Request, Tables, Windows, completed
from thalweg_spark.errors import InvalidInput, SourceUnavailable, SparkUnavailable
from thalweg_spark.pull.spark_source import FORMAT, options
from thalweg_spark.schemas import TABLES, TEXT, WHOLE
from thalweg_spark.steps import matrices, others
from thalweg_spark.steps.series import ERROR, SERIES_DDL, WARNING, whole_series

_REFUSED = f"{InvalidInput.exit_code} "


class SparkEngine:
    """Condenses in a session that somebody else keeps."""

    name = "spark"

    def __init__(self, session: SparkSession, *, partitions: int = 2) -> None:
        """Pull in this many partitions."""
        self._session = session
        self._partitions = partitions

    def warm(self) -> None:
        """Condense nothing: Java compiles its plans now rather than in the first run."""
        nothing = self._session.createDataFrame([], schema=SERIES_DDL)
        tables_of(nothing, None, at_s=0.0, windows=Windows())

    def find(self, request: Request) -> Found:
        """Pull in parallel, then condense; nothing of it stays cached."""
        begun = time.perf_counter()
        windows_s = {fact: request.windows.of(fact) for fact in request.preset.queries}
        given = options(
            request.source,
            request.preset,
            windows_s,
            at_s=request.at_s,
            partitions=self._partitions,
        )
        read = self._session.read.format(FORMAT).options(**given).load().persist()
        try:
            warnings = _notes(read)
            pulled_at = time.perf_counter()
            found = tables_of(read, request.expectation, at_s=request.at_s, windows=request.windows)
        except (PySparkException, OSError) as error:
            raise SparkUnavailable(f"Spark failed: {str(error).splitlines()[0]}") from error
        finally:
            read.unpersist()
        seconds = {"pull": pulled_at - begun, "condense": time.perf_counter() - pulled_at}
        return Found(tables=found, warnings=warnings, seconds=seconds)


def tables_of(
    read: DataFrame, expectation: Expectation | None, *, at_s: float, windows: Windows
) -> Tables:
    """All tables from rows of series, wherever they were read from."""
    series = whole_series(read).persist()
    try:
        present = _collected(matrices.presences(series, at_s=at_s))
        known = [_figure(row) for row in _collected(others.figures(series))]
        there = [Seen(**row) for row in _collected(others.seen(series))]
        nodes = pod_nodes(there, known, expectation)
        recent_since_s = at_s - windows.scaling_s
        rows: Tables = {
            "dependency": _rows(
                "dependency", matrices.dependency(series, recent_since_s=recent_since_s)
            ),
            "task_load": _rows("task_load", matrices.task_load(series)),
            "node_latency": _rows("node_latency", matrices.node_latency(series)),
            "node_traffic": _rows(
                "node_traffic", others.node_traffic(series, stays(there, nodes), nodes)
            ),
            "tuple_latency": _rows("tuple_latency", matrices.tuple_latency(series)),
            "coverage": coverage(
                [Presence(**row) for row in present],
                expectation,
                windows_s=windows.by_matrix,
                at_s=at_s,
            ),
        }
    finally:
        series.unpersist()
    return completed(rows, known, there, expectation)


def _figure(row: Row) -> Figure:
    """A figure from its row: a key of the fact's own labels, NaN for null."""
    numbers = ("rate", "rise", "latest", "mean")
    return Figure(
        fact=row["fact"],
        key=tuple(row[label] for label in FIGURE_KEYS[row["fact"]]),
        samples=row["samples"],
        **{name: math.nan if row[name] is None else row[name] for name in numbers},
    )


def _notes(read: DataFrame) -> tuple[str, ...]:
    """What the server warned of; an error ends the run."""
    found = read.where(fn.col("note").isNotNull()).select("fact", "note").collect()
    errors = sorted({row["note"] for row in found if row["fact"] == ERROR})
    if errors:
        kind = InvalidInput if errors[0].startswith(_REFUSED) else SourceUnavailable
        raise kind(errors[0].partition(" ")[2])
    return tuple(sorted({row["note"] for row in found if row["fact"] == WARNING}))


def _rows(table: str, found: DataFrame) -> list[Row]:
    """Collect a table; unknown is NaN outside Spark."""
    columns = [column for column in TABLES[table] if column in found.columns]
    return [
        {column: _value(column, row[column]) for column in columns}
        for row in _collected(found.select(*columns))
    ]


def _collected(found: DataFrame) -> Iterable[Row]:
    rows: list[Row] = found.toArrow().to_pylist()
    return rows


def _value(column: str, value: object) -> object:
    if value is None and column not in TEXT and column not in WHOLE:
        return math.nan
    return value
