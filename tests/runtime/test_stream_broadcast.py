"""A broadcast reaches every receiver, also one that dies and is not in the routes for a while."""

import asyncio
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.absent import Absent
from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.link import FULL_TUPLES
from thalweg_runtime.worker.outlet import Outlet
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import TaskIdentity
from thalweg_runtime.worker.source import Source

ENDLESS = 10**9


class Collect:
    """Keeps the ids that came."""

    def __init__(self) -> None:
        self.ids: list[int] = []

    def __call__(self, record: dict[str, Any]) -> None:
        self.ids.append(record["id"])


def got(*processes: Process) -> list[int]:
    """The ids that came to any of these."""
    steps: list[Any] = [task._step.call for one in processes for task in one.tasks.values()]
    return sorted(number for step in steps for number in step.ids)


async def receive(stream: InnerStream, index: int, incarnation: int = 1) -> Process:
    me = TaskIdentity(vertex="take", task=f"take-{index}", incarnation=incarnation, routes=None)
    work = Work(step=f"{__name__}:Collect")
    return await stream.start([me], f"{stream.net}.{incarnation * 32 + index}", work)


def route(stream: InnerStream, pods: Sequence[tuple[int, int]]) -> None:
    """Write routes to these pods only: index and incarnation."""
    tasks: list[dict[str, Any]] = []
    for index, incarnation in pods:
        stream.route([Place()] * 2, incarnation=incarnation)
        written = json.loads(stream.routes.read_text())
        tasks.append(written["edges"][0]["tasks"][index])
    stream.version += 1
    edge = {"to": "take", "grouping": {"type": stream.grouping}, "tasks": tasks}
    beside = stream.routes.with_suffix(".new")
    beside.write_text(json.dumps({"version": stream.version, "edges": [edge]}))
    beside.replace(stream.routes)


async def send(stream: InnerStream, rate: str) -> tuple[Source, Outlet]:
    me = TaskIdentity(vertex="numbers", task="numbers-0", incarnation=1, routes=stream.routes)
    work = Work(program="thalweg_stream_steps", profile=parse_profile(rate), last=ENDLESS)
    (source,) = (await stream.start([me], f"{stream.net}.1", work)).sources
    await until(lambda: source.position.acknowledged > 0, "tuples flow")
    return source, source.sender.outlets["take"]


async def finished(source: Source) -> list[int]:
    """Have no more made; return what was."""
    source._last = source._made
    await until(lambda: source.is_finished, "everything is acknowledged")
    return list(range(source._made))


def follows(source: Source, stream: InnerStream) -> bool:
    return source.sender.routes.version == stream.version


def test_one_that_dies_and_comes_back_has_lost_nothing(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Broadcast") as stream:
            _, other = [await receive(stream, index) for index in range(2)]
            route(stream, [(0, 1), (1, 1)])
            source, outlet = await send(stream, "3000")
            doomed = await stream.crash(32)
            link = next(one for one in outlet.links.values() if one.name == "take-0")
            await until(lambda: link.was_down, "it is known to be gone")
            route(stream, [(1, 1)])
            await until(lambda: follows(source, stream), "it is left out")
            before = len(got(other))
            await until(lambda: len(got(other)) > before + 300, "the other gets more")
            after = await receive(stream, 0, incarnation=2)
            route(stream, [(0, 2), (1, 1)])
            await until(lambda: got(after), "its next pod gets something")
            made = await finished(source)
            assert set(got(doomed, after)) == set(made)
            assert got(other) == made
            assert not outlet._absent

    asyncio.run(story())


def test_one_that_is_scaled_away_is_not_waited_for(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Broadcast") as stream:
            away, other = [await receive(stream, index) for index in range(2)]
            route(stream, [(0, 1), (1, 1)])
            source, outlet = await send(stream, "3000")
            route(stream, [(1, 1)])
            await until(lambda: follows(source, stream), "it is left out")
            assert not outlet._absent
            await stream.stop(away)
            made = await finished(source)
            assert got(other) == made
            had = got(away)
            assert had == list(range(len(had))), "what it was sent was not lost on the way"

    asyncio.run(story())


def test_one_that_never_comes_back_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("thalweg_runtime.worker.outlet._COMES_BACK_S", -2.0)

    async def story() -> None:
        async with inner_stream(tmp_path, "Broadcast") as stream:
            _, other = [await receive(stream, index) for index in range(2)]
            route(stream, [(0, 1), (1, 1)])
            source, outlet = await send(stream, "20000")
            await stream.crash(32)
            link = next(one for one in outlet.links.values() if one.name == "take-0")
            await until(lambda: link.was_down, "it is known to be gone")
            route(stream, [(1, 1)])
            await until(lambda: outlet._absent.is_full, "no more is kept than so much")
            assert source.sender.is_full
            made = await finished(source)
            assert got(other) == made
            assert "take-0 has not come back" in caplog.text

    asyncio.run(story())


def test_causes_stay_open_as_long_as_anything_is_kept() -> None:
    finished: list[int] = []
    cause = Cause(lambda: finished.append(1))
    absent = Absent(patience_s=10.0, full_tuples=FULL_TUPLES)
    assert not absent
    absent.miss("a", 5.0)
    absent.miss("b", 6.0)
    absent.miss("a", 9.0)
    absent.put_all([{"n": 1}, {"n": 2}], 0.5, cause)
    cause.release()
    assert absent.give_up(15.0) == {}
    assert absent.give_up(15.5) == {"a": 2}
    assert not finished
    ((records, born, its),) = absent.back("b")
    assert (records, born, its) == ([{"n": 1}, {"n": 2}], 0.5, cause)
    its.release()
    assert finished == [1]
    assert absent.is_empty
