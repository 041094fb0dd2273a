"""WordCount by others: a bare pyzmq pipeline of three processes, and Bytewax in one.

`python -m bench.stream_peers ROLE RATE SECONDS PORT [PID …]` is one process of them; the last of a
pipeline prints what it saw as JSON, and what it and the processes with these numbers spent on it.
The pipeline acknowledges nothing, groups nothing and loses what a dead process had: it is what the
transport alone can do, in batches as large as ours.
"""

import json
import os
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import bytewax.operators as op
import msgspec
import zmq
from bytewax.dataflow import Dataflow
from bytewax.inputs import DynamicSource, StatelessSourcePartition
from bytewax.outputs import DynamicSink, StatelessSinkPartition
from bytewax.testing import run_main

from bench.stream_cpu import cpu_s
from bench.stream_steps import WORDS_A_LINE, Record, count, read, split

BATCH = 256
LINGER_S = 0.002
WARM_S = 2.0
_WAITING = 64
"""Batches that may wait between two processes."""

Batch = tuple[float, list[Record]]
_ENCODE = msgspec.msgpack.Encoder().encode
_DECODE = msgspec.msgpack.Decoder(tuple[float, list[dict[str, Any]]]).decode


def quantile_s(samples: list[tuple[float, int]], share: float) -> float:
    """The latency that so large a share of the tuples does not exceed."""
    ordered = sorted(samples)
    left = share * sum(times for _, times in ordered)
    for latency_s, times in ordered:
        left -= times
        if left <= 0:
            return latency_s
    return float("nan")


class Seen:
    """What the last step saw after it was warm."""

    def __init__(self, seconds: float, pids: tuple[int, ...] = ()) -> None:
        """It is over after so long; `pids` are the processes before this one."""
        self._begin_s = time.monotonic() + WARM_S
        self._end_s = self._begin_s + seconds
        self._seconds = seconds
        self._pids = (os.getpid(), *pids)
        self._cpu_s = 0.0
        self._tuples = 0
        self._latencies: list[tuple[float, int]] = []

    def add(self, born: float, tuples: int) -> bool:
        """Take a batch in; return whether it is over."""
        now_s = time.monotonic()
        if now_s >= self._begin_s:
            if not self._tuples:
                self._cpu_s = cpu_s(self._pids)
            self._tuples += tuples
            self._latencies.append((time.time() - born, tuples))
        return now_s >= self._end_s

    def tell(self) -> None:
        """Print it."""
        found = {
            "tuples_per_s": self._tuples / self._seconds,
            "p50_s": quantile_s(self._latencies, 0.5),
            "p99_s": quantile_s(self._latencies, 0.99),
            "cpu_s_per_tuple": (cpu_s(self._pids) - self._cpu_s) / max(1, self._tuples),
        }
        sys.stdout.write(json.dumps(found) + "\n")


def made(rate: float) -> Iterator[Batch | None]:
    """Batches of lines at a rate of words, or as fast as they are asked for if it is 0."""
    sequence, due, before_s = 0, 0.0, time.monotonic()
    while True:
        size = BATCH
        if rate:
            now_s = time.monotonic()
            due += (now_s - before_s) * rate / WORDS_A_LINE
            before_s = now_s
            size = min(BATCH, int(due))
            due -= size
        if not size:
            yield None
            continue
        yield time.time(), [read(sequence + place) for place in range(size)]
        sequence += size


def zmq_read(rate: float, _seconds: float, port: int, *_pids: int) -> None:
    """Make lines."""
    way = _socket(zmq.PUSH, port, is_server=True)
    for batch in made(rate):
        if batch is None:
            time.sleep(LINGER_S / 2)
        else:
            way.send(_ENCODE(batch))


def zmq_split(_rate: float, _seconds: float, port: int, *_pids: int) -> None:
    """Cut lines into words."""
    inward, out = _socket(zmq.PULL, port), _socket(zmq.PUSH, port + 1, is_server=True)
    while True:
        born, records = _DECODE(inward.recv())
        words = [word for record in records for word in split(record)]
        for first in range(0, len(words), BATCH):
            out.send(_ENCODE((born, words[first : first + BATCH])))


def zmq_count(_rate: float, seconds: float, port: int, *pids: int) -> None:
    """Count words, and tell."""
    inward, state, seen = _socket(zmq.PULL, port + 1), dict[str, Any](), Seen(seconds, pids)
    is_over = False
    while not is_over:
        born, records = _DECODE(inward.recv())
        for record in records:
            count(record, state)
        is_over = seen.add(born, len(records))
    seen.tell()


def _socket(kind: int, port: int, *, is_server: bool = False) -> "zmq.Socket[bytes]":
    way: zmq.Socket[bytes] = zmq.Context.instance().socket(kind)
    way.set_hwm(_WAITING)
    if is_server:
        way.bind(f"tcp://127.0.0.1:{port}")
    else:
        way.connect(f"tcp://127.0.0.1:{port}")
    return way


class Reading(StatelessSourcePartition[Any]):
    """Makes lines until the time is over."""

    def __init__(self, rate: float, seconds: float) -> None:
        """The rate is that of words."""
        self._rate = rate
        self._made = made(rate)
        self._until_s = time.monotonic() + WARM_S + seconds + 0.5

    def next_batch(self) -> list[Any]:
        """Give what is due."""
        if time.monotonic() > self._until_s:
            raise StopIteration
        batch = next(self._made)
        return [] if batch is None else [(batch[0], record) for record in batch[1]]

    def next_awake(self) -> datetime | None:
        """Say when to ask again."""
        return datetime.now(UTC) + timedelta(seconds=LINGER_S / 2) if self._rate else None


class Source(DynamicSource[Any]):
    """One Reading for each worker, of which there is one."""

    def __init__(self, rate: float, seconds: float) -> None:
        """The rate is that of words."""
        self._told = rate, seconds

    def build(self, *_: Any, **__: Any) -> Reading:  # noqa: ANN401
        """Begin."""
        return Reading(*self._told)


class Telling(StatelessSinkPartition[Any]):
    """Takes note of what comes, and tells when it is over."""

    def __init__(self, seconds: float) -> None:
        """It is over after so long."""
        self._seen = Seen(seconds)
        self._is_over = False

    def write_batch(self, items: list[Any]) -> None:
        """Take counts; many are of one time."""
        if self._is_over:
            return
        for born, times in Counter(born for _, born in items).items():
            self._is_over = self._seen.add(born, times) or self._is_over
        if self._is_over:
            self._seen.tell()


class Sink(DynamicSink[Any]):
    """One Telling for each worker."""

    def __init__(self, seconds: float) -> None:
        """It is over after so long."""
        self._seconds = seconds

    def build(self, *_: Any, **__: Any) -> Telling:  # noqa: ANN401
        """Begin."""
        return Telling(self._seconds)


def bytewax(rate: float, seconds: float, _port: int, *_pids: int) -> None:
    """The same as a Bytewax dataflow with one worker."""
    flow = Dataflow("words")
    lines = op.input("read", flow, Source(rate, seconds))
    words = op.flat_map(
        "split", lines, lambda one: [(word["word"], one[0]) for word in split(one[1])]
    )
    counts = op.stateful_map("count", words, lambda state, born: ((state or 0) + 1, born))
    op.output("tell", counts, Sink(seconds))
    run_main(flow)  # type: ignore[no-untyped-call]


ROLES: dict[str, Callable[..., None]] = {
    "zmq-read": zmq_read,
    "zmq-split": zmq_split,
    "zmq-count": zmq_count,
    "bytewax": bytewax,
}


if __name__ == "__main__":
    role, rate, seconds, *numbers = sys.argv[1:]
    ROLES[role](float(rate), float(seconds), *map(int, numbers))
