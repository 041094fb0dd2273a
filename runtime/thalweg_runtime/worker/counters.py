"""What a task counts."""

import asyncio
import time
from bisect import bisect_left

BOUNDS_S: tuple[float, ...] = tuple(float(f"{0.0001 * 1.5**step:.3g}") for step in range(30))
"""Upper bounds of the buckets, 0.1 ms to 12.8 s."""


_ACCOUNT_S = 0.25


class Histogram:
    """Seconds in buckets; the last one has no upper bound."""

    __slots__ = ("buckets", "total_s")

    def __init__(self) -> None:
        """Nothing observed."""
        self.buckets = [0] * (len(BOUNDS_S) + 1)
        self.total_s = 0.0

    @property
    def count(self) -> int:
        """How many were observed."""
        return sum(self.buckets)

    def observe(self, seconds: float, times: int = 1) -> None:
        """Count it; a clock that was set back must not make a negative one."""
        seconds = max(0.0, seconds)
        self.buckets[bisect_left(BOUNDS_S, seconds)] += times
        self.total_s += seconds * times


class Traffic:
    """What went to one task."""

    __slots__ = ("sent_bytes", "tuples")

    def __init__(self) -> None:
        """Nothing yet."""
        self.tuples = 0
        self.sent_bytes = 0


class Counters:
    """All counters of one task."""

    def __init__(self) -> None:
        """Everything at nought."""
        self.processed = 0
        self.busy_s = 0.0
        self.backpressured_s = 0.0
        self.waited_s = 0.0
        self.resent = 0
        self.traffic: dict[tuple[str, str], Traffic] = {}
        self.latency = Histogram()
        self.complete = Histogram()

    async def backpressured(self, until: asyncio.Event) -> None:
        """Wait for it, though not for long, and count that time: long waits are seen as they go."""
        began_s = time.monotonic()
        # By the clock it is set too early, at worst: whoever waits looks again.
        clock = asyncio.get_running_loop().call_later(_ACCOUNT_S, until.set)
        await until.wait()
        clock.cancel()
        self.backpressured_s += time.monotonic() - began_s

    def to(self, vertex: str, task: str) -> Traffic:
        """The traffic to a task; a new incarnation goes on where the old one was."""
        return self.traffic.setdefault((vertex, task), Traffic())
