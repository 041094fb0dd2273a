"""The thread that keeps the Lease: what it calls, and when it gives up."""

import threading
from collections.abc import Callable

import pytest

from thalweg_operator.clock import SystemClock
from thalweg_operator.cluster.keeping import LeaseKeeper
from thalweg_operator.errors import Unavailable

DEADLINE_S = 60.0


class PretendedElector:
    """Does what the test says at each attempt."""

    identity = "a"

    def __init__(self, *attempts: Callable[["PretendedElector"], None]) -> None:
        self.attempts = list(attempts)
        self.leading = False
        self.lost = False
        self.is_released = False

    def attempt(self) -> None:
        if self.attempts:
            self.attempts.pop(0)(self)

    def is_leading(self) -> bool:
        return self.leading

    def has_lost(self) -> bool:
        return self.lost

    def release(self) -> None:
        self.is_released = True


def fail(_: PretendedElector) -> None:
    raise Unavailable("no answer")


def crash(_: PretendedElector) -> None:
    raise ZeroDivisionError


def lead(elector: PretendedElector) -> None:
    elector.leading = True


def lose(elector: PretendedElector) -> None:
    elector.leading = False
    elector.lost = True


class Calls:
    """What the keeper called."""

    def __init__(self, *attempts: Callable[[PretendedElector], None]) -> None:
        self.leading = threading.Event()
        self.lost = threading.Event()
        self.elector = PretendedElector(*attempts)
        self.keeper = LeaseKeeper(
            self.elector,  # type: ignore[arg-type]
            retry_s=0.001,
            clock=SystemClock(),
            on_leading=self.leading.set,
            on_lost=self.lost.set,
        )
        self.keeper.start()


def test_failed_attempts_are_tried_again_until_it_leads() -> None:
    calls = Calls(fail, fail, lead)
    assert calls.leading.wait(DEADLINE_S)
    calls.keeper.release()
    assert calls.elector.is_released
    assert not calls.lost.is_set()


def test_a_lost_lease_is_told() -> None:
    calls = Calls(lead, lose)
    assert calls.lost.wait(DEADLINE_S)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_whatever_else_ends_the_thread_is_a_loss() -> None:
    calls = Calls(lead, crash)
    assert calls.lost.wait(DEADLINE_S)
    calls.keeper._thread.join(DEADLINE_S)


def test_an_attempt_is_young_after_it_ended() -> None:
    calls = Calls(lead)
    assert calls.leading.wait(DEADLINE_S)
    assert calls.keeper.attempt_age_s() < DEADLINE_S
    calls.keeper.release()


def test_a_release_that_cannot_be_written_is_no_error() -> None:
    calls = Calls(lead)
    assert calls.leading.wait(DEADLINE_S)

    def refuse() -> None:
        raise Unavailable("gone")

    calls.elector.release = refuse  # type: ignore[method-assign]
    calls.keeper.release()
    assert not calls.lost.is_set()
