"""Peers that are silent, late, rude or gone: the stream goes on, and memory stays bounded."""

import asyncio
import json
import os
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.worker.errors import Garbage, InvalidRoutes
from thalweg_runtime.worker.frames import (
    PROTOCOL,
    Ack,
    Batch,
    Frame,
    Hello,
    Leave,
    Refuse,
    Splitter,
    Welcome,
    encoded,
)
from thalweg_runtime.worker.link import Link
from thalweg_runtime.worker.outlet import Outlet
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.routes import parse_routes
from thalweg_runtime.worker.settings import Limits, TaskIdentity
from thalweg_runtime.worker.source import Source

COUNT = 5000
TWO = [Place(), Place()]


async def started(stream: InnerStream, rate: str = "5000") -> tuple[Source, list[Process]]:
    receivers = [await stream.receive(index) for index in range(2)]
    stream.route(TWO)
    (source,) = (await stream.send(last=COUNT, rate=rate)).sources
    await until(lambda: source.position.acknowledged > 0, "tuples flow")
    return source, receivers


async def talk(stream: InnerStream, *frames: Frame, raw: bytes = b"") -> list[Frame]:
    """Say something to the first receiver and return all that it answers until it hangs up."""
    reader, writer = await asyncio.open_connection(f"{stream.net}.32", stream.port)
    writer.write(b"".join(map(encoded, frames)) + raw)
    async with asyncio.timeout(30):
        answer = await reader.read()
    writer.close()
    return Splitter().feed(answer)


def hello(**words: object) -> Hello:
    told = {
        "protocol": PROTOCOL,
        "namespace": "",
        "topology": "inner",
        "vertex": "numbers",
        "task": "numbers-9",
        "incarnation": 1,
        "to_task": "take-0",
        "to_incarnation": 1,
        "is_leaving": False,
        "is_source": False,
    }
    return Hello(**{**told, **words})  # type: ignore[arg-type]


RUDE: dict[str, tuple[list[Frame], bytes]] = {
    "http": ([], b"GET / HTTP/1.1\r\n\r\n"),
    "noise": ([], os.urandom(4096)),
    "a frame of four gigabytes": ([], b"\xff\xff\xff\xff"),
    "no hello": ([Ack([1])], b""),
    "another protocol": ([hello(protocol=99)], b""),
    "an answer nobody asked for": ([hello(), Refuse(1, False)], b""),
    "columns that differ": ([hello(), Batch(1, [(1, 1.0)], [], [{}, {}])], b""),
    "groups that differ": ([hello(), Batch(1, [(2, 1.0)], [3], [{}, {}])], b""),
    "a length below nought": ([hello(), Batch(1, [(-1, 1.0), (2, 1.0)], [], [{}])], b""),
    "more than its credit": ([hello(), Batch(1, [(2049, 1.0)], [], [{}] * 2049)], b""),
    "one number twice": ([hello(), *[Batch(7, [(999, 1.0)], [], [{}] * 999)] * 2], b""),
    "silence": ([hello()], b""),
}


@pytest.mark.parametrize(
    "words",
    [
        pytest.param([one for one in RUDE if one != "silence"], id="all at once"),
        pytest.param(["silence"], marks=pytest.mark.slow, id="silence"),
    ],
)
def test_who_is_rude_is_hung_up_on(tmp_path: Path, words: list[str]) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            source, _ = await started(stream)
            talks = [talk(stream, *RUDE[one][0], raw=RUDE[one][1]) for one in words]
            for one, answers in zip(words, await asyncio.gather(*talks), strict=True):
                assert all(isinstance(each, Welcome | Ack | Leave) for each in answers), one
            await until(lambda: source.is_finished, "the others are not disturbed")
            assert sum(one.tuples for one in source.counters.traffic.values()) == COUNT

    asyncio.run(story())


def test_who_is_not_asked_for_says_so(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            await stream.receive(0)
            for other in (
                hello(topology="another"),
                hello(namespace="another"),
                hello(to_incarnation=2),
                hello(to_task="take-1"),
            ):
                assert await talk(stream, other) == [Leave()]

    asyncio.run(story())


@pytest.mark.slow
def test_an_older_pod_may_finish_but_not_begin(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            await stream.receive(0)
            newer = asyncio.create_task(talk(stream, hello(incarnation=3)))
            await asyncio.sleep(0.1)
            assert await talk(stream, hello(incarnation=2)) == [Leave()]
            finishing = await talk(stream, hello(incarnation=2, is_leaving=True))
            assert isinstance(finishing[0], Welcome)
            assert isinstance((await newer)[0], Welcome)

    asyncio.run(story())


def test_a_receiver_that_vanishes_costs_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            source, receivers = await started(stream)
            await stream.crash(32)
            await until(lambda: source.is_finished, "the other takes over")
            (task,) = receivers[1].tasks.values()
            (gone,) = receivers[0].tasks.values()
            assert task.counters.processed + gone.counters.processed >= COUNT

    asyncio.run(story())


@pytest.mark.slow
def test_a_peer_that_accepts_and_says_nothing_is_given_up(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            await stream.receive(1)
            with socket.create_server((f"{stream.net}.32", stream.port)) as deaf:
                deaf.setblocking(False)
                stream.route(TWO)
                (source,) = (await stream.send(last=COUNT)).sources
                await until(lambda: source.is_finished, "the one that answers gets everything")
                assert source.counters.traffic["take", "take-1"].tuples == COUNT

    asyncio.run(story())


def test_nobody_left_stops_the_source(tmp_path: Path) -> None:
    """Nothing piles up without bound, and it all flows as soon as somebody comes."""

    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            await stream.receive(0)
            stream.route([Place()])
            (source,) = (await stream.send(last=COUNT * 10, rate="100000")).sources
            await until(lambda: source.position.acknowledged > 0, "tuples flow")
            await stream.crash(32)
            waited_s = source.counters.backpressured_s
            await until(lambda: source.counters.backpressured_s > waited_s + 0.5, "it waits")
            in_hand = source.counters.processed - source.position.acknowledged
            assert 0 < in_hand <= Limits().pending_tuples + Limits().batch_tuples
            assert source.queue_tuples > COUNT
            await stream.receive(0)
            await until(lambda: source.is_finished, "everything arrives")
            assert source.position.acknowledged == COUNT * 10

    asyncio.run(story())


def test_a_source_goes_on_where_the_pod_before_it_was(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            source, _ = await started(stream, rate="2000")
            await until(lambda: source.position.acknowledged > COUNT // 2, "half is done")
            await stream.crash(1)
            after = (await stream.send(last=COUNT, incarnation=2)).sources[0]
            await until(lambda: after.is_finished, "the rest is made")
            assert 0 < after.counters.processed < COUNT
            assert source.counters.processed + after.counters.processed >= COUNT

    asyncio.run(story())


def test_a_broadcast_reaches_the_next_pod_of_a_task(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Broadcast") as stream:
            await stream.receive(0)
            stream.route([Place()])
            source = (await stream.send(last=COUNT, rate="5000")).sources[0]
            await until(lambda: source.position.acknowledged > 0, "tuples flow")
            process = await stream.crash(32)
            (before,) = process.tasks.values()
            (after,) = (await stream.receive(0, incarnation=2)).tasks.values()
            stream.route([Place()], incarnation=2)
            await until(lambda: source.is_finished, "the next pod gets what is left")
            assert before.counters.processed + after.counters.processed >= COUNT

    asyncio.run(story())


@given(st.lists(st.binary(max_size=40)))
def test_bytes_of_any_kind_are_frames_or_garbage(parts: list[bytes]) -> None:
    splitter = Splitter()
    try:
        for part in parts:
            assert all(isinstance(one, Frame) for one in splitter.feed(part))
    except Garbage:
        pass


@given(st.lists(st.integers(0, 2**40), max_size=9), st.integers(1, 7))
def test_frames_survive_any_cutting(numbers: list[int], size: int) -> None:
    sent = [Ack(numbers), Batch(1, [(1, 0.5)], [3], [{"n": numbers}])]
    data = b"".join(map(encoded, sent))
    splitter = Splitter()
    heard: list[Frame] = []
    for first in range(0, len(data), size):
        heard += splitter.feed(data[first : first + size])
    assert heard == sent


def edge_of(grouping: object = None, weight: float = 1.0) -> str:
    task = {"name": "a-0", "incarnation": 1, "address": "h", "node": "n", "domain": ""}
    tasks = [{**task, "weight": weight}]
    edge = {"to": "a", "grouping": grouping or {"type": "Shuffle"}, "tasks": tasks}
    return json.dumps({"version": 1, "edges": [edge]})


def test_routes_that_are_some() -> None:
    assert parse_routes(edge_of(weight=0)).version == 1


def test_routes_that_are_none_change_nothing(tmp_path: Path) -> None:
    """A newer operator may know groupings that this worker does not."""

    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            source, _ = await started(stream)
            stream.routes.write_text(edge_of(grouping={"type": "Sideways"}))
            await until(lambda: source.is_finished, "it goes on by the routes before")
            assert source.sender.routes.version == stream.version

    asyncio.run(story())


@pytest.mark.parametrize("grouping", ["Shuffle", "Broadcast"])
def test_an_edge_that_is_no_more_holds_nobody_up(tmp_path: Path, grouping: str) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, grouping) as stream:
            endless = Work(program="thalweg_stream_steps", emulated_wait_s=60.0)
            me = TaskIdentity(vertex="take", task="take-0", incarnation=1, routes=None)
            await stream.start([me], f"{stream.net}.32", endless)
            stream.route([Place()])
            (source,) = (await stream.send(last=COUNT)).sources
            outlets = source.sender.outlets
            await until(lambda: any(one.outstanding for one in links_of(outlets)), "they are sent")
            version = stream.version + 1
            stream.routes.write_text(json.dumps({"version": version, "edges": []}))
            await until(lambda: not outlets, "the edge is no more")
            await stream.crash(32)
            await until(lambda: source.is_finished, "everything is acknowledged")
            stream.routes.write_text(json.dumps({"version": version + 1, "edges": []}))
            await until(lambda: source.sender.routes.version > version, "routes are read")
            assert not source.sender._ended

    asyncio.run(story())


def links_of(outlets: dict[str, Outlet]) -> list[Link]:
    return [link for outlet in outlets.values() for link in outlet.links.values()]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        '{"version": 1}',
        '{"version": "x", "edges": []}',
        '{"edges": [{}]}',
        "[" * 9999,
        edge_of(grouping={"type": "Sideways"}),
        edge_of(grouping={"type": None}),
        edge_of(weight=-1),
        edge_of(weight=float("nan")),
        edge_of(weight=float("inf")),
    ],
)
def test_routes_that_are_none(text: str) -> None:
    with pytest.raises(InvalidRoutes):
        parse_routes(text)
