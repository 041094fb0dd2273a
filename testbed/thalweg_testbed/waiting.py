"""Waiting for a condition instead of for a time."""

import time
from collections.abc import Callable
from typing import TypeVar

from thalweg_testbed.errors import CommandFailed, NotInTime

__all__ = ["eventually"]

T = TypeVar("T")


def eventually(
    check: Callable[[], T],
    *,
    timeout_s: float = 60.0,
    every_s: float = 0.2,
    what: str = "",
    show: Callable[[], object] | None = None,
) -> T:
    """Call `check` until it returns something true, and return that.

    A false value, an AssertionError or a kubectl that failed counts as "not yet". When the deadline
    passes, NotInTime says what was waited for, the last value or error, and whatever `show`
    returns: the state that a reader needs to see why.
    """
    deadline = time.monotonic() + timeout_s
    while True:
        try:
            value = check()
        except (AssertionError, CommandFailed) as error:
            last: object = f"{type(error).__name__}: {error}"
        else:
            if value:
                return value
            last = value
        if time.monotonic() >= deadline:
            break
        time.sleep(every_s)
    label = what or getattr(check, "__qualname__", repr(check))
    state = "" if show is None else f"\n{show()}"
    raise NotInTime(f"not within {timeout_s:g} s: {label}; last seen: {last}{state}")
