"""How runs of the latency benchmark are told; it runs on a machine that is quiet."""

from dataclasses import replace

import pytest

from bench.latency import KNEE, LATENCY_S, RATES, Flooded, flood_row, is_true

TRUE = Flooded(asked_per_s=70_000, sent_per_s=69_990.0, latency_s=LATENCY_S + 0.001, lost=0.0)


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (TRUE, True),
        (replace(TRUE, latency_s=LATENCY_S + 0.003), False),
        (replace(TRUE, latency_s=LATENCY_S - 0.003), False),
        (replace(TRUE, lost=0.005), False),
        (replace(TRUE, latency_s=float("inf"), lost=1.0), False),
    ],
)
def test_what_is_late_or_lost_is_not_true(one: Flooded, expected: bool) -> None:
    assert is_true(one) is expected


def test_a_rate_is_told_by_all_its_runs() -> None:
    runs = [TRUE, replace(TRUE, latency_s=0.0253, lost=0.25, sent_per_s=60_000.0), TRUE]
    assert flood_row(runs) == (
        "70,000",
        "69,990",
        "11.00 ms, 11.00 ms, 25.30 ms",
        "25%",
        "2 of 3",
    )


def test_the_knee_is_looked_at_closely() -> None:
    assert set(KNEE) < set(RATES)
    assert (min(KNEE), max(KNEE), len(KNEE)) == (50_000, 100_000, 6)
