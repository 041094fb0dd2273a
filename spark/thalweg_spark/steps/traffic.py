"""Traffic between nodes, as DataFrames; condense/traffic.py says what it is."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.figures import FLOWS, PAIR, TOPOLOGY
from thalweg_spark.condense.places import Stay
from thalweg_spark.condense.traffic import amount_between
from thalweg_spark.steps.series import series_of

_BETWEEN = (*TOPOLOGY, "source_node", "target_node")
_SENDERS = "namespace STRING, pod STRING, source_node STRING"
_RECEIVERS = (
    "namespace STRING, topology STRING, to_task STRING, target_node STRING, "
    "since_s DOUBLE, until_s DOUBLE"
)
_SENT = ("fact", *PAIR, "pod", "target_node")
_SENT_DDL = ", ".join([*(f"{name} STRING" for name in _SENT), "amount DOUBLE"])
_SENT_ARROW = pa.schema([*((name, pa.string()) for name in _SENT), ("amount", pa.float64())])


def node_traffic(
    series: DataFrame,
    figures: DataFrame,
    *,
    staying: Sequence[Stay],
    nodes: Mapping[tuple[str, str], str],
) -> DataFrame:
    """Rates between nodes, of each pair of tasks by where both were at the time."""
    session = series.sparkSession
    senders = session.createDataFrame(
        [(namespace, pod, node) for (namespace, pod), node in nodes.items()], schema=_SENDERS
    )
    sent = _to_settled(figures, [one for one in staying if _is_settled(one)])
    moved = [one for one in staying if not _is_settled(one)]
    if moved:
        sent = sent.unionByName(_to_moved(series, moved))
    covered = figures.where(fn.col("fact").isin(*FLOWS)).select("fact", *PAIR, "covered_s")
    located = (
        sent.where(fn.col("amount") > 0)
        .join(fn.broadcast(senders), ["namespace", "pod"])
        .join(covered, ["fact", *PAIR])
        .withColumn("rate", fn.try_divide("amount", "covered_s"))
    )
    rates = [
        fn.sum(fn.when(fn.col("fact") == fact, fn.col("rate"))).alias(column)
        for fact, column in FLOWS.items()
    ]
    return located.groupBy(*_BETWEEN).agg(*rates)


def _is_settled(stay: Stay) -> bool:
    """Whether a task was on one node all the time."""
    return stay.since_s == -math.inf and stay.until_s == math.inf


def _receivers(frame: DataFrame, staying: Sequence[Stay]) -> DataFrame:
    rows = [astuple(one) for one in staying]
    return fn.broadcast(frame.sparkSession.createDataFrame(rows, schema=_RECEIVERS))


def _to_settled(figures: DataFrame, staying: Sequence[Stay]) -> DataFrame:
    """What was sent to tasks that stayed where they were: all that was counted."""
    return (
        figures.where(fn.col("fact").isin(*FLOWS))
        .select("fact", *PAIR, fn.explode("parts").alias("part"))
        .select("fact", *PAIR, "part.pod", fn.col("part.rise").alias("amount"))
        .join(_receivers(figures, staying), [*TOPOLOGY, "to_task"])
        .select(*_SENT, "amount")
    )


def _to_moved(series: DataFrame, staying: Sequence[Stay]) -> DataFrame:
    """What was sent to tasks that moved, divided at the moments of their changes."""
    return (
        series.where(fn.col("fact").isin(*FLOWS))
        .select("fact", *PAIR, "pod", "times_s", "numbers")
        .join(_receivers(series, staying), [*TOPOLOGY, "to_task"])
        .mapInArrow(_amounts, _SENT_DDL)
    )


def _amounts(found: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in found:
        rows = [
            {
                **{name: said[name] for name in _SENT},
                "amount": amount_between(one, said["since_s"], said["until_s"]),
            }
            for said, one in series_of(batch)
        ]
        yield pa.RecordBatch.from_pylist(rows, schema=_SENT_ARROW)
