"""Finding the constants at which a baseline gives the numbers that the paper has for it.

Run once; what comes out is written into the paper's file and stays there. Tests check that it still
fits, so that nobody can turn a knob for a strategy.
"""

from collections.abc import Callable
from dataclasses import replace

from bench.papers.setting import Setting

Measure = Callable[[Setting], float]


def fitted(setting: Setting, name: str, measure: Measure, target: float) -> Setting:
    """The setting with one constant so that the measure, which rises or falls with it, is met."""
    low, high = 1e-9, 1.0
    rises = measure(_with(setting, name, high)) > measure(_with(setting, name, low))
    for _ in range(80):
        # Constants span orders of magnitude: halve their logarithm.
        middle = (low * high) ** 0.5
        too_much = measure(_with(setting, name, middle)) > target
        low, high = (low, middle) if too_much == rises else (middle, high)
    return _with(setting, name, (low * high) ** 0.5)


def _with(setting: Setting, name: str, value: float) -> Setting:
    return setting.with_constants(replace(setting.constants, **{name: value}))
