"""Clocks that differ: windows end when the server's samples do, and people are told."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_operator.observe.store import read_matrices
from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.engine import CLOCKS, Found, NumpyEngine, Request, Windows, condense_once
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.prometheus import Prometheus, Source

TASK = {"namespace": "n", "topology": "wc", "vertex": "split", "task": "split-0", "pod": "p"}
EXPECTATION = {
    "topologies": [
        {
            "namespace": "n",
            "name": "wc",
            "vertices": [
                {"name": "split", "tasks": [{"name": "split-0", "pod": "p", "since_s": 0.0}]}
            ],
            "edges": [],
        }
    ],
    "nodes": [],
}


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        yield server


def lives_at(fake: FakePrometheus, skew_s: float) -> float:
    """Let the server's clock be so far ahead of ours, and its samples come up to its now."""
    fake.clock = lambda: time.time() + skew_s
    now_s = time.time() + skew_s
    samples = [(now_s - 5.0 * step, str(1e6 - 100.0 * step)) for step in range(30)]
    fake.series["thalweg_processed_total"] = [(TASK, samples)]
    return now_s


def request(fake: FakePrometheus, *, is_now: bool, store: Path = Path("/nowhere")) -> Request:
    return Request(
        source=Source(url=fake.url),
        preset=load_preset("thalweg"),
        expectation=parse_expectation(EXPECTATION),
        store=store,
        at_s=time.time(),
        is_now=is_now,
        windows=Windows(),
    )


def share(found: Found) -> float:
    (row,) = (row for row in found.tables["coverage"] if row["matrix"] == "task_load")
    covered: float = row["coverage"]
    return covered


@pytest.mark.parametrize("skew_s", [-3600.0, -20.0, -2.0, 0.0, 2.0, 20.0, 3600.0])
def test_what_is_there_by_the_servers_clock_is_there(fake: FakePrometheus, skew_s: float) -> None:
    lives_at(fake, skew_s)
    found = NumpyEngine().find(request(fake, is_now=True))
    assert share(found) == 1.0
    assert found.tables["task_load"][0]["processed_per_s"] == pytest.approx(20.0)
    told = [one for one in found.warnings if one.startswith(CLOCKS)]
    assert len(told) == (abs(skew_s) > 5)
    if told:
        side = "ahead of" if skew_s > 0 else "behind"
        assert f"{abs(skew_s):.0f} s {side} ours" in told[0]


def test_a_moment_that_is_asked_for_is_the_moment(fake: FakePrometheus) -> None:
    lives_at(fake, -20.0)
    found = NumpyEngine().find(request(fake, is_now=False))
    assert share(found) == 0.0
    assert "time()" not in {query["query"] for query in fake.asked}


def test_another_clock_is_no_partial_answer(fake: FakePrometheus, tmp_path: Path) -> None:
    now_s = lives_at(fake, 20.0)
    report = condense_once(NumpyEngine(), request(fake, is_now=True, store=tmp_path / "s"))
    assert any(one.startswith(CLOCKS) for one in report.warnings)
    found = read_matrices(tmp_path / "s")
    assert found is not None
    assert not found.is_partial
    assert found.observed_at_s == pytest.approx(now_s)


@pytest.mark.parametrize("answer", [(400, b"no"), (200, b"[]"), (200, b'{"data":{"result":[]}}')])
def test_a_server_that_does_not_tell_the_time(
    fake: FakePrometheus, answer: tuple[int, bytes]
) -> None:
    fake.answer_with = lambda _: answer
    assert Prometheus(Source(url=fake.url)).skew_s() == 0.0
