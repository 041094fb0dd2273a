"""The tables of stream workers are printed whole, whatever could not be measured."""

import math
import os
import time
from functools import partial

import pytest

from bench import stream_workers
from bench.stream_cpu import cpu_s


def test_a_cost_that_was_not_measured_is_unknown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def cost_s(grouping: str, receivers: int) -> float:
        if grouping == "Fields" and receivers == 8:
            raise TimeoutError("too slow")
        return receivers * 1e-6

    monkeypatch.setattr(stream_workers, "_cost_s", cost_s)
    monkeypatch.setattr(stream_workers, "RECEIVERS", (2, 8))
    stream_workers._receivers_table()
    told = capsys.readouterr()
    assert told.out.splitlines()[2:4] == ["| Shuffle | 2.0 | 8.0 |", "| Fields | 2.0 | unknown |"]
    assert "too slow" in told.err


def test_nothing_is_asked_for_at_half_of_an_unknown_rate(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def bare(rate: float) -> stream_workers.Seen:
        raise TimeoutError(f"nothing came at {rate:g}")

    def other(rate: float) -> stream_workers.Seen:
        assert not math.isnan(rate)
        return stream_workers.Seen(
            tuples_per_s=rate or 100.0, p50_s=0.001, p99_s=math.inf, cpu_s_per_tuple=1.5e-6
        )

    monkeypatch.setattr(stream_workers, "_zmq", bare)
    monkeypatch.setattr(stream_workers, "_ours", other)
    monkeypatch.setattr(stream_workers, "_bytewax", other)
    stream_workers._words_table()
    told = capsys.readouterr()
    assert told.out.splitlines()[2:4] == [
        "| pyzmq, bare | unknown | unknown | unknown | unknown | unknown | unknown |",
        "| Thalweg | 100 | unknown | 1.50 | 50 | 1.00 | unknown |",
    ]
    assert told.err.count("nothing came at 0") == stream_workers.ROUNDS
    assert told.err.count("nothing came") == stream_workers.ROUNDS


def test_everybody_has_turns_and_the_median_counts(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    turns: list[tuple[str, float]] = []

    def run(name: str, rates: list[float], rate: float) -> stream_workers.Seen:
        turns.append((name, rate))
        got = rate or rates[sum(1 for one in turns if one == (name, 0.0)) - 1]
        return stream_workers.Seen(tuples_per_s=got, p50_s=0.001, p99_s=0.002, cpu_s_per_tuple=1e-6)

    monkeypatch.setattr(stream_workers, "_zmq", partial(run, "bare", [100.0, 300.0, 200.0]))
    monkeypatch.setattr(stream_workers, "_ours", partial(run, "ours", [90.0, 50.0, 100.0]))
    monkeypatch.setattr(stream_workers, "_bytewax", partial(run, "bytewax", [40.0, 40.0, 40.0]))
    stream_workers._words_table()
    ours = capsys.readouterr().out.splitlines()[3]
    assert ours == "| Thalweg | 90 | 0.45 | 1.00 | 45 | 1.00 | 2.00 |"
    names = [name for name, _ in turns]
    assert names == ["bare", "ours", "bytewax"] * 6


def test_cpu_time_is_that_of_whoever_spends_it() -> None:
    before_s, me_s = cpu_s([os.getpid()]), time.process_time()
    while time.process_time() - me_s < 0.1:
        pass
    assert cpu_s([os.getpid()]) - before_s == pytest.approx(0.1, abs=0.05)


@pytest.mark.slow
def test_the_cost_is_measured_with_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_workers, "SECONDS", 0.5)
    assert stream_workers._cost_s("Fields", 2) > 0
