"""What condense/figures.py, places.py and traffic.py do, as DataFrames."""

from collections.abc import Mapping, Sequence
from dataclasses import astuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.figures import FIGURE_KEYS, KEY_LABELS
from thalweg_spark.condense.places import PLACE_FACTS, PLACE_LABELS, Stay
from thalweg_spark.condense.traffic import FLOWS
from thalweg_spark.steps import arrays
from thalweg_spark.steps.once import once
from thalweg_spark.steps.rates import (
    amount_of_rises,
    grouped,
    latest_of_lasts,
    rate_of_rises,
    scrapes,
)
from thalweg_spark.steps.series import of_facts

_PAIR = ("namespace", "topology", "task", "to_task")
_NODES = ("namespace", "topology", "source_node", "target_node")


def figures(series: DataFrame) -> DataFrame:
    """One row a fact and key: the columns of Figure, its key as labels."""
    ours = series.where(_has_key()).select(
        "fact", *(_key_label(label) for label in KEY_LABELS), "samples", "rises"
    )
    keys = ("fact", *KEY_LABELS)
    last = fn.try_element_at("samples", fn.lit(-1))
    groups = ours.groupBy(*keys).agg(
        fn.sort_array(fn.flatten(fn.collect_list("rises"))).alias("rises"),
        fn.collect_list(last).alias("lasts"),
        fn.flatten(fn.collect_list(once(series, scrapes))).alias("scrapes"),
        fn.flatten(fn.collect_list(fn.col("samples.value"))).alias("values"),
        (fn.count(fn.lit(1)) == 1).alias("alone"),
    )
    values = fn.col("values")
    return groups.select(
        *keys,
        once(series, rate_of_rises).alias("rate"),
        once(series, amount_of_rises).alias("rise"),
        once(series, latest_of_lasts).alias("latest"),
        fn.try_divide(once(series, _total_of_values), fn.size(values)).alias("mean"),
        fn.size(values).cast("long").alias("samples"),
    )


def _has_key() -> Column:
    """Whether a row's fact is one of ours and all labels of its key are there."""
    found = fn.lit(False)  # noqa: FBT003
    for fact, labels in FIGURE_KEYS.items():
        whole = fn.col("fact") == fact
        for label in labels:
            whole = whole & (fn.col(label) != "")
        found = found | whole
    return found


def _key_label(label: str) -> Column:
    """A label where the fact's key has it, else nothing: it must not divide a group."""
    facts = [fact for fact, labels in FIGURE_KEYS.items() if label in labels]
    return fn.when(fn.col("fact").isin(*facts), fn.col(label)).otherwise(fn.lit("")).alias(label)


def seen(series: DataFrame) -> DataFrame:
    """Which task was in which pod from when to when: the columns of Seen."""
    first_s = fn.try_element_at("samples", fn.lit(1))["at_s"]
    last_s = fn.try_element_at("samples", fn.lit(-1))["at_s"]
    return (
        series.where(fn.col("fact").isin(*PLACE_FACTS))
        .groupBy(*PLACE_LABELS)
        .agg(fn.min(first_s).alias("first_s"), fn.max(last_s).alias("last_s"))
    )


def node_traffic(
    series: DataFrame, staying: Sequence[Stay], nodes: Mapping[tuple[str, str], str]
) -> DataFrame:
    """Rates between nodes, of each pair of tasks by where both were at the time."""
    session = series.sparkSession
    senders = session.createDataFrame(
        [(namespace, pod, node) for (namespace, pod), node in nodes.items()],
        schema="namespace STRING, pod STRING, source_node STRING",
    )
    receivers = session.createDataFrame(
        [astuple(one) for one in staying],
        schema="namespace STRING, topology STRING, to_task STRING, target_node STRING, "
        "since_s DOUBLE, until_s DOUBLE",
    )
    flows = of_facts(series, FLOWS, _PAIR)
    covered_s = once(series, _covered_s)
    covered = grouped(flows, "fact", *_PAIR).select("fact", *_PAIR, covered_s.alias("covered_s"))
    located = (
        flows.select("fact", *_PAIR, "pod", "rises")
        .join(fn.broadcast(senders), ["namespace", "pod"])
        .join(fn.broadcast(receivers), ["namespace", "topology", "to_task"])
        .withColumn("amount", once(series, _during))
        .where(fn.col("amount") > 0)
        .groupBy("fact", *_PAIR, "source_node", "target_node")
        .agg(fn.sum("amount").alias("amount"))
        .join(covered, ["fact", *_PAIR])
        .withColumn("rate", fn.try_divide("amount", "covered_s"))
    )
    rates = [
        fn.sum(fn.when(fn.col("fact") == fact, fn.col("rate"))).alias(column)
        for fact, column in FLOWS.items()
    ]
    return located.groupBy(*_NODES).agg(*rates).orderBy(*_NODES)


def _covered_s() -> Column:
    return arrays.covered_s(fn.col("rises"), fn.col("alone"))


def _total_of_values() -> Column:
    return arrays.total(fn.col("values"))


def _during() -> Column:
    """What was counted while the receiver was there; a rise that spans a change is divided."""

    def part(one: Column) -> Column:
        inside_s = fn.least(one["end_s"], fn.col("until_s")) - fn.greatest(
            one["start_s"], fn.col("since_s")
        )
        share = inside_s / (one["end_s"] - one["start_s"])
        return one["amount"] * fn.least(fn.greatest(share, fn.lit(0.0)), fn.lit(1.0))

    return arrays.total(fn.transform("rises", part))
