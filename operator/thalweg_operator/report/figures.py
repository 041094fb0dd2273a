"""Numbers as people read them; None where nothing is known."""

import math

_STEPS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))


def seconds(value: float) -> str | None:
    """A duration.

    >>> seconds(0.0184), seconds(2.5), seconds(0.00042)
    ('18ms', '2.5s', '420µs')
    """
    if not math.isfinite(value):
        return None
    if value >= 1:
        return f"{value:.3g}s"
    if value >= 0.001:
        return f"{value * 1e3:.2g}ms" if value < 0.1 else f"{value * 1e3:.0f}ms"
    return f"{value * 1e6:.0f}µs"


def per_second(value: float) -> str | None:
    """A rate.

    >>> per_second(12345.0), per_second(7.0)
    ('12.3k/s', '7/s')
    """
    if not math.isfinite(value):
        return None
    for size, letter in _STEPS:
        if value >= size:
            return f"{value / size:.3g}{letter}/s"
    return f"{value:.3g}/s"


def percent(value: float) -> str | None:
    """A share.

    >>> percent(0.064), percent(float("nan")) is None
    ('6%', True)
    """
    return f"{value * 100:.0f}%" if math.isfinite(value) else None


def fraction(value: float) -> str | None:
    """A plain number.

    >>> fraction(12.3456)
    '12.35'
    """
    return f"{value:.4g}" if math.isfinite(value) else None
