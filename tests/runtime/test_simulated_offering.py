"""Rate profiles."""

from pathlib import Path

import pytest

from thalweg_runtime.simulated.errors import InvalidOption
from thalweg_runtime.simulated.offering import parse_profile


@pytest.mark.parametrize(
    ("text", "rates"),
    [
        ("1000", {0: 1000, 1e6: 1000}),
        ("1000@0,5000@60,1000@120", {0: 1000, 59.9: 1000, 60: 5000, 119: 5000, 121: 1000}),
        ("7@10", {0: 7, 10: 7, 11: 7}),
        ("ramp:1000@0,5000@40", {0: 1000, 10: 2000, 30: 4000, 40: 5000, 50: 5000}),
        ("0", {5: 0}),
    ],
)
def test_a_profile_gives_the_rate_of_the_time(text: str, rates: dict[float, float]) -> None:
    profile = parse_profile(text)
    assert {at: profile.rate_per_s(at) for at in rates} == rates


def test_a_profile_from_a_file(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("# seconds,rate\n0,100\n\n30,700\n")
    assert parse_profile(f"file:{file}").rate_per_s(31) == 700


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fast",
        "-1",
        "nan",
        "inf",
        "5@10,6@5",
        "5@1,6@1",
        "slope:1@0",
        "file:no-such-file",
        "1@x",
    ],
)
def test_what_is_no_profile_is_refused(text: str) -> None:
    with pytest.raises(InvalidOption, match="profile"):
        parse_profile(text)
