"""Ra-Stream's trimmed mean rate (Eq 1) of groups of series; condense/rates.py says what it is."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from thalweg_spark.condense.rates import MOST_BINS, ROUNDING, TRIM_FROM
from thalweg_spark.steps import arrays
from thalweg_spark.steps.once import once


def grouped(series: DataFrame, *keys: str) -> DataFrame:
    """Series that belong together as one row: rises, newest readings, times between scrapes.

    `alone` is whether there is only one of them.
    """
    last = fn.try_element_at("samples", fn.lit(-1))
    return series.groupBy(*keys).agg(
        fn.sort_array(fn.flatten(fn.collect_list("rises"))).alias("rises"),
        fn.collect_list(last).alias("lasts"),
        fn.flatten(fn.collect_list(once(series, scrapes))).alias("scrapes"),
        fn.sum(fn.size("samples")).alias("samples"),
        fn.max("asked_s").alias("asked_s"),
        (fn.count(fn.lit(1)) == 1).alias("alone"),
    )


def scrapes() -> Column:
    """The times between the scrapes of a series."""
    return arrays.scrapes_of(fn.col("samples"))


def rate_of_rises() -> Column:
    """Of a group: what it rose per second."""
    return arrays.mean_rate(fn.col("rises"), fn.col("alone"))


def amount_of_rises() -> Column:
    """Of a group: what it rose in all."""
    return arrays.amount_of(fn.col("rises"))


def latest_of_lasts() -> Column:
    """Of a group: its newest readings together."""
    return arrays.latest(fn.col("lasts"), fn.col("scrapes"))


def trimmed_rates(groups: DataFrame, *keys: str, recent_s: float) -> DataFrame:
    """`keys`, `trimmed_rate`, `recent_rate` and `samples`.

    The first is the mean of the readings without the largest and the smallest, the second the plain
    rate of the rises that end in the last `recent_s`.
    """
    # Nothing that is worked out of a whole group may be a column beside its pieces: Spark would
    # work it out anew for each of them.
    per_bin = (
        _pieces(groups, recent_s, *keys)
        .groupBy(*keys, "bin")
        .agg(
            *(fn.sum(name).alias(name) for name in _SUMS),
            fn.max("samples").alias("samples"),
        )
        .withColumn("reading", fn.try_divide("amount", "covered_s"))
    )
    reading = fn.col("reading")
    inner = fn.sum(reading) - fn.max(reading) - fn.min(reading)
    count = fn.count(reading)
    rate = fn.try_divide(fn.sum("amount"), fn.sum("covered_s"))
    return per_bin.groupBy(*keys).agg(
        fn.when(count >= TRIM_FROM, fn.try_divide(inner, count - 2))
        .otherwise(rate)
        .alias("trimmed_rate"),
        fn.try_divide(fn.sum("recent_amount"), fn.sum("recent_covered_s")).alias("recent_rate"),
        fn.max("samples").alias("samples"),
    )


_SUMS = ("amount", "covered_s", "recent_amount", "recent_covered_s")


def _pieces(groups: DataFrame, recent_s: float, *keys: str) -> DataFrame:
    """Every rise, and every covered span, cut where one slice of the window ends."""
    prepared = groups.select(
        *keys,
        "samples",
        "rises",
        "alone",
        (fn.col("asked_s") - recent_s).alias("recent_since_s"),
        fn.try_element_at("rises", fn.lit(1))["start_s"].alias("begin_s"),
        once(groups, _ended).alias("until_s"),
        once(groups, _scrape_s).alias("scrape_s"),
    ).withColumns({"spans": once(groups, _spans), "recent_spans": once(groups, _recent_spans)})
    slices = fn.floor((fn.col("until_s") - fn.col("begin_s")) / (2 * fn.col("scrape_s")) + ROUNDING)
    bins = fn.least(fn.greatest(slices, fn.lit(1)), fn.lit(MOST_BINS)).cast("int")
    cut = prepared.select(
        *keys,
        "samples",
        "begin_s",
        "until_s",
        bins.alias("bins"),
        fn.explode_outer(once(groups, _all_pieces)).alias("one"),
    ).select(*keys, "samples", "begin_s", "until_s", "bins", "one.*")
    step_s = (fn.col("until_s") - fn.col("begin_s")) / fn.col("bins")
    return _cut(cut.withColumn("step_s", step_s), *keys)


def _ended() -> Column:
    return fn.array_max(fn.transform("rises", lambda one: one["end_s"]))


def _scrape_s() -> Column:
    return arrays.median(arrays.gaps_of(fn.col("rises")))


def _spans() -> Column:
    return fn.when(~fn.col("alone"), arrays.spans_of(fn.col("rises")))


def _recent_spans() -> Column:
    recent = fn.filter("rises", lambda one: one["end_s"] >= fn.col("recent_since_s"))
    return fn.when(~fn.col("alone"), arrays.spans_of(recent))


def _all_pieces() -> Column:
    """Rises and spans in one array; a span has no amount, a rise covers nothing of its own.

    Where all rises are of one series they never overlap: then they are the spans.
    """
    one_or_none = fn.when(fn.col("alone"), fn.lit(1.0)).otherwise(fn.lit(0.0))

    def of_rise(one: Column) -> Column:
        is_recent = fn.when(one["end_s"] >= fn.col("recent_since_s"), fn.lit(1.0)).otherwise(
            fn.lit(0.0)
        )
        return _piece(
            one,
            amount=one["amount"],
            is_recent=is_recent,
            covers=one_or_none,
            recent_covers=one_or_none * is_recent,
        )

    nothing, whole = fn.lit(0.0), fn.lit(1.0)
    rises = fn.transform("rises", of_rise)
    spans = fn.transform(
        "spans",
        lambda one: _piece(
            one, amount=nothing, is_recent=nothing, covers=whole, recent_covers=nothing
        ),
    )
    recent_spans = fn.transform(
        "recent_spans",
        lambda one: _piece(
            one, amount=nothing, is_recent=nothing, covers=nothing, recent_covers=whole
        ),
    )
    return fn.when(fn.col("alone"), rises).otherwise(fn.concat(rises, spans, recent_spans))


def _piece(one: Column, **more: Column) -> Column:
    return fn.struct(
        one["start_s"].alias("start_s"),
        one["end_s"].alias("end_s"),
        *(value.alias(name) for name, value in more.items()),
    )


def _cut(pieces: DataFrame, *keys: str) -> DataFrame:
    start_s, end_s, step_s = fn.col("start_s"), fn.col("end_s"), fn.col("step_s")
    begin_s, bins, one = fn.col("begin_s"), fn.col("bins"), fn.col("bin")
    first = fn.greatest(fn.floor((start_s - begin_s) / step_s) - 1, fn.lit(0))
    last = fn.least(fn.floor((end_s - begin_s) / step_s) + 1, bins - 1)
    low = one * step_s + begin_s
    high = fn.when(one + 1 == bins, fn.col("until_s")).otherwise((one + 1) * step_s + begin_s)
    inside_s = fn.least(end_s, high) - fn.greatest(start_s, low)
    amount = fn.col("amount") * (fn.col("inside_s") / (end_s - start_s))
    return (
        pieces.withColumn("bin", fn.explode_outer(fn.sequence(first, last)))
        .withColumn("inside_s", inside_s)
        # A group without any rise stays: that it is unknown is an answer.
        .where(end_s.isNull() | (fn.col("inside_s") > 0))
        .select(
            *keys,
            "samples",
            "bin",
            amount.alias("amount"),
            (fn.col("covers") * fn.col("inside_s")).alias("covered_s"),
            (amount * fn.col("is_recent")).alias("recent_amount"),
            (fn.col("recent_covers") * fn.col("inside_s")).alias("recent_covered_s"),
        )
    )
