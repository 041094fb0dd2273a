"""What wakes the loop."""

import threading

from thalweg_operator.wake import Wake


def test_nothing_happened() -> None:
    assert Wake().wait(0.0) == frozenset()


def test_what_happened_before_is_told_at_once() -> None:
    wake = Wake()
    wake.wake("pods")
    assert wake.wait(60.0) == {"pods"}
    assert wake.wait(0.0) == frozenset()


def test_a_burst_is_one_answer() -> None:
    wake = Wake()
    for kind in ("pods", "nodes", "pods"):
        wake.wake(kind)
    assert wake.wait(60.0, debounce_s=0.01) == {"pods", "nodes"}
    assert wake.wait(0.0) == frozenset()


def test_an_event_from_another_thread_ends_the_wait() -> None:
    wake = Wake()
    other = threading.Thread(target=wake.wake, args=("pods",))
    other.start()
    assert wake.wait(60.0) == {"pods"}
    other.join()


def test_stop_ends_the_wait_and_the_debounce() -> None:
    wake = Wake()
    wake.wake("pods")
    other = threading.Thread(target=wake.stop)
    other.start()
    assert wake.wait(600.0, debounce_s=600.0) <= {"pods"}
    other.join()
    assert wake.is_stopping()
    assert wake.wait(600.0) == frozenset()
