"""Tasks that share a process hand tuples over in memory, and are counted one by one."""

import asyncio
import json
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg_inner_streams import inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.exposition import Exposition
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import TaskIdentity, identity_of
from thalweg_runtime.worker.source import Source
from thalweg_runtime.worker.task import Task
from thalweg_stream_steps import WORDS_A_LINE

LINES = 2000


def write(path: Path, to: str, grouping: dict[str, object], host: str) -> None:
    """Routes to two tasks of a vertex that are in one process."""
    tasks = [
        {
            "name": f"{to}-{index}",
            "incarnation": 1,
            "address": host,
            "node": "n0",
            "domain": "a",
            "weight": 1.0,
            "keyGroups": [[512 * index, 512 * index + 511]],
        }
        for index in range(2)
    ]
    edges = [{"to": to, "grouping": grouping, "tasks": tasks}]
    path.write_text(json.dumps({"version": 1, "edges": edges}))


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
    tasks = [
        TaskIdentity(
            vertex=vertex,
            task=f"{vertex}-{index}",
            incarnation=1,
            routes=None if vertex == "tally" else tmp_path / f"{vertex}.json",
        )
        for vertex in ("read", "split", "tally")
        for index in range(1 if vertex == "read" else 2)
    ]

    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            host = f"{stream.net}.9"
            write(tmp_path / "read.json", "split", {"type": "Shuffle"}, host)
            write(tmp_path / "split.json", "tally", {"type": "Fields", "keys": ["word"]}, host)
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


def test_tasks_of_a_shared_process_stand_in_its_environment() -> None:
    told = [{"vertex": "split", "task": "split-3", "incarnation": 7, "routes": "/r"}]
    identity = identity_of({"THALWEG_TOPOLOGY": "t", "THALWEG_TASKS": json.dumps(told)})
    (task,) = identity.tasks
    assert (task.vertex, task.index, task.incarnation) == ("split", 3, 7)
    assert task.routes == Path("/r")
