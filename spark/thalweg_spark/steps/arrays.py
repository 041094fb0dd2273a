"""Columns over arrays of samples: the arithmetic of condense/rates.py, in Spark's own functions.

A row holds a whole series, so nothing is shuffled but what belongs together. A division that has
no answer gives null: unknown, never zero, whatever the ANSI mode.

Functions with a lambda are interpreted, at some hundred nanoseconds an element, so they run only
where a look by a compiled function says that there is something to do; and `sort_array`, unlike
`array_sort`, has no comparator of that kind.
"""

from pyspark.sql import Column
from pyspark.sql import functions as fn

INFINITY = float("inf")


def right_samples(samples: Column) -> Column:
    """Samples in the order of time, without NaN, Inf and negatives."""
    times_s, values = samples["at_s"], samples["value"]
    # NaN is the largest of all numbers here, so these four see it.
    is_right = (
        (fn.array_min(times_s) > -INFINITY)
        & (fn.array_max(times_s) < INFINITY)
        & (fn.array_min(values) >= 0)
        & (fn.array_max(values) < INFINITY)
    )
    right = fn.filter(
        samples,
        lambda one: (
            ~fn.isnan(one["at_s"])
            & (fn.abs(one["at_s"]) < INFINITY)
            & ~fn.isnan(one["value"])
            & (one["value"] >= 0)
            & (one["value"] < INFINITY)
        ),
    )
    return fn.sort_array(fn.when(is_right, samples).otherwise(right))


def once_each(ordered: Column) -> Column:
    """Ordered samples without repeated times."""
    once = fn.size(fn.array_distinct(ordered["at_s"])) == fn.size(ordered)
    return fn.when(once, ordered).otherwise(_without_repeats(ordered))


def _without_repeats(ordered: Column) -> Column:
    # Beside each sample the time of the one before: a look-up inside a lambda would sort anew.
    earlier = fn.transform(ordered, lambda one: one["at_s"])
    shifted = fn.concat(fn.array(fn.lit(None).cast("double")), earlier)
    paired = fn.zip_with(
        ordered,
        fn.slice(shifted, 1, fn.size(ordered)),
        lambda one, before_s: fn.struct(one.alias("one"), before_s.alias("before_s")),
    )
    fresh = fn.filter(
        paired,
        lambda pair: pair["before_s"].isNull() | (pair["one"]["at_s"] != pair["before_s"]),
    )
    return fn.transform(fresh, lambda pair: pair["one"])


def rises_of(samples: Column) -> Column:
    """Rises between samples; over a reset nobody knows how much it was, so there is none."""
    pairs = fn.greatest(fn.size(samples) - 1, fn.lit(0))
    found = fn.zip_with(
        fn.slice(samples, 1, pairs),
        fn.slice(samples, 2, pairs),
        lambda before, after: fn.struct(
            before["at_s"].alias("start_s"),
            after["at_s"].alias("end_s"),
            (after["value"] - before["value"]).alias("amount"),
        ),
    )
    return fn.filter(found, lambda one: one["amount"] >= 0)


def scrapes_of(samples: Column) -> Column:
    """The time from each sample to the next."""
    pairs = fn.greatest(fn.size(samples) - 1, fn.lit(0))
    return fn.zip_with(
        fn.slice(samples, 1, pairs),
        fn.slice(samples, 2, pairs),
        lambda before, after: after["at_s"] - before["at_s"],
    )


def total(values: Column) -> Column:
    """The sum of an array of doubles; null where it is empty."""
    summed = fn.aggregate(values, fn.lit(0.0), lambda most, one: most + one)
    return fn.when(fn.size(values) > 0, summed)


def amount_of(rises: Column) -> Column:
    """How much all of them rose; null without any."""
    summed = fn.aggregate(rises, fn.lit(0.0), lambda most, one: most + one["amount"])
    return fn.when(fn.size(rises) > 0, summed)


def median(values: Column) -> Column:
    """The middle of an array of doubles, or the mean of the two in the middle; null without any."""

    def middle(ordered: Column) -> Column:
        size = fn.size(ordered)
        low = fn.floor((size + 1) / 2).cast("int")
        high = fn.floor(size / 2).cast("int") + 1
        both = fn.element_at(ordered, low) + fn.element_at(ordered, high)
        return fn.when(size > 0, both / 2)

    # One element, so that whatever makes the values, and sorting them, is done once and not five
    # times.
    return fn.element_at(fn.transform(fn.array(fn.sort_array(values)), middle), 1)


def spans_of(rises: Column) -> Column:
    """The time that at least one rise covers, as spans that do not touch."""
    ordered = fn.sort_array(rises)
    nothing = fn.expr("cast(array() as array<struct<start_s:double,end_s:double>>)")
    return fn.aggregate(ordered, nothing, _joined)


def _joined(spans: Column, rise: Column) -> Column:
    own = fn.struct(rise["start_s"].alias("start_s"), rise["end_s"].alias("end_s"))
    last = fn.try_element_at(spans, fn.lit(-1))
    apart = last.isNull() | (rise["start_s"] > last["end_s"])
    longer = fn.struct(
        last["start_s"].alias("start_s"), fn.greatest(last["end_s"], rise["end_s"]).alias("end_s")
    )
    kept = fn.slice(spans, 1, fn.greatest(fn.size(spans) - 1, fn.lit(0)))
    return fn.when(apart, fn.concat(spans, fn.array(own))).otherwise(
        fn.concat(kept, fn.array(longer))
    )


def length_of(spans: Column) -> Column:
    """Seconds in all spans together; null without any."""
    summed = fn.aggregate(
        spans, fn.lit(0.0), lambda most, one: most + (one["end_s"] - one["start_s"])
    )
    return fn.when(fn.size(spans) > 0, summed)


def covered_s(rises: Column, alone: Column) -> Column:
    """Seconds that at least one rise covers; those of one series, `alone`, never overlap."""
    return fn.when(alone, length_of(rises)).otherwise(length_of(spans_of(rises)))


def mean_rate(rises: Column, alone: Column) -> Column:
    """Rise per second of covered time; null where nothing is covered."""
    return fn.try_divide(amount_of(rises), covered_s(rises, alone))


def gaps_of(rises: Column) -> Column:
    """How long each rise took: the time from scrape to scrape."""
    return fn.transform(rises, lambda one: one["end_s"] - one["start_s"])


def latest(lasts: Column, gaps: Column) -> Column:
    """The sum of the newest readings of a gauge; those of pods that are gone do not count."""
    newest = fn.array_max(fn.transform(lasts, lambda one: one["at_s"]))
    slack_s = fn.coalesce(2 * median(gaps), fn.lit(0.0))
    counted = fn.filter(lasts, lambda one: newest - one["at_s"] <= slack_s)
    return total(fn.transform(counted, lambda one: one["value"]))


def quantile_of(buckets: Column, quantile: float) -> Column:
    """The quantile of a histogram from (bound, count) in the order of the bounds."""
    rising = fn.aggregate(
        buckets,
        fn.expr("cast(array() as array<struct<bound:double,count:double>>)"),
        lambda done, one: fn.concat(
            done,
            fn.array(
                fn.struct(
                    one["bound"].alias("bound"),
                    fn.greatest(
                        one["count"],
                        fn.coalesce(
                            fn.try_element_at(done, fn.lit(-1)).getField("count"), fn.lit(0.0)
                        ),
                    ).alias("count"),
                )
            ),
        ),
    )
    whole = fn.try_element_at(rising, fn.lit(-1))
    wanted = whole["count"] * quantile
    nowhere = fn.expr(
        "cast(struct(0.0, 0.0, null) as struct<lower:double,below:double,found:double>)"
    )
    found = fn.aggregate(rising, nowhere, lambda seen, one: _step(seen, one, wanted))["found"]
    return fn.when((whole["bound"] == INFINITY) & (whole["count"] > 0), found)


def _step(seen: Column, bucket: Column, wanted: Column) -> Column:
    """One bucket further: the first that reaches what is wanted has the quantile."""
    reached = seen["found"].isNull() & (bucket["count"] >= wanted)
    share = fn.coalesce(
        fn.try_divide(wanted - seen["below"], bucket["count"] - seen["below"]), fn.lit(1.0)
    )
    inside = seen["lower"] + (bucket["bound"] - seen["lower"]) * share
    value = fn.when(bucket["bound"] == INFINITY, seen["lower"]).otherwise(inside)
    return fn.struct(
        bucket["bound"].alias("lower"),
        bucket["count"].alias("below"),
        fn.when(reached, value).otherwise(seen["found"]).alias("found"),
    )
