"""The Spark engine: the same tables as numpy's, from a laptop to a cluster by one setting."""

import math
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as fn

from thalweg_spark.condense.coverage import Row, coverage
from thalweg_spark.condense.expectation import Expectation
from thalweg_spark.condense.figures import KEYS, OF_OTHERS, Figure, Figures
from thalweg_spark.condense.places import Seen, pod_nodes, stays
from thalweg_spark.condense.presence import Presence
from thalweg_spark.engine import (
    Found,
    Request,
    Tables,
    Windows,
    by_servers_clock,
    completed,
    reading_of,
)
from thalweg_spark.errors import InvalidInput, SourceUnavailable, SparkUnavailable
from thalweg_spark.pull.prometheus import Prometheus
from thalweg_spark.pull.spark_source import FORMAT, is_in_one_piece, options
from thalweg_spark.schemas import TABLES, TEXT, WHOLE
from thalweg_spark.steps import matrices
from thalweg_spark.steps.figures import NUMBERS, figures
from thalweg_spark.steps.series import ERROR, SERIES_DDL, WARNING, whole_series
from thalweg_spark.steps.traffic import node_traffic

_AT_ONCE = 4
"""Tables that are made at once: planning one takes about as long as computing another."""
_LEAST_ASKED_AT_ONCE = 2
_MOST_ASKED_AT_ONCE = 8
"""A Prometheus answers twenty queries at a time, and we are not the only ones to ask."""
_PLAIN = TEXT | WHOLE
_REFUSED = f"{InvalidInput.exit_code} "


class SparkEngine:
    """Condenses in a session that somebody else keeps."""

    name = "spark"

    def __init__(self, session: SparkSession) -> None:
        """Pull in as many partitions as there are cores."""
        self._session = session

    def warm(self) -> None:
        """Condense nothing: Java compiles its plans now rather than in the first run."""
        nothing = self._session.createDataFrame([], schema=SERIES_DDL).persist()
        tables_of_series(nothing, None, at_s=0.0, windows=Windows())
        nothing.unpersist()

    def find(self, request: Request) -> Found:
        """Pull in parallel, then condense; nothing of it stays cached."""
        begun = time.perf_counter()
        with closing(Prometheus(request.source)) as server:
            request, told = by_servers_clock(request, server)
        windows_s = {fact: request.windows.of(fact) for fact in request.preset.queries}
        given = options(
            request.source,
            reading_of(request),
            windows_s,
            at_s=request.at_s,
            partitions=_at_once(self._session),
        )
        read = self._session.read.format(FORMAT).options(**given).load().persist()
        try:
            warnings = _notes(read)
            pulled_at = time.perf_counter()
            # A series that was pulled in one piece is whole, and clean.
            make = tables_of_series if is_in_one_piece(windows_s, request.at_s) else tables_of
            found = make(read, request.expectation, at_s=request.at_s, windows=request.windows)
        except (PySparkException, OSError) as error:
            raise SparkUnavailable(f"Spark failed: {str(error).splitlines()[0]}") from error
        finally:
            read.unpersist()
        seconds = {"pull": pulled_at - begun, "condense": time.perf_counter() - pulled_at}
        return Found(tables=found, warnings=(*warnings, *told), seconds=seconds)


def _at_once(session: SparkSession) -> int:
    """How many partitions Spark works on at once; executors may still come, so ask each time."""
    try:
        cores = session.sparkContext.defaultParallelism
    except PySparkException:
        # Spark Connect does not say what its server has.
        return _LEAST_ASKED_AT_ONCE
    return min(max(cores, _LEAST_ASKED_AT_ONCE), _MOST_ASKED_AT_ONCE)


def tables_of(
    read: DataFrame, expectation: Expectation | None, *, at_s: float, windows: Windows
) -> Tables:
    """All tables from rows of series, wherever they were read from and in however many pieces."""
    series = whole_series(read, at_s).persist()
    try:
        return tables_of_series(series, expectation, at_s=at_s, windows=windows)
    finally:
        series.unpersist()


def tables_of_series(
    series: DataFrame, expectation: Expectation | None, *, at_s: float, windows: Windows
) -> Tables:
    """All tables from whole series, those about the same beside one another."""
    found = figures(series, recent_s=windows.scaling_s).persist()
    try:
        found.count()
        return _tables(series, found, expectation, at_s=at_s, windows=windows)
    finally:
        found.unpersist()


def _tables(
    series: DataFrame,
    found: DataFrame,
    expectation: Expectation | None,
    *,
    at_s: float,
    windows: Windows,
) -> Tables:
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        others = pool.submit(lambda: _collected(found.where(fn.col("fact").isin(*OF_OTHERS))))
        places = pool.submit(lambda: _collected(matrices.seen(found)))
        present = pool.submit(lambda: _collected(matrices.presences(found)))
        asked = {
            step.__name__: pool.submit(_rows, step.__name__, step, found)
            for step in (
                matrices.dependency,
                matrices.task_load,
                matrices.node_latency,
                matrices.tuple_latency,
            )
        }
        known = _by_fact(others.result())
        there = [Seen(**row) for row in places.result()]
        nodes = pod_nodes(there, known, expectation)
        traffic = partial(node_traffic, series, staying=stays(there, nodes), nodes=nodes)
        asked["node_traffic"] = pool.submit(_rows, "node_traffic", traffic, found)
        rows: Tables = {name: table.result() for name, table in asked.items()}
        presences = [Presence(**row) for row in present.result()]
    rows["coverage"] = coverage(
        presences, expectation, known=known, windows_s=windows.by_matrix, at_s=at_s
    )
    return completed(rows, known, there, expectation)


def _notes(read: DataFrame) -> tuple[str, ...]:
    """What the server warned of; an error ends the run."""
    found = read.where(fn.col("note").isNotNull()).select("fact", "note").collect()
    errors = sorted({row["note"] for row in found if row["fact"] == ERROR})
    if errors:
        kind = InvalidInput if errors[0].startswith(_REFUSED) else SourceUnavailable
        raise kind(errors[0].partition(" ")[2])
    return tuple(sorted({row["note"] for row in found if row["fact"] == WARNING}))


def _by_fact(rows: Iterable[Row]) -> Figures:
    """Figures as numpy's engine has them."""
    known: dict[str, dict[tuple[str, ...], Figure]] = {}
    for row in rows:
        fact, numbers = row["fact"], {name: _float(row[name]) for name in NUMBERS}
        key = tuple(row[label] for label in KEYS[fact])
        known.setdefault(fact, {})[key] = Figure(
            fact=fact, key=key, samples=row["samples"], **numbers
        )
    return known


def _rows(table: str, step: Callable[[DataFrame], DataFrame], figures: DataFrame) -> list[Row]:
    """Plan and collect a table, in the order of its names; unknown is NaN outside Spark."""
    found = step(figures)
    columns = [column for column in TABLES[table] if column in found.columns]
    rows = [
        {column: row[column] if column in _PLAIN else _float(row[column]) for column in columns}
        for row in _collected(found.select(*columns))
    ]
    # Sorted here: in Spark, sorting some thousand rows is two jobs more.
    return sorted(rows, key=lambda row: [row[column] for column in columns if column in TEXT])


def _collected(found: DataFrame) -> Iterable[Row]:
    rows: list[Row] = found.toArrow().to_pylist()
    return rows


def _float(value: float | None) -> float:
    return math.nan if value is None else value
