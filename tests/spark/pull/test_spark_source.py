"""Queries are divided among partitions, as many as Spark works on at once."""

from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.errors import PySparkAttributeError

from thalweg_spark.condense.figures import WELCOME
from thalweg_spark.engine import Windows
from thalweg_spark.job import _at_once
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.prometheus import Source
from thalweg_spark.pull.reading import Reading
from thalweg_spark.pull.spark_source import PrometheusReader, Share, options

PRESET = load_preset("thalweg")


def shares(partitions: int, windows: Windows | None = None) -> list[Share]:
    told = windows or Windows()
    given = options(
        Source(url="http://nowhere"),
        Reading(preset=PRESET),
        {fact: told.of(fact) for fact in PRESET.queries},
        at_s=10_000.0,
        partitions=partitions,
    )
    return list(PrometheusReader(given).partitions())


@pytest.mark.parametrize("partitions", [1, 2, 3, 8, 500])
def test_every_query_is_asked_once_and_no_partition_is_idle(partitions: int) -> None:
    found = shares(partitions)
    assert len(found) == min(partitions, len(PRESET.queries))
    asked = [ask.fact for share in found for ask in share.asks]
    assert sorted(asked) == sorted(PRESET.queries)
    sizes = [len(share.asks) for share in found]
    assert max(sizes) - min(sizes) <= 1


def test_each_partition_asks_first_what_is_needed_and_takes_long() -> None:
    for share in shares(3):
        order = [(ask.fact in WELCOME, -ask.length_s) for ask in share.asks]
        assert order == sorted(order)
    assert all(share.asks[0].fact not in WELCOME for share in shares(3))


def test_long_windows_are_asked_for_in_pieces() -> None:
    asks = [ask for share in shares(2, Windows(placement_s=9000.0)) for ask in share.asks]
    pieces = sorted((ask.end_s, ask.length_s) for ask in asks if ask.fact == "tuples")
    assert pieces == [(4600.0, 3600.0), (8200.0, 3600.0), (10_000.0, 1800.0)]


class Connect:
    """A session whose context is somebody else's."""

    @property
    def sparkContext(self) -> Any:  # noqa: N802
        raise PySparkAttributeError("not here")


@pytest.mark.parametrize(("cores", "partitions"), [(1, 2), (2, 2), (6, 6), (64, 8)])
def test_as_many_partitions_as_cores(cores: int, partitions: int) -> None:
    session: Any = SimpleNamespace(sparkContext=SimpleNamespace(defaultParallelism=cores))
    assert _at_once(session) == partitions


def test_a_session_that_does_not_say_gets_two() -> None:
    remote: Any = Connect()
    assert _at_once(remote) == 2
