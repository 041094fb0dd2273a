"""A slow sink stops the source, however many steps are between them; memory stays bounded."""

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.link import FULL_TUPLES
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import Limits, TaskIdentity

COUNT = 20_000
TIMES = 3


def forward(record: dict[str, Any]) -> list[dict[str, Any]]:
    """More than what comes, so that there is more on the second way than on the first."""
    return [record] * TIMES


async def between(stream: InnerStream) -> Process:
    """A step between the source and the sink, with the routes that the source would have."""
    routes = stream.folder / "forward.json"
    stream.route([Place()])
    stream.routes.replace(routes)
    me = TaskIdentity(vertex="forward", task="forward-0", incarnation=1, routes=routes)
    host = f"{stream.net}.20"
    process = await stream.start([me], host, Work(step=f"{__name__}:forward"))
    task = {"name": "forward-0", "incarnation": 1, "address": host, "node": "n", "domain": ""}
    edge = {"to": "forward", "grouping": {"type": "Shuffle"}, "tasks": [{**task, "weight": 1}]}
    stream.routes.write_text(json.dumps({"version": 1, "edges": [edge]}))
    return process


def test_two_steps_away(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            me = TaskIdentity(vertex="take", task="take-0", incarnation=1, routes=None)
            slow = Work(program="thalweg_stream_steps", emulated_wait_s=0.05)
            (sink,) = (await stream.start([me], f"{stream.net}.32", slow)).tasks.values()
            (middle,) = (await between(stream)).tasks.values()
            first = TaskIdentity(
                vertex="numbers", task="numbers-0", incarnation=1, routes=stream.routes
            )
            fast = Work(program="thalweg_stream_steps", profile=parse_profile("50000"), last=COUNT)
            (source,) = (await stream.start([first], f"{stream.net}.1", fast)).sources
            # Only receivers hold it back, not what it may have under way itself.
            source._limits = replace(source._limits, pending_tuples=10**9)
            await until(lambda: middle.counters.backpressured_s > 0.5, "the middle is stopped")
            waited_s = source.counters.backpressured_s
            await until(lambda: source.counters.backpressured_s > waited_s + 0.5, "so is it")
            limits = Limits()
            of_a_hop = limits.credit_tuples + FULL_TUPLES + 2 * limits.batch_tuples
            made, done = source.counters.processed, sink.counters.processed
            assert done < made <= 2 * of_a_hop + done
            assert sink.queue_tuples <= limits.credit_tuples
            assert middle.queue_tuples <= limits.credit_tuples
            assert middle.queue_tuples > 0
            assert source.queue_tuples > 0
            sink._emulated_wait_s = 0.0
            await until(lambda: source.is_finished, "it all flows")
            assert middle.counters.processed == COUNT
            assert sink.counters.processed == TIMES * COUNT

    asyncio.run(story())
