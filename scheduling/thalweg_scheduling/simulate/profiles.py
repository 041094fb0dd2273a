"""Rate profiles: how many tuples a second arrive from outside, as time goes by.

A profile is a list of points. Between two points the rate holds, or rises and falls evenly.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.errors import SchedulingError

DAY_S = 86400.0
_DAY_POINTS = 288
_MORNING, _EVENING, _WIDTH = 9 / 24, 19 / 24, 2 / 24
_EVENING_HEIGHT = 0.8
_FORMS = (
    "constant:RATE, step:RATE:RATE:AT[:RATE:AT…], ramp:RATE:RATE:FROM:TO, day:LOW:PEAK[:LENGTH] "
    "and burst:RATE:PEAK:AT:LENGTH[:EVERY], in tuples/s and seconds"
)


class InvalidProfile(SchedulingError):
    """A profile that cannot be read, or whose times or rates make no sense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Rates from times on, in seconds since the start."""

    times_s: tuple[float, ...]
    rates_per_s: tuple[float, ...]
    is_ramp: bool = False
    period_s: float | None = None
    """After so long it begins again."""

    def __post_init__(self) -> None:
        rising = all(a < b for a, b in pairwise(self.times_s))
        if not self.times_s or len(self.times_s) != len(self.rates_per_s) or not rising:
            raise InvalidProfile("a profile needs points whose times rise")
        if not all(0 <= rate < float("inf") for rate in self.rates_per_s):
            raise InvalidProfile("the rates of a profile must be known and at least 0")
        if self.period_s is not None and not self.period_s > self.times_s[-1]:
            raise InvalidProfile("a profile must repeat after its last point")

    def rate_per_s(self, at_s: float) -> float:
        """The rate at a time; before the first point it is the first rate.

        >>> step(1000, (5000, 600)).rate_per_s(601)
        5000.0
        """
        return float(self.rates_at(np.array([at_s]))[0])

    def rates_at(self, at_s: Floats) -> Floats:
        """The same for many times."""
        at: Floats = np.mod(at_s, self.period_s) if self.period_s is not None else at_s
        times, rates = np.array(self.times_s), np.array(self.rates_per_s)
        if self.is_ramp:
            sloping: Floats = np.interp(at, times, rates)
            return sloping
        held: Floats = rates[np.maximum(0, np.searchsorted(times, at, side="right") - 1)]
        return held

    def mean_per_s(self, duration_s: float) -> float:
        """The mean rate of a run of so many seconds."""
        moments = (np.arange(2000) + 0.5) * duration_s / 2000
        return float(self.rates_at(moments).mean())


def constant(rate_per_s: float) -> Profile:
    """The same rate for ever."""
    return Profile(times_s=(0.0,), rates_per_s=(float(rate_per_s),))


def step(rate_per_s: float, *steps: tuple[float, float]) -> Profile:
    """A rate, and others (rate, from when on) after it."""
    points = ((rate_per_s, 0.0), *steps)
    return _of(points, is_ramp=False)


def ramp(*points: tuple[float, float]) -> Profile:
    """Even rises and falls between points (rate, when)."""
    return _of(points, is_ramp=True)


def bimodal_day(low_per_s: float, peak_per_s: float, *, day_s: float = DAY_S) -> Profile:
    """A day with a peak in the morning and a lower one in the evening, for as many days as asked.

    A shorter `day_s` is the same day in fast motion.
    """
    share = np.arange(_DAY_POINTS) / _DAY_POINTS
    shape = np.maximum(_bump(share, _MORNING), _EVENING_HEIGHT * _bump(share, _EVENING))
    rates = low_per_s + (peak_per_s - low_per_s) * shape
    return Profile(
        times_s=tuple((share * day_s).tolist()),
        rates_per_s=tuple(rates.tolist()),
        is_ramp=True,
        period_s=day_s,
    )


def burst(
    rate_per_s: float,
    peak_per_s: float,
    *,
    at_s: float,
    length_s: float,
    every_s: float | None = None,
) -> Profile:
    """A rate with a peak of `length_s`, once or again and again."""
    points = [(peak_per_s, at_s), (rate_per_s, at_s + length_s)]
    if at_s > 0:
        points.insert(0, (rate_per_s, 0.0))
    profile = _of(points, is_ramp=False)
    return Profile(times_s=profile.times_s, rates_per_s=profile.rates_per_s, period_s=every_s)


def parse_profile(text: str) -> Profile:
    """Read a profile as it is written on a command line; for a file use the points themselves.

    >>> parse_profile("burst:100:900:10:5").rate_per_s(12)
    900.0
    """
    kind, _, rest = text.partition(":")
    try:
        numbers = [float(part) for part in (rest or text).split(":")]
        if not rest:
            return constant(*numbers)
        if kind in _KINDS:
            return _KINDS[kind](*numbers)
    except (ValueError, TypeError) as error:
        why = f" ({error})" if isinstance(error, ValueError) else ""
        raise InvalidProfile(f"{text!r} is no profile{why}; there are {_FORMS}") from None
    raise InvalidProfile(f"{text!r} is no profile; there are {_FORMS}")


def _steps(rate: float, *rest: float) -> Profile:
    return step(rate, *zip(rest[::2], rest[1::2], strict=True))


def _slope(rate: float, then: float, from_s: float, to_s: float) -> Profile:
    return ramp((rate, from_s), (then, to_s))


def _day(low: float, peak: float, day_s: float = DAY_S) -> Profile:
    return bimodal_day(low, peak, day_s=day_s)


def _burst(
    rate: float, peak: float, at_s: float, length_s: float, every_s: float | None = None
) -> Profile:
    return burst(rate, peak, at_s=at_s, length_s=length_s, every_s=every_s)


_KINDS: Mapping[str, Callable[..., Profile]] = MappingProxyType(
    {"constant": constant, "step": _steps, "ramp": _slope, "day": _day, "burst": _burst}
)


def _of(points: Sequence[tuple[float, float]], *, is_ramp: bool) -> Profile:
    return Profile(
        times_s=tuple(float(at) for _, at in points),
        rates_per_s=tuple(float(rate) for rate, _ in points),
        is_ramp=is_ramp,
    )


def _bump(share: Floats, middle: float) -> Floats:
    """A bell that knows that a day ends where the next begins."""
    off = np.abs(share - middle)
    bell: Floats = np.exp(-((np.minimum(off, 1 - off) / _WIDTH) ** 2) / 2)
    return bell
