"""`python -m bench` lists the benchmarks and knows where each lives."""

from importlib.util import find_spec

import pytest

from bench.__main__ import main
from bench.registry import BENCHMARKS
from bench.tables import percent, table
from bench.timing import spread, timed


@pytest.mark.parametrize("name", BENCHMARKS)
def test_a_benchmark_is_where_the_list_says(name: str) -> None:
    assert find_spec(BENCHMARKS[name][0]) is not None


def test_without_a_name_they_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == list(BENCHMARKS)


def test_a_name_that_is_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["speed"]) == 2
    assert "there is no benchmark speed" in capsys.readouterr().err


def test_words_that_a_benchmark_does_not_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["caps", "fast"]) == 2
    assert "benchmark caps takes no words" in capsys.readouterr().err


def test_a_table_is_markdown() -> None:
    assert table(("a", "b"), [(1, "two")]) == "| a | b   |\n| - | --- |\n| 1 | two |"


@pytest.mark.parametrize(("share", "word"), [(0.05, "+5.0 %"), (-0.001, "-0.1 %")])
def test_percent(share: float, word: str) -> None:
    assert percent(share) == word


def test_spread_is_least_median_most() -> None:
    assert spread([3, 1, 2]) == "1 / 2 / 3"


def test_timed_gives_the_result_and_both_clocks() -> None:
    result, time = timed(lambda: sum(range(1000)))
    assert result == 499500
    assert time.wall_s > 0
    assert time.cpu_s >= 0
