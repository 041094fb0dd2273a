"""Rates over time."""

import numpy as np
import pytest

from thalweg_scheduling.simulate.profiles import (
    InvalidProfile,
    Profile,
    bimodal_day,
    parse_profile,
)


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("1000", {0: 1000, 5000: 1000}),
        ("constant:1000", {0: 1000, 5000: 1000}),
        ("step:1000:5000:600", {0: 1000, 599: 1000, 600: 5000, 9000: 5000}),
        ("step:1000:5000:600:2000:1200", {700: 5000, 1300: 2000}),
        ("ramp:1000:5000:0:100", {0: 1000, 25: 2000, 100: 5000, 200: 5000}),
        ("ramp:1000:5000:100:200", {0: 1000, 100: 1000, 150: 3000}),
        ("burst:100:900:10:5", {9: 100, 10: 900, 14.9: 900, 15: 100, 75: 100}),
        ("burst:100:900:10:5:60", {9: 100, 12: 900, 20: 100, 72: 900}),
        ("burst:100:900:0:5:60", {0: 900, 5: 100, 61: 900}),
    ],
)
def test_a_profile_says_the_rate_at_a_time(text: str, rates: dict[float, float]) -> None:
    profile = parse_profile(text)
    for at_s, rate in rates.items():
        assert profile.rate_per_s(at_s) == pytest.approx(rate)


def test_a_day_has_two_peaks() -> None:
    day = parse_profile("day:500:7000:240")
    rates = day.rates_at(np.arange(240.0))
    peaks = [h for h in range(1, 239) if rates[h - 1] < rates[h] >= rates[h + 1]]
    assert [peak / 10 for peak in peaks] == pytest.approx([9, 19], abs=0.2)
    assert rates.max() == pytest.approx(7000, rel=0.01)
    assert rates.min() == pytest.approx(500, rel=0.05)
    assert day.rate_per_s(330) == pytest.approx(day.rate_per_s(90))
    assert bimodal_day(500, 7000).period_s == 86400


def test_the_mean_is_over_the_run() -> None:
    assert parse_profile("step:0:100:50").mean_per_s(100) == pytest.approx(50)


@pytest.mark.parametrize(
    "text",
    ["", "fast", "step:", "step:1:2", "step:1:2:0", "step:1:2@3", "ramp:1:2:5:4", "ramp:1:2",
     "day:5", "burst:1:2:3", "burst:1:2:3:4:5", "step:-1:2:3", "constant:1:2", "1e999", "nan",
     "sine:1:2"],
)  # fmt: skip
def test_a_wrong_profile_is_refused(text: str) -> None:
    with pytest.raises(InvalidProfile):
        parse_profile(text)


def test_points_and_rates_belong_together() -> None:
    with pytest.raises(InvalidProfile):
        Profile(times_s=(0.0, 1.0), rates_per_s=(1.0,))
