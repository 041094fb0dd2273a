"""Declared ranges of parameters, checked where a parameter class is made."""

from thalweg_scheduling.model.errors import InvalidParameters


def within(name: str, value: float, low: float, high: float) -> None:
    """Refuse a value outside of [low, high]; NaN is outside.

    >>> within("share", 0.5, 0, 1)
    """
    if not low <= value <= high:
        raise InvalidParameters(f"{name} must be from {low:g} to {high:g}, not {value:g}")
