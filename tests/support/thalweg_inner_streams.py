"""Workers within the test's own process: real sockets on loopback, no process of their own."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.process import Process, Work
from thalweg_runtime.worker.settings import Before, Identity, Limits, TaskIdentity
from thalweg_stream_bed import KEY_GROUPS, free_port

_beds = count(1)
PATIENCE_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a receiver is, and how much it should get."""

    node: str = "n0"
    domain: str = "a"
    weight: float = 1.0


@dataclass(kw_only=True)
class InnerStream:
    """One source, `numbers-0`, and tasks of `take` or `tally` that it sends to."""

    folder: Path
    grouping: str
    keys: tuple[str, ...] = ()
    receiver: str = "take"
    port: int = field(default_factory=free_port)
    net: str = field(default_factory=lambda: f"127.77.{next(_beds) % 250}")
    running: dict[str, tuple[Process, asyncio.Event, asyncio.Task[None]]] = field(
        default_factory=dict
    )
    version: int = 0

    @property
    def routes(self) -> Path:
        return self.folder / "routes.json"

    async def start(
        self, tasks: Sequence[TaskIdentity], host: str, work: Work, *before: Before
    ) -> Process:
        """Start a process with these tasks on an address of its own."""
        identity = Identity(
            topology="inner",
            namespace="",
            pod=host,
            node="n0",
            domain="a",
            tasks=tuple(tasks),
            before=before,
        )
        limits = Limits(port=self.port, dead_after_s=3.0, hand_over_s=2.0, grace_s=5.0)
        process = Process(identity, work, limits, host=host)
        leave = asyncio.Event()
        job = asyncio.get_running_loop().create_task(process.run(leave, http_port=0))
        self.running[host] = process, leave, job
        await until(lambda: process.http_port or job.done(), "the process serves")
        return process

    async def receive(self, index: int, incarnation: int = 1) -> Process:
        """Start a receiver."""
        me = TaskIdentity(
            vertex=self.receiver,
            task=f"{self.receiver}-{index}",
            incarnation=incarnation,
            routes=None,
        )
        work = Work(program="thalweg_stream_steps")
        return await self.start([me], f"{self.net}.{incarnation * 32 + index}", work)

    async def send(self, *, last: int, rate: str = "50000", incarnation: int = 1) -> Process:
        """Start the source."""
        me = TaskIdentity(
            vertex="numbers", task="numbers-0", incarnation=incarnation, routes=self.routes
        )
        work = Work(program="thalweg_stream_steps", profile=parse_profile(rate), last=last)
        return await self.start([me], f"{self.net}.{incarnation}", work)

    def route(
        self, places: Sequence[Place], incarnation: int = 1, senders: Sequence[Place] = ()
    ) -> None:
        """Write the routes to a receiver at each place, and where senders are if that is told."""
        self.version += 1
        tasks = [
            {
                "name": f"{self.receiver}-{index}",
                "incarnation": incarnation,
                "address": f"{self.net}.{incarnation * 32 + index}",
                "node": place.node,
                "domain": place.domain,
                "weight": place.weight,
                "keyGroups": [_part(index, len(places))],
            }
            for index, place in enumerate(places)
        ]
        grouping = {"type": self.grouping, "keys": list(self.keys)}
        edge = {"to": self.receiver, "grouping": grouping, "tasks": tasks}
        told = [{"node": one.node, "domain": one.domain, "tasks": 1} for one in senders]
        edges = [{**edge, "senders": told} if senders else edge]
        beside = self.routes.with_suffix(".new")
        beside.write_text(json.dumps({"version": self.version, "edges": edges}))
        beside.replace(self.routes)

    async def stop(self, process: Process) -> None:
        """Drain one."""
        for host, (known, leave, job) in tuple(self.running.items()):
            if known is process:
                leave.set()
                await job
                del self.running[host]

    async def crash(self, number: int) -> Process:
        """End the process with this last number of its address, whatever it has in hand."""
        process, _, job = self.running.pop(f"{self.net}.{number}")
        job.cancel()
        await asyncio.gather(job, return_exceptions=True)
        return process

    async def close(self) -> None:
        for _, _, job in self.running.values():
            job.cancel()
        jobs = [job for _, _, job in self.running.values()]
        await asyncio.gather(*jobs, return_exceptions=True)


def _part(index: int, parts: int) -> list[int]:
    return [-(-index * KEY_GROUPS // parts), -(-(index + 1) * KEY_GROUPS // parts) - 1]


@asynccontextmanager
async def inner_stream(folder: Path, grouping: str, **words: Any) -> AsyncIterator[InnerStream]:
    """A stream that is gone afterwards."""
    stream = InnerStream(folder=folder, grouping=grouping, **words)
    try:
        yield stream
    finally:
        await stream.close()


async def until(holds: Callable[[], Any], what: str) -> None:
    """Wait for a condition."""
    async with asyncio.timeout(PATIENCE_S):
        while not holds():
            await asyncio.sleep(0.005)
    assert holds(), what
