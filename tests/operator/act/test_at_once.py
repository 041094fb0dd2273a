"""Writes that do not depend on each other are under way together, within a bound."""

import threading
from functools import partial

import pytest

from thalweg_operator.act.at_once import at_once

DEADLINE_S = 30.0
MOST = 8


def test_nothing_to_do() -> None:
    assert list(at_once([], MOST)) == []


def test_results_come_in_the_order_of_the_calls() -> None:
    assert list(at_once([partial(str, number) for number in range(30)], MOST)) == [
        str(number) for number in range(30)
    ]


def test_they_are_under_way_together() -> None:
    """Each waits until all have begun: one after the other they would never end."""
    together = threading.Barrier(MOST, timeout=DEADLINE_S)
    arrived = list(at_once([together.wait] * MOST, MOST))
    assert sorted(arrived) == list(range(MOST))


def test_never_more_than_the_bound() -> None:
    lock, now, most = threading.Lock(), 0, 0
    pause = threading.Event()

    def write() -> None:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        pause.wait(0.01)
        with lock:
            now -= 1

    list(at_once([write] * 40, MOST))
    assert 1 < most <= MOST


def test_one_alone_needs_no_thread() -> None:
    assert list(at_once([threading.current_thread], MOST)) == [threading.current_thread()]


def test_an_error_comes_in_its_turn_and_stops_what_has_not_begun() -> None:
    begun: list[int] = []

    def write(number: int) -> int:
        begun.append(number)
        if number == 1:
            raise RuntimeError("no")
        # Like a real write: without it, all are done before anybody looks at the second.
        threading.Event().wait(0.02 if number > 1 else 0)
        return number

    results = at_once([partial(write, number) for number in range(1000)], MOST)
    assert next(results) == 0
    with pytest.raises(RuntimeError, match="no"):
        next(results)
    assert len(begun) < 1000
    assert not [one for one in threading.enumerate() if "ThreadPool" in one.name]
