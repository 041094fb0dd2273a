"""Ra-Stream's trimmed mean rate (Eq 1) of groups of series; condense/rates.py says what it is."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.rates import MOST_BINS, ROUNDING, TRIM_FROM
from thalweg_spark.steps import arrays


def grouped(series: DataFrame, *keys: str) -> DataFrame:
    """Series that belong together as one row: rises, newest readings, times between scrapes."""
    last = fn.try_element_at("samples", fn.lit(-1))
    return series.groupBy(*keys).agg(
        fn.array_sort(fn.flatten(fn.collect_list("rises"))).alias("rises"),
        fn.collect_list(last).alias("lasts"),
        fn.flatten(fn.collect_list(arrays.scrapes_of(fn.col("samples")))).alias("scrapes"),
        fn.sum(fn.size("samples")).alias("samples"),
    )


def trimmed_rates(groups: DataFrame, *keys: str) -> DataFrame:
    """`keys`, `rate` and `trimmed_rate`; the readings without the largest and the smallest."""
    per_bin = (
        _pieces(groups, *keys)
        .groupBy(*keys, "bin")
        .agg(
            fn.first("rate").alias("rate"),
            fn.try_divide(fn.sum("amount"), fn.sum("covered_s")).alias("reading"),
        )
    )
    reading = fn.col("reading")
    inner = fn.sum(reading) - fn.max(reading) - fn.min(reading)
    count = fn.count(reading)
    trimmed = fn.when(count >= TRIM_FROM, fn.try_divide(inner, count - 2)).otherwise(
        fn.first("rate")
    )
    return per_bin.groupBy(*keys).agg(fn.first("rate").alias("rate"), trimmed.alias("trimmed_rate"))


def _pieces(groups: DataFrame, *keys: str) -> DataFrame:
    """Every rise, and every covered span, cut where one slice of the window ends."""
    rises = fn.col("rises")
    begun = fn.try_element_at(rises, fn.lit(1))["start_s"]
    ended = fn.array_max(fn.transform(rises, lambda one: one["end_s"]))
    scrape_s = arrays.median(arrays.gaps_of(rises))
    prepared = groups.select(
        *keys,
        "rises",
        arrays.spans_of(rises).alias("spans"),
        begun.alias("begin_s"),
        ended.alias("until_s"),
        scrape_s.alias("scrape_s"),
    )
    slices = fn.floor((fn.col("until_s") - fn.col("begin_s")) / (2 * fn.col("scrape_s")) + ROUNDING)
    bins = fn.least(fn.greatest(slices, fn.lit(1)), fn.lit(MOST_BINS)).cast("int")
    rate = fn.try_divide(arrays.amount_of(rises), arrays.length_of(fn.col("spans")))
    cut = prepared.select(
        *keys,
        rate.alias("rate"),
        "begin_s",
        "until_s",
        bins.alias("bins"),
        fn.explode_outer(_both()).alias("one"),
    ).select(*keys, "rate", "begin_s", "until_s", "bins", "one.*")
    step_s = (fn.col("until_s") - fn.col("begin_s")) / fn.col("bins")
    return _cut(cut.withColumn("step_s", step_s), *keys)


def _both() -> Column:
    """Rises and spans in one array; a span has no amount, a rise covers nothing of its own."""
    rises = fn.transform(
        "rises",
        lambda one: fn.struct(
            one["start_s"].alias("start_s"),
            one["end_s"].alias("end_s"),
            one["amount"].alias("amount"),
            fn.lit(0.0).alias("covers"),
        ),
    )
    spans = fn.transform(
        "spans",
        lambda one: fn.struct(
            one["start_s"].alias("start_s"),
            one["end_s"].alias("end_s"),
            fn.lit(0.0).alias("amount"),
            fn.lit(1.0).alias("covers"),
        ),
    )
    return fn.concat(rises, spans)


def _cut(pieces: DataFrame, *keys: str) -> DataFrame:
    start_s, end_s, step_s = fn.col("start_s"), fn.col("end_s"), fn.col("step_s")
    begin_s, bins, one = fn.col("begin_s"), fn.col("bins"), fn.col("bin")
    first = fn.greatest(fn.floor((start_s - begin_s) / step_s) - 1, fn.lit(0))
    last = fn.least(fn.floor((end_s - begin_s) / step_s) + 1, bins - 1)
    low = one * step_s + begin_s
    high = fn.when(one + 1 == bins, fn.col("until_s")).otherwise((one + 1) * step_s + begin_s)
    inside_s = fn.least(end_s, high) - fn.greatest(start_s, low)
    return (
        pieces.withColumn("bin", fn.explode_outer(fn.sequence(first, last)))
        .withColumn("inside_s", inside_s)
        # A group without any rise stays: that it is unknown is an answer.
        .where(end_s.isNull() | (fn.col("inside_s") > 0))
        .select(
            *keys,
            "rate",
            "bin",
            (fn.col("amount") * (fn.col("inside_s") / (end_s - start_s))).alias("amount"),
            (fn.col("covers") * fn.col("inside_s")).alias("covered_s"),
        )
    )
