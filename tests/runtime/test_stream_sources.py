"""A source that is moved goes on where its pod before ended; what is sent again is counted once."""

import asyncio
import json
from pathlib import Path

import pytest

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import TaskIdentity

LINES = 6000


def received(*sinks: Process) -> int:
    return sum(task.counters.processed for sink in sinks for task in sink.tasks.values())


def sent(process: Process) -> int:
    (source,) = process.sources
    return sum(traffic.tuples for traffic in source.counters.traffic.values())


async def slow(stream: InnerStream, index: int) -> Process:
    """A receiver that has always something in hand."""
    me = TaskIdentity(vertex="take", task=f"take-{index}", incarnation=1, routes=None)
    work = Work(program="thalweg_stream_steps", emulated_wait_s=0.002)
    return await stream.start([me], f"{stream.net}.{32 + index}", work)


@pytest.mark.slow
def test_two_pods_of_one_source_make_nothing_twice(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            sinks = [await stream.receive(index) for index in range(2)]
            stream.route([Place(), Place()])
            old = await stream.send(last=LINES, rate="2000", incarnation=1)
            await until(lambda: received(*sinks) > 500, "tuples flow")
            new = await stream.send(last=LINES, rate="2000", incarnation=2)
            (waiting,) = new.sources
            await until(lambda: waiting.sender.is_early, "the new pod waits")
            before = received(*sinks)
            await until(lambda: received(*sinks) > before + 500, "the old pod goes on")
            assert waiting.counters.processed == 0
            assert waiting.queue_tuples < 100
            await stream.stop(old)
            await until(lambda: waiting.is_finished, "the new pod makes the rest")
            assert received(*sinks) == LINES
            assert sent(old) + sent(new) == LINES

    asyncio.run(story())


def test_a_pod_that_dies_is_followed_though_it_told_nobody(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            sink = await stream.receive(0)
            stream.route([Place()])
            await stream.send(last=LINES, rate="2000", incarnation=1)
            await until(lambda: received(sink) > 500, "tuples flow")
            new = await stream.send(last=LINES, rate="50000", incarnation=2)
            (waiting,) = new.sources
            await until(lambda: waiting.sender.is_early, "the new pod waits")
            await stream.crash(1)
            await until(lambda: waiting.is_finished, "the new pod makes the rest")
            assert received(sink) >= LINES

    asyncio.run(story())


@pytest.mark.slow
def test_a_source_asks_before_it_begins_however_late_receivers_are(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            stream.route([Place()])
            process = await stream.send(last=LINES, rate="2000")
            (source,) = process.sources
            await asyncio.sleep(0.2)
            assert source.counters.processed == 0
            sink = await stream.receive(0)
            await until(lambda: source.is_finished, "everything is acknowledged")
            assert received(sink) == LINES

    asyncio.run(story())


@pytest.mark.slow
def test_tuples_whose_owner_is_missing_wait_for_it(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Fields", keys=("word",), receiver="tally") as stream:
            sinks = [await stream.receive(index) for index in range(2)]
            stream.route([Place(), Place()])
            routes = json.loads(stream.routes.read_text())
            routes["edges"][0]["tasks"].pop()
            stream.routes.write_text(json.dumps(routes))
            process = await stream.send(last=LINES, rate="2000")
            (source,) = process.sources
            await until(lambda: received(sinks[0]) > 0 and source.sender.is_full, "it is full")
            stream.route([Place(), Place()])
            await until(lambda: source.is_finished, "everything is acknowledged")
            assert received(*sinks) == LINES

    asyncio.run(story())


def test_what_is_sent_again_is_counted_apart(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            doomed, other = await slow(stream, 0), await stream.receive(1)
            stream.route([Place(), Place()])
            process = await stream.send(last=LINES, rate="20000")
            (source,) = process.sources
            await until(lambda: received(doomed) > 50, "both have something in hand")
            await stream.crash(32)
            await until(lambda: source.is_finished, "the other takes the rest")
            assert source.counters.resent > 0
            assert sent(process) == LINES
            assert received(doomed, other) <= LINES + source.counters.resent

    asyncio.run(story())
