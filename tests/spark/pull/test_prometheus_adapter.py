"""The adapter survives what a Prometheus on a bad day says."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_spark.errors import InvalidInput, SourceUnavailable
from thalweg_spark.pull.prometheus import Prometheus, Source


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        yield server


def ask(fake: FakePrometheus, **options: object) -> Prometheus:
    return Prometheus(Source(url=fake.url, **options))  # type: ignore[arg-type]


def test_raw_samples_within_the_window(fake: FakePrometheus) -> None:
    fake.series["m"] = [({"a": "x"}, [(10.0, "1"), (95.0, "2"), (99.0, "NaN"), (100.0, "5")])]
    (found,) = ask(fake).samples("m", window_s=30, at_s=100.0)
    assert found.labels == {"a": "x"}
    assert found.times_s.tolist() == [95, 100]
    assert found.values.tolist() == [2, 5]


def test_a_long_window_is_read_in_pieces_and_put_together(fake: FakePrometheus) -> None:
    fake.series["m"] = [({}, [(float(at), str(at)) for at in range(0, 10_000, 500)])]
    (found,) = ask(fake).samples("m", window_s=9_000, at_s=9_900.0)
    assert len(fake.asked) == 3
    assert found.times_s.tolist() == list(range(1000, 10_000, 500))


def test_it_asks_again_when_the_server_is_busy(fake: FakePrometheus) -> None:
    fake.series["m"] = [({}, [(99.0, "1")])]
    fake.answer_with = lambda number: (503, b"busy") if number < 3 else None
    assert len(ask(fake).samples("m", window_s=30, at_s=100.0)) == 1
    assert len(fake.asked) == 3


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((500, b"boom"), "500"),
        ((400, b"bad"), "400"),
        ((200, b"<html>"), "cannot be read"),
        ((200, b'{"data":{}}'), "cannot be read"),
        ((200, b'{"data":{"result":[{"metric":{}}]}}'), "not a list of series"),
    ],
)
def test_nonsense_is_said_to_be_nonsense(
    fake: FakePrometheus, answer: tuple[int, bytes], words: str
) -> None:
    fake.answer_with = lambda _: answer
    with pytest.raises(SourceUnavailable, match=words):
        ask(fake).samples("m", window_s=30, at_s=100.0)


def test_nobody_there() -> None:
    source = Prometheus(Source(url="http://127.0.0.1:9"))
    with pytest.raises(SourceUnavailable):
        source.samples("m", window_s=30, at_s=100.0)


def test_too_large_an_answer_is_not_read(fake: FakePrometheus) -> None:
    fake.series["m"] = [({"a": "x" * 500}, [(99.0, "1")])]
    with pytest.raises(SourceUnavailable, match="larger than 100 B"):
        ask(fake, most_bytes=100).samples("m", window_s=30, at_s=100.0)


def test_too_many_series_are_refused(fake: FakePrometheus) -> None:
    fake.series["m"] = [({"a": str(n)}, [(99.0, "1")]) for n in range(5)]
    with pytest.raises(SourceUnavailable, match="more than 4 series"):
        ask(fake, most_series=4).samples("m", window_s=30, at_s=100.0)


def test_labels_may_be_called_like_parts_of_an_answer(fake: FakePrometheus) -> None:
    fake.series["m"] = [({"metric": "metric", "values": "{", "a": '"metric":{'}, [(99.0, "1")])]
    (found,) = ask(fake, most_series=1).samples("m", window_s=30, at_s=100.0)
    assert found.labels["a"] == '"metric":{'
    assert found.values.tolist() == [1]


def test_series_are_counted_however_they_are_written(fake: FakePrometheus) -> None:
    one = rb'{"m\u0065tric":{},"values":[[99,"1"]]}'
    body = b'{"status":"success","data":{"result":[' + b",".join([one] * 5) + b"]}}"
    fake.answer_with = lambda _: (200, body)
    with pytest.raises(SourceUnavailable, match="more than 4 series"):
        ask(fake, most_series=4).samples("m", window_s=30, at_s=100.0)


def test_partial_answers_are_remembered(fake: FakePrometheus) -> None:
    fake.warnings = ["store gateway down"]
    source = ask(fake)
    source.samples("m", window_s=30, at_s=100.0)
    source.samples("m", window_s=30, at_s=100.0)
    assert source.warnings == ("store gateway down",)


def test_the_token_is_read_anew_for_each_request(fake: FakePrometheus, tmp_path: Path) -> None:
    token = tmp_path / "token"
    source = ask(fake, token_file=token, headers={"X-Scope-OrgID": "tenant"})
    for word in ("one", "two"):
        token.write_text(word + "\n")
        source.samples("m", window_s=30, at_s=100.0)
    assert [seen["Authorization"] for seen in fake.headers] == ["Bearer one", "Bearer two"]
    assert fake.headers[0]["X-Scope-OrgID"] == "tenant"


def test_only_http_is_a_source() -> None:
    with pytest.raises(InvalidInput, match="http"):
        Prometheus(Source(url="file:///etc/passwd"))
