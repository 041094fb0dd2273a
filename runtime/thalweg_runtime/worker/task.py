"""A task: takes batches from its inbox, applies the user's step, sends what comes of it."""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.counters import Counters
from thalweg_runtime.worker.frames import Batch, Doc, Record
from thalweg_runtime.worker.handover import HandOver
from thalweg_runtime.worker.holding import Holding
from thalweg_runtime.worker.inlet import Known, Session
from thalweg_runtime.worker.sender import Sender
from thalweg_runtime.worker.settings import TURN_S, Limits, TaskIdentity
from thalweg_runtime.worker.step import Step
from thalweg_runtime.worker.ways import Ways

_NAP_S = 0.002
"""Shorter waits are added up: a sleep is no exacter than that."""
_MOST_MADE_GOOD_S = 0.05

States = Sequence[dict[Any, Any]]

_log = logging.getLogger(__name__)


@dataclass(slots=True, kw_only=True)
class Arrived:
    """A batch in the inbox."""

    session: Session
    batch: Batch
    at_s: float


class Task:
    """One replica of a vertex that receives."""

    def __init__(
        self,
        me: TaskIdentity,
        step: Step,
        sender: Sender,
        counters: Counters,
        *,
        ways: Ways,
        limits: Limits,
        emulated_wait_s: float,
    ) -> None:
        """`run` does the work."""
        self.me = me
        self.counters = counters
        self.sender = sender
        self.credit_tuples = limits.credit_tuples
        self.is_leaving = False
        self.sessions: set[Session] = set()
        self.senders: dict[str, Known] = {}
        self.queue_tuples = 0
        self._step = step
        self._ways = ways
        self._limits = limits
        self._emulated_wait_s = emulated_wait_s
        self._owed_s = 0.0
        self._inbox: deque[Arrived] = deque()
        self._parked: list[Arrived] = []
        self._arrived = asyncio.Event()
        self._turn = asyncio.Lock()
        self._holdings: dict[str, Holding] = {}
        self._handovers: dict[str, HandOver] = {}
        self._own_state: dict[Any, Any] = {}
        self._jobs: dict[tuple[str, str], asyncio.Task[None]] = {}

    @property
    def is_idle(self) -> bool:
        """Whether everything that came in is done and acknowledged."""
        is_processing = self._turn.locked()
        return not (self._inbox or self._parked or is_processing) and self.sender.is_empty

    @property
    def held_groups(self) -> int:
        """How many key groups are held, of all edges."""
        return sum(len(holding.held) for holding in self._holdings.values())

    @property
    def has_heirs(self) -> bool:
        """Whether somebody owns what is held here, or somebody elsewhere could say who does."""
        are_owing = any(holding.is_owing for holding in self._holdings.values())
        return are_owing or any(not session.is_inside for session in self.sessions)

    async def run(self) -> None:
        """Work for ever; an error of the user's step ends it, and with it the process."""
        turn_s = time.monotonic()
        while True:
            if not self._inbox:
                self.sender.flush()
                self._arrived.clear()
                await self._arrived.wait()
            if self.sender.is_full:
                await self.sender.has_room()
            if not self._inbox:
                continue
            async with self._turn:
                arrived = self._inbox.popleft()
                states = self._states(arrived)
                if states is None:
                    self._put_off(arrived)
                else:
                    await self._apply(arrived, states)
            self.sender.flush_if_due()
            if time.monotonic() - turn_s >= TURN_S:
                # Whatever came over the network meanwhile gets its turn.
                await asyncio.sleep(0)
                turn_s = time.monotonic()

    def arrive(self, session: Session, batch: Batch) -> None:
        """Take a batch in hand."""
        self.queue_tuples += len(batch.records)
        self._inbox.append(Arrived(session=session, batch=batch, at_s=time.perf_counter()))
        self._arrived.set()

    def learn(self, doc: Doc) -> None:
        """Take in who owns what, and give away what is not ours any more."""
        holding = self._holding(doc.edge)
        holding.learn(doc)
        if holding.to_give():
            self._start("give", doc.edge)

    def current(self, edge: str) -> Doc:
        """What is known of who owns what."""
        return self._holding(edge).told()

    async def give_away(self, edge: str) -> list[int]:
        """Give what is not ours to whoever owns it, once; return what could not be given."""
        holding = self._holding(edge)
        await self._handovers[edge].give_once()
        return sorted(holding.foreign)

    def take(self, edge: str, states: dict[int, dict[Any, Any]]) -> list[int]:
        """Take groups over."""
        holding = self._holding(edge)
        if late := states.keys() & holding.ready.keys():
            _log.warning("the state of key groups %s is late: they began anew", sorted(late))
        taken = holding.take(states)
        self._handovers[edge].arrived()
        return taken

    def leave(self) -> None:
        """Take nothing more; finish what is in hand."""
        self.is_leaving = True
        for session in tuple(self.sessions):
            session.leave()
        for arrived in self._parked:
            self._return(arrived, is_leaving=True)
        self._parked.clear()

    async def close(self) -> None:
        """Stop handing over."""
        for job in self._jobs.values():
            job.cancel()
        await asyncio.gather(*self._jobs.values(), return_exceptions=True)

    def _holding(self, edge: str) -> Holding:
        found = self._holdings.get(edge)
        if found is None:
            found = self._holdings[edge] = Holding(edge, self.me.task, self.me.incarnation)
            self._handovers[edge] = HandOver(
                found,
                self._ways,
                self._turn,
                self.learn,
                hand_over_s=self._limits.hand_over_s,
            )
        return found

    def _states(self, arrived: Arrived) -> States | None:
        """The state for each tuple, or None unless all groups of a batch are held here.

        Of groupings without owners it is the task's own.
        """
        batch = arrived.batch
        if not batch.groups:
            return [self._own_state] * len(batch.records)
        ready = self._holding(arrived.session.edge).ready
        try:
            return list(map(ready.__getitem__, batch.groups))
        except KeyError:
            return None

    def _put_off(self, arrived: Arrived) -> None:
        """See to it that a batch can be applied, or leave it to the sender."""
        holding, groups = self._holding(arrived.session.edge), set(arrived.batch.groups)
        if groups <= holding.own and not self.is_leaving:
            self._parked.append(arrived)
            self._start("fetch", holding.edge)
        else:
            self._return(arrived, is_leaving=self.is_leaving)

    def _return(self, arrived: Arrived, *, is_leaving: bool) -> None:
        self.queue_tuples -= len(arrived.batch.records)
        arrived.session.refuse(arrived.batch.number, is_leaving=is_leaving)

    def _start(self, what: str, edge: str) -> None:
        """Give or fetch in the background, one at a time for each edge."""
        job = self._jobs.get((what, edge))
        if job is None or job.done():
            doing = self._fetched(edge) if what == "fetch" else self._handovers[edge].give()
            job = self._jobs[what, edge] = asyncio.get_running_loop().create_task(doing)
            self._ways.failure.watch(job)

    async def _fetched(self, edge: str) -> None:
        """Fetch what is missing, then go on with what waited for it."""
        await self._handovers[edge].fetch()
        waited = [one for one in self._parked if one.session.edge == edge]
        self._parked = [one for one in self._parked if one.session.edge != edge]
        self._inbox.extendleft(reversed(waited))
        self._arrived.set()

    async def _apply(self, arrived: Arrived, states: States) -> None:
        batch, session = arrived.batch, arrived.session
        began_s, slept_s = time.perf_counter(), 0.0
        count = len(batch.records)
        cause = Cause(lambda: session.acknowledge(batch.number))
        if self._emulated_wait_s:
            slept_s = await self._one_by_one(arrived, states, cause)
        else:
            self.counters.waited_s += (began_s - arrived.at_s) * count
            start = 0
            for length, born in batch.born:
                end = start + length
                self._process(batch.records[start:end], states[start:end], born, cause)
                start = end
        self.queue_tuples -= count
        self.counters.processed += count
        took_s = time.perf_counter() - began_s - slept_s
        self.counters.busy_s += took_s + self._emulated_wait_s * count
        cause.release()

    async def _one_by_one(self, arrived: Arrived, states: States, cause: Cause) -> float:
        """Let each tuple wait for those before it, as if it were work; return what was slept."""
        slept_s, place = 0.0, 0
        for length, born in arrived.batch.born:
            for _ in range(length):
                self.counters.waited_s += time.perf_counter() - arrived.at_s
                slept_s += await self._emulate()
                one = slice(place, place + 1)
                self._process(arrived.batch.records[one], states[one], born, cause)
                place += 1
        return slept_s

    def _process(
        self, records: Sequence[Record], states: States, born: float, cause: Cause
    ) -> None:
        """Apply the step to tuples that were born together."""
        call = self._step.call
        made: list[Any] = []
        for out in map(call, records, states) if self._step.is_keyed else map(call, records):
            if out is None:
                continue
            if type(out) is dict or type(out) is tuple or isinstance(out, dict):
                made.append(out)
            else:
                made.extend(out)
        if made:
            self.sender.emit_many(made, born, cause)
        if self.sender.is_sink:
            self.counters.latency.observe(time.time() - born, len(records))

    async def _emulate(self) -> float:
        """Wait as long as the work would have taken; return what was really slept."""
        self._owed_s += self._emulated_wait_s
        if self._owed_s < _NAP_S:
            return 0.0
        self.sender.flush_if_due()
        began_s = time.perf_counter()
        await asyncio.sleep(self._owed_s)
        slept_s = time.perf_counter() - began_s
        # On a busy machine a sleep takes far longer; that is not all made good again.
        self._owed_s = max(-_MOST_MADE_GOOD_S, self._owed_s - slept_s)
        return slept_s
