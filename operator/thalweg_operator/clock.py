"""Time as an argument, so that tests can turn the hands."""

import time
from typing import Protocol


class Clock(Protocol):
    """Two hands: one to compare with the API's timestamps, one to measure how long."""

    def now_s(self) -> float:
        """Seconds since the epoch; may jump."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some moment; never jumps."""
        ...


# Goes on while the machine is suspended, as a Lease does. Linux has it; elsewhere, for development,
# the ordinary monotonic clock stands in.
_STEADY = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)


class SystemClock:
    """The machine's clocks."""

    def now_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds since boot."""
        return time.clock_gettime(_STEADY)
