"""A server that is slow, broken or hostile: a clear reason, nothing invented, bounded memory."""

import json
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_operator.observe.store import read_matrices
from thalweg_spark.__main__ import main
from thalweg_spark.errors import SourceUnavailable
from thalweg_spark.pull.prometheus import Prometheus, Source


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        yield server


def answer(result: Any, **more: Any) -> bytes:
    return json.dumps({"status": "success", "data": {"result": result}, **more}).encode()


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (b'{"status":"error","errorType":"timeout","error":"query timed out"}', "query timed out"),
        (b'{"status":"error"}', "does not say why"),
        (b'{"status":"success","data":{"result":[{"metric":{},"val', "cannot be read"),
        (b"[1,2]", "no JSON object"),
        (b"null", "no JSON object"),
        (answer({"metric": {}}), "not a list of series"),
        (answer([1]), "not a list of series"),
        (answer([{"metric": [], "values": []}]), "not a list of series"),
        (answer([{"metric": {}, "values": None}]), "not a list of series"),
        (answer([{"metric": {}, "values": [[1.0]]}]), "sample cannot be read"),
        (answer([{"metric": {}, "values": [["soon", "1"]]}]), "sample cannot be read"),
        (answer([{"metric": {}, "values": [[None, "1"]]}]), "sample cannot be read"),
        (answer([{"metric": {}, "values": [[10**400, "1"]]}]), "sample cannot be read"),
        (b'{"status":"success","data":' + b"[" * 200_000, "cannot be read"),
        (b'{"status":"success","data":{"result":[{"metric":{"a":"\xff"}}', "cannot be read"),
        (b'{"status":"success","warnings":7,"data":{"result":[]}}', "cannot be read"),
    ],
)
def test_what_cannot_be_read_is_said(fake: FakePrometheus, body: bytes, words: str) -> None:
    fake.answer_with = lambda _: (200, body)
    with pytest.raises(SourceUnavailable, match=words):
        Prometheus(Source(url=fake.url)).samples("m", window_s=30, at_s=100.0)


@pytest.mark.parametrize("value", ["abc", None, True, [], {}, "1e999", "-Inf", "NaN", -5])
def test_a_value_that_is_no_number_is_no_sample(fake: FakePrometheus, value: Any) -> None:
    fake.answer_with = lambda _: (
        200,
        answer([{"metric": {"a": 1}, "values": [[90, value], [95, "7"]]}]),
    )
    (found,) = Prometheus(Source(url=fake.url)).samples("m", window_s=30, at_s=100.0)
    assert found.values.tolist() == [7]
    assert found.labels == {"a": "1"}


def test_half_a_pair_of_code_units_is_no_text(fake: FakePrometheus) -> None:
    fake.answer_with = lambda _: (200, answer([{"metric": {"a": "\ud800x"}, "values": [[9, "1"]]}]))
    (found,) = Prometheus(Source(url=fake.url)).samples("m", window_s=30, at_s=100.0)
    assert found.labels == {"a": "?x"}


def test_a_server_that_does_not_answer_in_time(fake: FakePrometheus) -> None:
    def slowly(_: int) -> None:
        time.sleep(2)

    fake.answer_with = slowly
    with pytest.raises(SourceUnavailable, match="timed out"):
        Prometheus(Source(url=fake.url, timeout_s=0.2)).samples("m", window_s=30, at_s=100.0)


def test_a_flood_of_series_is_refused_before_it_is_kept(fake: FakePrometheus) -> None:
    one = b'{"metric":{"a":"%d"},"values":[[99,"1"]]},'
    flood = b"".join(one % number for number in range(200_000))[:-1]
    body = b'{"status":"success","data":{"result":[' + flood + b"]}}"
    fake.answer_with = lambda _: (200, body)
    tracemalloc.start()
    try:
        with pytest.raises(SourceUnavailable, match="larger than"):
            Prometheus(Source(url=fake.url, most_bytes=2**20)).samples("m", window_s=30, at_s=100.0)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 8 * 2**20, "what is too large is never held"


NASTY = (
    'a"} or vector(1) or m{b="',
    "new\nline",
    "{task}",
    "../../etc",
    "\u202e",
    "'; --",
    "x" * 5000,
)


@pytest.mark.parametrize("word", NASTY)
def test_hostile_labels_are_only_text(tmp_path: Path, fake: FakePrometheus, word: str) -> None:
    labels = {"namespace": "n", "topology": word, "vertex": "v", "task": word}
    fake.series["thalweg_processed_total"] = [(labels, [(80.0, "0"), (90.0, "100")])]
    words = ["condense", "--source", fake.url, "--store", str(tmp_path / "s"), "--at", "100"]
    assert main([*words, "--engine", "numpy"]) == 0
    found = read_matrices(tmp_path / "s")
    assert found is not None
    (row,) = found.tables["task_load"]
    assert row["task"] == word[:1024], "kept as it is, but not without end"
    assert {query["query"].partition("[")[0] for query in fake.asked}.isdisjoint({word})
    assert [path.name for path in tmp_path.iterdir()] == ["s"]
