"""The process: its tasks, its ports, and how it goes."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg_runtime.simulated.offering import Profile
from thalweg_runtime.worker.connection import Pulse, Wire
from thalweg_runtime.worker.counters import Counters
from thalweg_runtime.worker.errors import Unfinished
from thalweg_runtime.worker.exposition import Exposition
from thalweg_runtime.worker.failure import Failure
from thalweg_runtime.worker.frames import Peer
from thalweg_runtime.worker.inlet import Session
from thalweg_runtime.worker.sender import Sender
from thalweg_runtime.worker.settings import HTTP_PORT, Identity, Limits, TaskIdentity
from thalweg_runtime.worker.source import Position, Source
from thalweg_runtime.worker.step import load_step, step_of
from thalweg_runtime.worker.succession import Succession
from thalweg_runtime.worker.task import Task
from thalweg_runtime.worker.ways import Ways
from thalweg_runtime.worker.web import Web
from thalweg_scheduling.group import Origin

_LOOK_S = 0.05
_STILL_S = 0.3
"""Acknowledgements and refusals on their way get so long to arrive before ports are closed."""

_FOLLOWED_S = 10.0
"""A pod that is replaced is asked so soon, unless its image has still to be pulled."""

_ORPHANED_S = 3.0
"""Without any sender for so long, nobody will say who should have the state."""

_STEADY = Profile(times_s=(0.0,), rates_per_s=(100.0,))

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """What the tasks of a process do."""

    step: str | None = None
    program: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    emulated_wait_s: float = 0.0
    profile: Profile = _STEADY
    last: int | None = None
    """After so many tuples a source has nothing more to say."""
    positions: Path | None = None
    """The folder in which sources write down how far they have been acknowledged."""


class Process:
    """Hosts the tasks of one pod."""

    def __init__(self, identity: Identity, work: Work, limits: Limits, *, host: str = "") -> None:
        """Load the steps; `run` does the rest."""
        self.namespace, self.topology = identity.namespace, identity.topology
        self.tasks: dict[tuple[str, int], Task] = {}
        self.sources: list[Source] = []
        self.http_port = 0
        self._identity = identity
        self._work = work
        self._limits = limits
        self._host = host
        self._pulse = Pulse(dead_after_s=limits.dead_after_s)
        self._neighbours: dict[tuple[str, int], Any] = {}
        self._ways: list[Ways] = []
        self._answering: set[asyncio.Future[None]] = set()
        self._failure = Failure()
        self._is_leaving = False
        for me in identity.tasks:
            self._add(me)

    def host(self, task: str, incarnation: int) -> Task | None:
        """The task, if this is the process of that incarnation."""
        return self.tasks.get((task, incarnation))

    def source(self, task: str, incarnation: int) -> Source | None:
        """The source, if this is the process of that incarnation."""
        found = (one for one in self.sources if one.me.task == task)
        return next((one for one in found if one.me.incarnation == incarnation), None)

    def spawn(self, doing: "asyncio.Future[None]") -> None:
        """Keep a reference until it is done."""
        self._answering.add(doing)
        doing.add_done_callback(self._answering.discard)
        self._failure.watch(doing)

    async def run(self, leave: asyncio.Event, *, http_port: int = HTTP_PORT) -> None:
        """Serve until `leave`, then drain; Unfinished if that takes too long.

        An error in a step comes out of here, while draining too.
        """
        loop = asyncio.get_running_loop()
        data = await loop.create_server(
            lambda: Wire(Session(self), self._pulse, is_opener=False),
            self._host or None,
            self._limits.port,
        )
        every: list[Task | Source] = [*self.tasks.values(), *self.sources]
        web = Web(
            Exposition(self._identity, every),
            self.sources,
            is_ready=lambda: not self._is_leaving,
        )
        http = await asyncio.start_server(web.handle, self._host or None, http_port)
        self.http_port = http.sockets[0].getsockname()[1]
        _log.info("%s is there", ", ".join(me.task for me in self._identity.tasks))
        doing = [one.run() for one in every] + [one.sender.run() for one in every]
        doing += [self._pulse.run(), self._failure.run()]
        jobs = [loop.create_task(one) for one in doing]
        try:
            await self._until(leave.wait(), jobs)
            await self._until(self._drain(every), jobs)
        finally:
            await self._close(every, jobs)
            data.close()
            await asyncio.sleep(self._limits.last_scrape_s)
            http.close()

    async def _until(
        self, until: Coroutine[Any, Any, Any], jobs: list["asyncio.Task[None]"]
    ) -> None:
        """Wait for the one thing; whatever fails before is raised."""
        first = asyncio.get_running_loop().create_task(until)
        waiting: set[asyncio.Task[Any]] = {first, *jobs}
        try:
            while not first.done():
                done, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
                for job in done:
                    job.result()
        finally:
            first.cancel()
            await asyncio.gather(first, return_exceptions=True)

    async def _drain(self, every: list[Task | Source]) -> None:
        """Take nothing more, finish, hand over; Unfinished if there is no time for that."""
        until_s = asyncio.get_running_loop().time() + self._limits.grace_s
        self._is_leaving = True
        for ways in self._ways:
            ways.is_leaving = True
        _log.info("draining")
        for one in every:
            one.leave()
        try:
            async with asyncio.timeout_at(until_s):
                while not all(one.is_idle for one in every):
                    for one in every:
                        one.sender.flush()
                    await self._close_idle_sources()
                    await asyncio.sleep(_LOOK_S)
                await self._close_idle_sources()
                await self._handed_over()
        except TimeoutError as error:
            if left := self._left(every):
                raise Unfinished(f"not drained in {self._limits.grace_s:g} s: {left}") from error
            _log.warning("nobody has named new owners; the state is given up")
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until_s):
                await self._followed()
        await asyncio.sleep(_STILL_S)
        _log.info("drained")

    def _left(self, every: Sequence[Task | Source]) -> str:
        """What is lost with the process, though somebody was there to have it."""
        found = [f"what {one.me.task} has in hand" for one in every if not one.is_idle]
        found += [
            f"{task.held_groups} key groups of {task.me.task}"
            for task in self.tasks.values()
            if task.held_groups and task.has_heirs
        ]
        return ", ".join(found)

    async def _close_idle_sources(self) -> None:
        """Let the next pods of sources begin that have ended, whatever others still do."""
        for source in self.sources:
            if source.is_idle:
                await source.close()

    async def _followed(self) -> None:
        """Wait for the next pods of sources whose position nobody else would keep.

        Not for long: with a topology that is deleted, nobody follows.
        """
        waits_s = time.monotonic()
        while not all(source.is_followed for source in self.sources):
            if time.monotonic() - waits_s > _FOLLOWED_S:
                _log.warning("nobody has asked how far the sources came")
                return
            await asyncio.sleep(_LOOK_S)

    async def _handed_over(self) -> None:
        """Wait until all state has gone to its new owners, while anybody could name them."""
        told_s = time.monotonic()
        while any(task.held_groups for task in self.tasks.values()):
            if any(task.sessions for task in self.tasks.values()):
                told_s = time.monotonic()
            if time.monotonic() - told_s > _ORPHANED_S:
                _log.warning("nobody is there who could name new owners; the state is given up")
                return
            await asyncio.sleep(_LOOK_S)

    async def _close(self, every: list[Task | Source], jobs: list["asyncio.Task[None]"]) -> None:
        for job in (*jobs, *self._answering):
            job.cancel()
        await asyncio.gather(*jobs, *self._answering, return_exceptions=True)
        for one in every:
            await one.close()
            await one.sender.close()
        for wire in tuple(self._pulse.wires):
            wire.close()
        await asyncio.sleep(0)

    def _add(self, me: TaskIdentity) -> None:
        name = step_of(me.vertex, step=self._work.step, program=self._work.program)
        step = load_step(name, self._work.options)
        counters = Counters()
        ways = Ways(
            namespace=self.namespace,
            topology=self.topology,
            vertex=me.vertex,
            task=me.task,
            incarnation=me.incarnation,
            port=self._limits.port,
            pulse=self._pulse,
            seed=me.index,
            siblings=sum(one.vertex == me.vertex for one in self._identity.tasks),
            neighbours=self._neighbours,
            failure=self._failure,
            is_source=step.is_source,
        )
        whole = self._identity
        before = [Peer(me.task, one.incarnation, one.address, ()) for one in whole.before]
        origin = Origin(node=whole.node, domain=whole.domain, process=whole.pod or "this")
        self._ways.append(ways)
        sender = Sender(me, counters, ways=ways, limits=self._limits, origin=origin)
        if step.is_source:
            folder = self._work.positions
            self.sources.append(
                Source(
                    me,
                    step,
                    sender,
                    limits=self._limits,
                    profile=self._work.profile,
                    last=self._work.last,
                    position=Position(folder / me.task if folder else None),
                    succession=Succession(ways, before),
                )
            )
            return
        self.tasks[me.task, me.incarnation] = Task(
            me,
            step,
            sender,
            counters,
            ways=ways,
            limits=self._limits,
            emulated_wait_s=self._work.emulated_wait_s,
        )
        self._neighbours[me.task, me.incarnation] = lambda: Session(self, is_inside=True)
