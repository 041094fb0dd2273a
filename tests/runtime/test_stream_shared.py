"""Tasks that share a process hand tuples over in memory, and are counted one by one."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg_inner_streams import inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.exposition import Exposition
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import Before, TaskIdentity, identity_of
from thalweg_runtime.worker.source import Source
from thalweg_runtime.worker.task import Task
from thalweg_stream_steps import WORDS_A_LINE

LINES = 2000


def write(
    path: Path, to: str, grouping: dict[str, object], host: str, *, incarnation: int = 1
) -> None:
    """Routes to two tasks of a vertex that are in one process."""
    tasks = [
        {
            "name": f"{to}-{index}",
            "incarnation": incarnation,
            "address": host,
            "node": "n0",
            "domain": "a",
            "weight": 1.0,
            "keyGroups": [[512 * index, 512 * index + 511]],
        }
        for index in range(2)
    ]
    edges = [{"to": to, "grouping": grouping, "tasks": tasks}]
    beside = path.with_suffix(".new")
    beside.write_text(json.dumps({"version": incarnation, "edges": edges}))
    beside.replace(path)


def everybody(folder: Path, incarnation: int = 1) -> list[TaskIdentity]:
    """All tasks of a small word count, in one pod."""
    return [
        TaskIdentity(
            vertex=vertex,
            task=f"{vertex}-{index}",
            incarnation=incarnation,
            routes=None if vertex == "tally" else folder / f"{vertex}.json",
        )
        for vertex in ("read", "split", "tally")
        for index in range(1 if vertex == "read" else 2)
    ]


def write_all(folder: Path, host: str, incarnation: int = 1) -> None:
    """The routes of the senders, all to one pod."""
    fields: dict[str, object] = {"type": "Fields", "keys": ["word"]}
    write(folder / "read.json", "split", {"type": "Shuffle"}, host, incarnation=incarnation)
    write(folder / "split.json", "tally", fields, host, incarnation=incarnation)


def sample(shared: Process, name: str, **labels: str) -> float:
    every: list[Task | Source] = [*shared.tasks.values(), *shared.sources]
    text = Exposition(shared._identity, every).text().decode()
    return sum(
        one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
        if one.name == name and labels.items() <= one.labels.items()
    )


@pytest.mark.slow
def test_a_whole_topology_in_one_process(tmp_path: Path) -> None:
    tasks = everybody(tmp_path)

    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            host = f"{stream.net}.9"
            write_all(tmp_path, host)
            work = Work(program="thalweg_stream_steps", profile=parse_profile("20000"), last=LINES)
            process = await stream.start(tasks, host, work)
            (source,) = process.sources
            await until(lambda: source.is_finished, "everything is acknowledged")
            expected = LINES * WORDS_A_LINE
            assert sample(process, "thalweg_processed_total", vertex="tally") == expected
            assert sample(process, "thalweg_tuples_total", to_vertex="tally") == expected
            assert sample(process, "thalweg_bytes_total") == 0, "something went over a wire"
            assert sample(process, "thalweg_latency_seconds_count") == expected
            assert sample(process, "thalweg_complete_seconds_count") == LINES
            assert sample(process, "thalweg_task_info", process=host) == len(tasks)
            await stream.stop(process)

    asyncio.run(story())


@pytest.mark.slow
def test_a_process_is_replaced_as_a_whole_and_nothing_is_lost(tmp_path: Path) -> None:
    """As the operator does it: the new pod is there, routes shift, the old one drains."""

    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            hosts = [f"{stream.net}.{number}" for number in (9, 10)]
            write_all(tmp_path, hosts[0])
            work = Work(program="thalweg_stream_steps", profile=parse_profile("500"), last=LINES)
            old = await stream.start(everybody(tmp_path), hosts[0], work)

            def tallied(process: Process) -> float:
                return sample(process, "thalweg_processed_total", vertex="tally")

            await until(lambda: tallied(old) > LINES, "tuples flow")
            former = Before(incarnation=1, address=hosts[0])
            new = await stream.start(everybody(tmp_path, 2), hosts[1], work, former)
            write_all(tmp_path, hosts[1], 2)
            await until(lambda: tallied(new) > 0, "the new process has taken over")
            await stream.stop(old)
            (source,) = new.sources
            await until(lambda: source.is_finished, "everything is acknowledged")
            assert tallied(old) + tallied(new) == LINES * WORDS_A_LINE
            assert tallied(new) > LINES, "the old one did it all"
            await stream.stop(new)

    asyncio.run(story())


@pytest.mark.slow
def test_a_process_that_is_deleted_first_tells_the_next_how_far_it_came(tmp_path: Path) -> None:
    """As when somebody deletes a pod: nobody else knows, so it stays until it is asked."""

    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            hosts = [f"{stream.net}.{number}" for number in (9, 10)]
            write_all(tmp_path, hosts[0])
            work = Work(program="thalweg_stream_steps", profile=parse_profile("1000"), last=LINES)
            old = await stream.start(everybody(tmp_path), hosts[0], work)
            processed = partial(sample, name="thalweg_processed_total", vertex="tally")
            await until(lambda: processed(old) > LINES, "tuples flow")
            leaving = asyncio.create_task(stream.stop(old))
            await until(lambda: all(one.is_idle for one in old.sources), "nothing is under way")
            former = Before(incarnation=1, address=hosts[0])
            new = await stream.start(everybody(tmp_path, 2), hosts[1], work, former)
            write_all(tmp_path, hosts[1], 2)
            await leaving
            (source,) = new.sources
            await until(lambda: source.is_finished, "everything is acknowledged")
            assert processed(old) + processed(new) == LINES * WORDS_A_LINE
            assert processed(new) > 0, "the old one did it all"
            await stream.stop(new)

    asyncio.run(story())


@pytest.mark.slow
def test_a_process_whose_forerunner_is_gone_begins_by_itself(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            host = f"{stream.net}.9"
            write_all(tmp_path, host, 2)
            work = Work(program="thalweg_stream_steps", profile=parse_profile("1000"), last=10)
            gone = Before(incarnation=1, address=f"{stream.net}.10")
            alone = await stream.start(everybody(tmp_path, 2), host, work, gone)
            (source,) = alone.sources
            await until(lambda: source.is_finished, "everything is acknowledged")
            assert sample(alone, "thalweg_processed_total", vertex="read") == 10
            await stream.stop(alone)

    asyncio.run(story())


class Change:
    """Changes what it gets."""

    def __init__(self) -> None:
        self.got: list[list[int]] = []

    def __call__(self, record: dict[str, Any]) -> None:
        record["of"].append(-1)
        self.got.append(record["of"])


left = right = Change


def numbers(sequence: int) -> dict[str, Any]:
    return {"of": [sequence]}


@pytest.mark.parametrize("vertices", [("left", "right"), ("left",)])
def test_what_one_receiver_changes_no_other_sees(tmp_path: Path, vertices: tuple[str, ...]) -> None:
    """By two edges, and by a broadcast."""

    async def story() -> None:
        async with inner_stream(tmp_path, "Broadcast") as stream:
            host, routes = f"{stream.net}.9", tmp_path / "numbers.json"
            edges: list[object] = []
            for vertex in vertices:
                write(routes, vertex, {"type": "Broadcast"}, host)
                edges += json.loads(routes.read_text())["edges"]
            routes.write_text(json.dumps({"version": 1, "edges": edges}))
            told = [("numbers", 0, routes), *((one, at, None) for one in vertices for at in (0, 1))]
            tasks = [
                TaskIdentity(vertex=vertex, task=f"{vertex}-{at}", incarnation=1, routes=path)
                for vertex, at, path in told
            ]
            work = Work(program=__name__, profile=parse_profile("20000"), last=500)
            process = await stream.start(tasks, host, work)
            await until(lambda: process.sources[0].is_finished, "everything is acknowledged")
            steps: list[Any] = [task._step.call for task in process.tasks.values()]
            assert len(steps) == 2 * len(vertices)
            for step in steps:
                assert step.got == [[number, -1] for number in range(500)]

    asyncio.run(story())


def test_tasks_of_a_shared_process_stand_in_its_environment() -> None:
    told = [{"vertex": "split", "task": "split-3", "incarnation": 7, "routes": "/r"}]
    identity = identity_of({"THALWEG_TOPOLOGY": "t", "THALWEG_TASKS": json.dumps(told)})
    (task,) = identity.tasks
    assert (task.vertex, task.index, task.incarnation) == ("split", 3, 7)
    assert task.routes == Path("/r")
