"""A server that hangs, drips, stalls or sends us away: the true reason, in time."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_spark.errors import SourceUnavailable
from thalweg_spark.pull.asking import MOST_SAID, _Line, pause_s
from thalweg_spark.pull.prometheus import Prometheus, Source

LONG_S = 60.0
"""What a server may take that nobody stops."""
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
EMPTY = json.dumps({"status": "success", "data": {"result": []}}).encode()
Speak = Callable[[socket.socket, threading.Event], None]


@contextmanager
def speaking(speak: Speak) -> Iterator[tuple[str, list[float]]]:
    """A server that does with each connection as it is told: its address, and when it was asked."""
    over, asked = threading.Event(), list[float]()
    server = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while not over.is_set():
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=talk, args=(connection,), daemon=True).start()

    def talk(connection: socket.socket) -> None:
        with connection:
            if connection.recv(2**16):
                asked.append(time.monotonic())
            try:
                speak(connection, over)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.getsockname()[1]}", asked
    finally:
        over.set()
        server.close()


def hang(_: socket.socket, over: threading.Event) -> None:
    over.wait(LONG_S)


def drip(piece: bytes, first: bytes = b"") -> Speak:
    def speak(connection: socket.socket, over: threading.Event) -> None:
        connection.sendall(first)
        while not over.wait(0.02):
            connection.sendall(piece)

    return speak


def say(answer: bytes) -> Speak:
    return lambda connection, _: connection.sendall(answer)


def pull(url: str, **more: float) -> None:
    source = Source(url=url, **{"timeout_s": 0.5, **more})  # type: ignore[arg-type]
    Prometheus(source).samples("m", window_s=30, at_s=100.0)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    "speak",
    [
        pytest.param(hang, id="says nothing"),
        pytest.param(drip(b"x", b"HTTP/1.1 200 OK\r\nX-"), id="drips a header"),
        pytest.param(drip(b"X: y\r\n", b"HTTP/1.1 200 OK\r\n"), id="drips headers"),
        pytest.param(drip(b" ", HEAD + b"Content-Length: 99999\r\n\r\n"), id="drips a body"),
        pytest.param(drip(b" ", HEAD + b"\r\n"), id="drips a body of any length"),
        pytest.param(drip(b" ", b"HTTP/1.1 500 No\r\n\r\n"), id="drips an error"),
    ],
)
def test_no_whole_answer_in_time(speak: Speak) -> None:
    with speaking(speak) as (url, _), pytest.raises(SourceUnavailable, match=r"within 0\.5 s"):
        pull(url)


@pytest.mark.timeout(30)
def test_all_queries_of_a_run_share_their_time() -> None:
    with speaking(hang) as (url, asked):
        server = Prometheus(Source(url=url, timeout_s=0.4, run_timeout_s=0.6))
        for _ in range(5):
            assert server.samples_if_any("m", window_s=30, at_s=100.0) == []
        with pytest.raises(SourceUnavailable, match=r"not asked: the 0\.6 s"):
            server.samples("m", window_s=30, at_s=100.0)
    assert len(asked) == 2, "the second has what is left, the others are not asked"
    assert "within 0.4 s" in server.warnings[0]


@pytest.mark.timeout(30)
def test_how_long_to_wait_is_not_for_the_server_to_say() -> None:
    busy = b"HTTP/1.1 503 Busy\r\nRetry-After: 7200\r\nContent-Length: 4\r\n\r\nbusy"
    with (
        speaking(say(busy)) as (url, asked),
        pytest.raises(SourceUnavailable, match=r"503.*busy"),
    ):
        pull(url, timeout_s=LONG_S)
    assert len(asked) == 4


@pytest.mark.timeout(30)
def test_a_broken_answer_is_asked_for_once_more() -> None:
    short = HEAD + b"Content-Length: 500\r\nConnection: close\r\n\r\n{"
    with speaking(say(short)) as (url, asked):
        with pytest.raises(SourceUnavailable, match="IncompleteRead"):
            pull(url, timeout_s=LONG_S)
        assert len(asked) == 2
    once = iter([short])
    whole = HEAD + b"Content-Length: %d\r\n\r\n" % len(EMPTY) + EMPTY
    with speaking(lambda line, _: line.sendall(next(once, whole))) as (url, asked):
        pull(url, timeout_s=LONG_S)
        assert len(asked) == 2


def test_a_timer_that_is_late_does_not_cut_the_next_answer() -> None:
    line = _Line()
    with line.cut_after(LONG_S):
        last = line._is_cut
    one, other = socket.socketpair()
    with one, other, line.cut_after(LONG_S):
        line.use(one)
        line._cut(last)
        assert not line.is_cut
        other.sendall(b"x")
        assert one.recv(1) == b"x"
        line._cut(line._is_cut)
        assert one.recv(1) == b""


def test_tries_of_many_do_not_come_at_once() -> None:
    chance = np.random.default_rng(1)
    for number in (1, 2, 3):
        pauses = {pause_s(number, chance) for _ in range(50)}
        assert len(pauses) == 50
        least = 0.1 * 2 ** (number - 1)
        assert all(least <= one <= 2 * least for one in pauses)


@pytest.fixture
def fake() -> Iterator[FakePrometheus]:
    with fake_prometheus() as server:
        yield server


@pytest.mark.parametrize("status", [400, 503])
def test_a_long_error_is_told_in_short(fake: FakePrometheus, status: int) -> None:
    fake.answer_with = lambda _: (status, b"why " + b"x" * 2**23)
    server = Prometheus(Source(url=fake.url))
    with pytest.raises(SourceUnavailable, match=rf"{status}.*why") as found:
        server.samples("m", window_s=30, at_s=100.0)
    assert len(str(found.value)) <= MOST_SAID
    assert len(str(found.value.__cause__)) <= 2**17, "no more of it was read"
    assert server.samples_if_any("m", window_s=30, at_s=100.0) == []
    assert len(server.warnings[0]) <= MOST_SAID


def test_what_goes_with_an_answer_is_bounded(fake: FakePrometheus) -> None:
    fake.warnings = [f"{number} " + "x" * 9000 for number in range(5000)]
    server = Prometheus(Source(url=fake.url))
    server.samples("m", window_s=30, at_s=100.0)
    assert len(server.warnings) == 20
    assert {len(one) for one in server.warnings} == {MOST_SAID}
    fake.answer_with = lambda _: (200, b'{"status":"error","error":"%s"}' % (b"x" * 2**20))
    with pytest.raises(SourceUnavailable) as found:
        server.samples("m", window_s=30, at_s=100.0)
    assert len(str(found.value)) <= MOST_SAID
