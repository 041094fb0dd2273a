"""The Spark engine: the same tables as numpy's, from a laptop to a cluster by one setting."""

import math
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

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
from thalweg_spark.pull.spark_source import FORMAT, is_in_one_piece, options
from thalweg_spark.schemas import TABLES, TEXT, WHOLE
from thalweg_spark.steps import matrices, others
from thalweg_spark.steps.series import ERROR, SERIES_DDL, WARNING, whole_series, with_rises

_AT_ONCE = 4
"""Tables that are made at once: planning one takes about as long as computing another."""
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
        nothing = with_rises(self._session.createDataFrame([], schema=SERIES_DDL)).persist()
        tables_of_series(nothing, None, at_s=0.0, windows=Windows())
        nothing.unpersist()

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
        read = self._session.read.format(FORMAT).options(**given).load()
        # A series that was pulled in one piece is whole, and clean; its rises are cached with it.
        is_whole = is_in_one_piece(windows_s, request.at_s)
        read = (with_rises(read) if is_whole else read).persist()
        try:
            warnings = _notes(read)
            pulled_at = time.perf_counter()
            series = read.where(fn.col("note").isNull() & (fn.size("samples") > 0))
            make = partial(tables_of_series if is_whole else tables_of, series)
            found = make(request.expectation, at_s=request.at_s, windows=request.windows)
        except (PySparkException, OSError) as error:
            raise SparkUnavailable(f"Spark failed: {str(error).splitlines()[0]}") from error
        finally:
            read.unpersist()
        seconds = {"pull": pulled_at - begun, "condense": time.perf_counter() - pulled_at}
        return Found(tables=found, warnings=warnings, seconds=seconds)


def tables_of(
    read: DataFrame, expectation: Expectation | None, *, at_s: float, windows: Windows
) -> Tables:
    """All tables from rows of series, wherever they were read from and in however many pieces."""
    cached = whole_series(read).persist()
    try:
        cached.count()
        # Not before it is cached: Spark would clean every series once more to see if one is empty.
        series = cached.where(fn.size("samples") > 0)
        return tables_of_series(series, expectation, at_s=at_s, windows=windows)
    finally:
        cached.unpersist()


def tables_of_series(
    series: DataFrame, expectation: Expectation | None, *, at_s: float, windows: Windows
) -> Tables:
    """All tables from whole series that are cached."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        recently = partial(matrices.dependency, recent_s=windows.scaling_s)
        asked = {"dependency": pool.submit(_rows, "dependency", recently, series)}
        figures = pool.submit(lambda: _collected(others.figures(series)))
        places = pool.submit(lambda: _collected(others.seen(series)))
        present = pool.submit(lambda: _collected(matrices.presences(series)))
        for table in (matrices.task_load, matrices.node_latency, matrices.tuple_latency):
            asked[table.__name__] = pool.submit(_rows, table.__name__, table, series)
        known = [_figure(row) for row in figures.result()]
        there = [Seen(**row) for row in places.result()]
        nodes = pod_nodes(there, known, expectation)
        traffic = partial(others.node_traffic, staying=stays(there, nodes), nodes=nodes)
        asked["node_traffic"] = pool.submit(_rows, "node_traffic", traffic, series)
        rows: Tables = {name: found.result() for name, found in asked.items()}
        presences = [Presence(**row) for row in present.result()]
    rows["coverage"] = coverage(presences, expectation, windows_s=windows.by_matrix, at_s=at_s)
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


def _rows(table: str, step: Callable[[DataFrame], DataFrame], series: DataFrame) -> list[Row]:
    """Plan and collect a table; unknown is NaN outside Spark."""
    found = step(series)
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
