"""Times and the shape in which they are told: CPU and wall, the least, the median and the most."""

import os
import platform
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

Result = TypeVar("Result")

SEEDS = (1, 2, 3, 4, 5)


@dataclass(frozen=True, slots=True, kw_only=True)
class Time:
    """What one call took."""

    wall_s: float
    cpu_s: float
    """Of all threads of this process."""


def timed(work: Callable[[], Result]) -> tuple[Result, Time]:
    """Call it once and look at the clocks."""
    wall_s, cpu_s = time.perf_counter(), time.process_time()
    result = work()
    return result, Time(wall_s=time.perf_counter() - wall_s, cpu_s=time.process_time() - cpu_s)


def spread(values: Sequence[float], digits: int = 3) -> str:
    """`least / median / most`."""
    low, middle, high = min(values), statistics.median(values), max(values)
    return " / ".join(f"{value:.{digits}g}" for value in (low, middle, high))


def machine() -> str:
    """What the numbers were taken on, as a sentence."""
    load = os.getloadavg()[0]
    return (
        f"{os.cpu_count()} cores ({_processor()}), Python {platform.python_version()}, "
        f"load {load:.2f} at the start."
    )


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            for line in lines:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.machine()
