"""Figures to tables: what condense/tables.py does, as DataFrames of built-in functions.

Of each fact a group has one figure at most, so a maximum picks it; unknown is null.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.figures import FLOWS, LOAD_FACTS, NODES, PAIR, TASK, TOPOLOGY
from thalweg_spark.condense.places import PLACE_FACTS, PLACE_LABELS
from thalweg_spark.condense.presence import PRESENCE_FACTS, PRESENCE_LABELS


def _of(fact: str, number: str) -> Column:
    return fn.max(fn.when(fn.col("fact") == fact, fn.col(number)))


def dependency(figures: DataFrame) -> DataFrame:
    """Traffic from task to task, by Ra-Stream's trimmed mean, and what it has been lately."""
    return (
        figures.where(fn.col("fact").isin(*FLOWS))
        .groupBy(*PAIR)
        .agg(
            _of("tuples", "trimmed_rate").alias("tuples_per_s"),
            _of("bytes", "trimmed_rate").alias("bytes_per_s"),
            _of("tuples", "recent_rate").alias("recent_tuples_per_s"),
            _of("tuples", "samples").alias("samples"),
        )
        .where(fn.col("samples").isNotNull())
        .withColumnsRenamed({"task": "source_task", "to_task": "target_task"})
    )


def task_load(figures: DataFrame) -> DataFrame:
    """What each task did, and what it could do if it were always busy."""
    busy, processed = _of("busy", "rate"), _of("processed", "rate")
    return (
        figures.where(fn.col("fact").isin(*LOAD_FACTS))
        .groupBy(*TASK)
        .agg(
            _of("cpu", "rate").alias("cpu_cores"),
            _of("memory", "latest").alias("memory_bytes"),
            fn.when(busy.isNotNull(), fn.least(busy, fn.lit(1.0))).alias("busy_share"),
            _of("backpressured", "rate").alias("backpressured_share"),
            fn.try_divide(_of("wait", "rise"), _of("processed", "rise")).alias("wait_s"),
            processed.alias("processed_per_s"),
            fn.try_divide(processed, busy).alias("true_rate_per_s"),
            _of("queue", "latest").alias("queue_tuples"),
            _of("routes_version", "latest").alias("routes_version"),
            fn.sum("samples").alias("samples"),
        )
    )


def node_latency(figures: DataFrame) -> DataFrame:
    """One-way seconds between nodes: half of the median round trip."""
    return figures.where(fn.col("fact") == "rtt").select(
        *NODES, (fn.col("median") / 2).alias("latency_s"), "samples"
    )


def tuple_latency(figures: DataFrame) -> DataFrame:
    """From source to sink, and from source to acknowledgement, for each topology."""
    return (
        figures.where(fn.col("fact").isin("latency", "latency_sum", "complete"))
        .groupBy(*TOPOLOGY)
        .agg(
            _of("latency", "p50").alias("p50_s"),
            _of("latency", "p99").alias("p99_s"),
            fn.try_divide(_of("latency_sum", "rise"), _of("latency", "rise")).alias("mean_s"),
            _of("complete", "p50").alias("complete_p50_s"),
            _of("latency", "rate").alias("throughput_per_s"),
            fn.coalesce(_of("latency", "samples"), fn.lit(0)).alias("samples"),
            fn.bool_or(fn.col("fact") != "latency_sum").alias("is_shown"),
        )
        .where("is_shown")
    )


def presences(figures: DataFrame) -> DataFrame:
    """Which series were there and until when: the columns of condense.presence.Presence."""
    of_parts = ("to_vertex", "node")
    keys = [label for label in PRESENCE_LABELS if label not in of_parts]
    return (
        figures.where(fn.col("fact").isin(*PRESENCE_FACTS))
        .select("fact", *keys, fn.inline("parts"))
        .groupBy("fact", *PRESENCE_LABELS, "is_live")
        .agg(fn.max("last_s").alias("last_s"), fn.sum("samples").alias("samples"))
    )


def seen(figures: DataFrame) -> DataFrame:
    """Which task was in which pod from when to when: the columns of condense.places.Seen."""
    parts = fn.explode("parts").alias("part")
    return (
        figures.where(fn.col("fact").isin(*PLACE_FACTS))
        .select(*TOPOLOGY, "task", parts)
        .select(*TOPOLOGY, "task", "part.pod", "part.node", "part.first_s", "part.last_s")
        .groupBy(*PLACE_LABELS)
        .agg(fn.min("first_s").alias("first_s"), fn.max("last_s").alias("last_s"))
    )
