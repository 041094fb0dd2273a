"""Rate profiles: how many tuples a second arrive from outside, as time goes by."""

from bisect import bisect_right
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from thalweg_runtime.simulated.errors import InvalidOption


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Rates from times on; between two times they hold, or rise and fall evenly."""

    times_s: tuple[float, ...]
    rates_per_s: tuple[float, ...]
    is_ramp: bool = False

    def rate_per_s(self, at_s: float) -> float:
        """The rate at a time since the start; before the first time it is the first rate."""
        position = bisect_right(self.times_s, at_s) - 1
        if position < 0:
            return self.rates_per_s[0]
        if not self.is_ramp or position == len(self.times_s) - 1:
            return self.rates_per_s[position]
        (start, end), (low, high) = (
            self.times_s[position : position + 2],
            self.rates_per_s[position : position + 2],
        )
        return low + (high - low) * (at_s - start) / (end - start)


def parse_profile(text: str) -> Profile:
    """Read `1000`, `1000@0,5000@60`, `ramp:1000@0,5000@60` or `file:rates.csv`.

    A file has `seconds,rate` lines; lines that begin with # are skipped.

    >>> parse_profile("1000@0,5000@60").rate_per_s(61)
    5000.0
    """
    kind, _, rest = text.rpartition(":")
    if kind == "file":
        return _profile(_lines(Path(rest)), text, is_ramp=False)
    if kind not in ("", "ramp"):
        raise InvalidOption(f"{text!r} is no profile: it begins with ramp:, file: or a rate")
    points = []
    for part in rest.split(","):
        rate, _, at = part.partition("@")
        points.append((at or "0", rate))
    return _profile(points, text, is_ramp=kind == "ramp")


def _lines(path: Path) -> list[tuple[str, str]]:
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        raise InvalidOption(f"the profile {path} cannot be read: {error.strerror}") from error
    points = []
    for line in lines:
        if line.strip() and not line.startswith("#"):
            at, _, rate = line.partition(",")
            points.append((at, rate))
    return points


def _profile(points: list[tuple[str, str]], text: str, *, is_ramp: bool) -> Profile:
    try:
        times = tuple(float(at) for at, _ in points)
        rates = tuple(float(rate) for _, rate in points)
    except ValueError as error:
        raise InvalidOption(f"{text!r} is no profile: {error}") from error
    in_order = all(a < b for a, b in pairwise(times))
    sensible = all(0 <= rate < float("inf") for rate in rates)
    if not (times and in_order and sensible):
        raise InvalidOption(f"{text!r} is no profile: times must rise and rates be at least 0")
    return Profile(times_s=times, rates_per_s=rates, is_ramp=is_ramp)
