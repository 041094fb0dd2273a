"""What a bad server says comes through Spark's workers as a reason, not as a page of Java."""

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_spark.engine import CLOCKS, Found, Request, Windows
from thalweg_spark.errors import SourceUnavailable
from thalweg_spark.job import SparkEngine
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.prometheus import LEFT_OUT, Source

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

TASK = {"namespace": "n", "topology": "wc", "vertex": "split", "task": "split-0", "pod": "p"}
AT_S = 1000.0


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        samples = [(AT_S - 5 * step, str(1e6 - 100 * step)) for step in range(6)]
        server.series["thalweg_processed_total"] = [(TASK, samples)]
        yield server


def request(fake: FakePrometheus, *, welcome: bool = False) -> Request:
    preset = load_preset("thalweg")
    plain = {fact: query for fact, query in preset.queries.items() if "{" not in query}
    return Request(
        source=Source(url=fake.url, timeout_s=10.0),
        preset=preset if welcome else replace(preset, queries=plain),
        expectation=None,
        store=Path("/nowhere"),
        at_s=AT_S,
        windows=Windows(),
    )


def rates(found: Found) -> list[float]:
    return [row["processed_per_s"] for row in found.tables["task_load"]]


def test_an_error_of_the_server(fake: FakePrometheus, session: "SparkSession") -> None:
    body = b'{"status":"error","errorType":"timeout","error":"query timed out"}'
    fake.answer_with = lambda _: (200, body)
    with pytest.raises(SourceUnavailable, match="query timed out") as found:
        SparkEngine(session).find(request(fake))
    assert "java" not in str(found.value)


def test_a_query_that_is_wrong(fake: FakePrometheus, session: "SparkSession") -> None:
    asked = request(fake)
    queries = {**asked.preset.queries, "processed": "sum(thalweg_processed_total)"}
    wrong = replace(asked, preset=replace(asked.preset, queries=queries))
    with pytest.raises(SourceUnavailable, match=r"sum\(thalweg.*knows selectors only"):
        SparkEngine(session).find(wrong)


def test_what_the_server_warns_of(fake: FakePrometheus, session: "SparkSession") -> None:
    fake.warnings = ["store gateway down"]
    found = SparkEngine(session).find(request(fake))
    assert found.warnings == ("store gateway down",)
    assert rates(found) == pytest.approx([20.0])


def test_what_is_welcome_but_cannot_be_had(fake: FakePrometheus, session: "SparkSession") -> None:
    found = SparkEngine(session).find(request(fake, welcome=True))
    assert rates(found) == pytest.approx([20.0])
    assert found.warnings
    assert all(one.startswith(LEFT_OUT) for one in found.warnings)


@pytest.mark.parametrize(
    "word", ['a"} or vector(1) or m{b="', "new\nline", "{task}", "'; --", "\ud800", "x" * 5000]
)
def test_hostile_labels_are_only_text(
    fake: FakePrometheus, session: "SparkSession", word: str
) -> None:
    ((labels, samples),) = fake.series["thalweg_processed_total"]
    fake.series["thalweg_processed_total"] = [({**labels, "task": word}, samples)]
    found = SparkEngine(session).find(request(fake))
    (row,) = found.tables["task_load"]
    assert row["task"] == word.replace("\ud800", "?")[:1024]
    assert rates(found) == pytest.approx([20.0])


def test_a_server_that_hangs_is_the_reason(fake: FakePrometheus, session: "SparkSession") -> None:
    fake.answer_with = lambda _: time.sleep(2)
    asked = request(fake)
    with pytest.raises(SourceUnavailable, match=r"timed out: no whole answer within 0\.3 s"):
        SparkEngine(session).find(replace(asked, source=Source(url=fake.url, timeout_s=0.3)))


def test_another_clock_is_followed_and_told(fake: FakePrometheus, session: "SparkSession") -> None:
    fake.clock = lambda: AT_S
    found = SparkEngine(session).find(replace(request(fake), at_s=time.time(), is_now=True))
    assert rates(found) == pytest.approx([20.0], rel=1e-3)
    assert [one.startswith(CLOCKS) for one in found.warnings] == [True]
