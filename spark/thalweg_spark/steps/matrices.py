"""Series to tables: what condense/tables.py does, as DataFrames."""

from collections.abc import Callable

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.presence import (
    LEAST_SLACK_S,
    PRESENCE_FACTS,
    PRESENCE_LABELS,
    STALE_SCRAPES,
)
from thalweg_spark.condense.tables import LOAD_FACTS
from thalweg_spark.steps import arrays
from thalweg_spark.steps.once import once
from thalweg_spark.steps.rates import (
    amount_of_rises,
    grouped,
    latest_of_lasts,
    rate_of_rises,
    scrapes,
    trimmed_rates,
)
from thalweg_spark.steps.series import of_facts

_PAIR = ("namespace", "topology", "task", "to_task")
_TASK = ("namespace", "topology", "vertex", "task")
_TOPOLOGY = ("namespace", "topology")


def dependency(series: DataFrame, *, recent_s: float) -> DataFrame:
    """Traffic from task to task, by Ra-Stream's trimmed mean, and what it has been lately."""
    keys = ("fact", *_PAIR)
    groups = grouped(of_facts(series, ("tuples", "bytes"), _PAIR), *keys)
    found = trimmed_rates(groups, *keys, recent_s=recent_s)
    tuples, volume = fn.col("fact") == "tuples", fn.col("fact") == "bytes"
    return (
        found.groupBy(*_PAIR)
        .agg(
            fn.max(fn.when(tuples, fn.col("trimmed_rate"))).alias("tuples_per_s"),
            fn.max(fn.when(volume, fn.col("trimmed_rate"))).alias("bytes_per_s"),
            fn.max(fn.when(tuples, fn.col("recent_rate"))).alias("recent_tuples_per_s"),
            fn.max(fn.when(tuples, fn.col("samples"))).alias("samples"),
        )
        .where(fn.col("samples").isNotNull())
        .withColumnsRenamed({"task": "source_task", "to_task": "target_task"})
        .orderBy("namespace", "topology", "source_task", "target_task")
    )


def task_load(series: DataFrame) -> DataFrame:
    """What each task did, and what it could do if it were always busy."""
    groups = grouped(of_facts(series, LOAD_FACTS, _TASK), "fact", *_TASK)
    figures = groups.select(
        "fact",
        *_TASK,
        "samples",
        once(groups, rate_of_rises).alias("rate"),
        once(groups, amount_of_rises).alias("rise"),
        once(groups, latest_of_lasts).alias("latest"),
    )
    of = _picker()
    busy, processed = of("busy", "rate"), of("processed", "rate")
    return (
        figures.groupBy(*_TASK)
        .agg(
            of("cpu", "rate").alias("cpu_cores"),
            of("memory", "latest").alias("memory_bytes"),
            fn.when(busy.isNotNull(), fn.least(busy, fn.lit(1.0))).alias("busy_share"),
            of("backpressured", "rate").alias("backpressured_share"),
            fn.try_divide(of("wait", "rise"), of("processed", "rise")).alias("wait_s"),
            processed.alias("processed_per_s"),
            fn.try_divide(processed, busy).alias("true_rate_per_s"),
            of("queue", "latest").alias("queue_tuples"),
            fn.sum("samples").alias("samples"),
        )
        .orderBy(*_TASK)
    )


def _picker() -> Callable[[str, str], Column]:
    """The figure of one fact; each fact has one row at most in a group."""

    def pick(fact: str, figure: str) -> Column:
        return fn.max(fn.when(fn.col("fact") == fact, fn.col(figure)))

    return pick


def node_latency(series: DataFrame) -> DataFrame:
    """One-way seconds between nodes: half of the median round trip."""
    pair = ("source_node", "target_node")
    values = fn.flatten(fn.collect_list(fn.col("samples.value")))
    return (
        of_facts(series, ("rtt",), pair)
        .groupBy(*pair)
        .agg(values.alias("values"))
        .select(
            *pair,
            (once(series, _median_of_values) / 2).alias("latency_s"),
            fn.size("values").cast("long").alias("samples"),
        )
        .orderBy(*pair)
    )


def tuple_latency(series: DataFrame) -> DataFrame:
    """From source to sink, and from source to acknowledgement, for each topology."""
    facts = ("latency", "latency_sum", "complete")
    ours = of_facts(series, facts, _TOPOLOGY)
    by_bound = grouped(ours.withColumn("bound", _bound()), "fact", *_TOPOLOGY, "bound").select(
        "fact",
        *_TOPOLOGY,
        "bound",
        "samples",
        fn.coalesce(once(series, amount_of_rises), fn.lit(0.0)).alias("count"),
        once(series, amount_of_rises).alias("rise"),
        once(series, rate_of_rises).alias("rate"),
    )
    is_sink, is_sum = fn.col("fact") == "latency", fn.col("fact") == "latency_sum"
    is_whole = is_sink & (fn.col("bound") == arrays.INFINITY)
    mean = fn.try_divide(
        fn.max(fn.when(is_sum, fn.col("rise"))), fn.max(fn.when(is_whole, fn.col("rise")))
    )
    return (
        by_bound.groupBy(*_TOPOLOGY)
        .agg(
            _buckets("latency").alias("sinks"),
            _buckets("complete").alias("sources"),
            mean.alias("mean_s"),
            fn.max(fn.when(is_whole, fn.col("rate"))).alias("throughput_per_s"),
            fn.coalesce(fn.sum(fn.when(is_sink, fn.col("samples"))), fn.lit(0)).alias("samples"),
            fn.bool_or(~is_sum).alias("is_shown"),
        )
        .where("is_shown")
        .select(
            *_TOPOLOGY,
            once(series, _quantile, "sinks", 0.5).alias("p50_s"),
            once(series, _quantile, "sinks", 0.99).alias("p99_s"),
            "mean_s",
            once(series, _quantile, "sources", 0.5).alias("complete_p50_s"),
            "throughput_per_s",
            "samples",
        )
        .orderBy(*_TOPOLOGY)
    )


def _bound() -> Column:
    """A bucket's upper bound; null where the label is no number."""
    found = fn.col("le").try_cast("double")
    return fn.when(~fn.isnan(found), found)


def _buckets(fact: str) -> Column:
    one = fn.struct(fn.col("bound").alias("bound"), fn.col("count").alias("count"))
    ours = (fn.col("fact") == fact) & fn.col("bound").isNotNull()
    return fn.sort_array(fn.collect_list(fn.when(ours, one)))


def _quantile(buckets: str, quantile: float) -> Column:
    return arrays.quantile_of(fn.col(buckets), quantile)


def _median_of_values() -> Column:
    return arrays.median(fn.col("values"))


def _median_scrape_s() -> Column:
    return arrays.median(scrapes())


def presences(series: DataFrame) -> DataFrame:
    """Which series were there and until when: the columns of condense.presence.Presence."""
    last_s = fn.try_element_at("samples", fn.lit(-1))["at_s"]
    slack_s = fn.greatest(fn.lit(LEAST_SLACK_S), STALE_SCRAPES * once(series, _median_scrape_s))
    is_live = (fn.size("samples") > 1) & (fn.col("asked_s") - last_s <= slack_s)
    return (
        series.where(fn.col("fact").isin(*PRESENCE_FACTS))
        .select(
            "fact",
            *PRESENCE_LABELS,
            fn.coalesce(is_live, fn.lit(False)).alias("is_live"),  # noqa: FBT003
            last_s.alias("last_s"),
            fn.size("samples").alias("samples"),
        )
        .groupBy("fact", *PRESENCE_LABELS, "is_live")
        .agg(fn.max("last_s").alias("last_s"), fn.sum("samples").alias("samples"))
    )
