"""How a process goes: whoever sent SIGTERM sees whether everything was finished."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.worker.errors import Unfinished
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import TaskIdentity
from thalweg_stream_bed import Edge, StreamBed, eventually


async def receive(stream: InnerStream, work: Work) -> Process:
    me = TaskIdentity(
        vertex=stream.receiver, task=f"{stream.receiver}-0", incarnation=1, routes=None
    )
    return await stream.start([me], f"{stream.net}.32", work)


def hurried(process: Process) -> None:
    """Leave it no time to drain."""
    process._limits = replace(process._limits, grace_s=0.3)


def test_what_is_still_in_hand_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            endless = Work(program="thalweg_stream_steps", emulated_wait_s=60.0)
            sink = await receive(stream, endless)
            stream.route([Place()])
            await stream.send(last=100)
            (task,) = sink.tasks.values()
            await until(lambda: task.queue_tuples, "it has something in hand")
            hurried(sink)
            with pytest.raises(Unfinished, match="what take-0 has in hand"):
                await stream.stop(sink)

    asyncio.run(story())


def test_state_that_nobody_took_is_named(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Fields", keys=("word",), receiver="tally") as stream:
            sink = await receive(stream, Work(program="thalweg_stream_steps"))
            stream.route([Place()])
            (source,) = (await stream.send(last=100)).sources
            await until(lambda: source.is_finished, "everything is acknowledged")
            hurried(sink)
            with pytest.raises(Unfinished, match="1024 key groups of tally-0"):
                await stream.stop(sink)

    asyncio.run(story())


@pytest.mark.slow
def test_the_exit_code_says_so(tmp_path: Path) -> None:
    edges = (Edge(source="numbers", target="take"),)
    slow = ["--emulated-wait-ms", "60000", "--grace-s", "0.5"]
    with StreamBed(folder=tmp_path, edges=edges, arguments={"take": slow}) as bed:
        bed.start_all(numbers=1, take=1)
        (sink,) = bed.of("take")
        eventually(lambda: sink.value("thalweg_queue_tuples") > 0, "it has something in hand")
        assert sink.terminate() == 1
        assert "error: not drained in 0.5 s: what take-0 has in hand" in sink.log.read_text()
