"""A source: makes tuples at the rate that its profile says, as far as acknowledgements allow."""

import asyncio
import time
from collections import deque
from pathlib import Path

from thalweg_runtime.simulated.offering import Profile
from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.sender import Sender
from thalweg_runtime.worker.settings import TURN_S, Limits, TaskIdentity
from thalweg_runtime.worker.step import Step
from thalweg_runtime.worker.succession import Heir, Succession

_TICK_S = 0.001
_SAVE_S = 0.5
_ASK_S = 5.0
"""After the first receiver, others are waited for so long: they may know how far it had come."""
_OTHERS_S = 30.0
"""So long where only those in the same process are there, who know no more than the source."""


class Position:
    """How far a source has been acknowledged, in a file if it has one.

    Whoever starts after it begins there: what was under way is made again.
    """

    def __init__(self, path: Path | None) -> None:
        """Read the file if there is one; a spoilt one counts as none."""
        self._path = path
        self._saved = 0
        if path is not None and path.is_file():
            text = path.read_text(encoding="ascii", errors="replace").strip()
            self._saved = int(text) if text.isdecimal() else 0
        self.acknowledged = self._saved

    def save(self) -> None:
        """Write it down if it has changed; the file is whole at any time."""
        if self._path is not None and self.acknowledged != self._saved:
            beside = self._path.with_name(f".{self._path.name}.new")
            beside.write_text(str(self.acknowledged), encoding="ascii")
            beside.replace(self._path)
            self._saved = self.acknowledged


class Source:
    """One replica of a vertex without in-edges."""

    def __init__(
        self,
        me: TaskIdentity,
        step: Step,
        sender: Sender,
        *,
        limits: Limits,
        profile: Profile,
        last: int | None,
        position: Position,
        succession: Succession,
    ) -> None:
        """`last` is the number of tuples after which it has nothing more to say."""
        self.me = me
        self.counters = sender.counters
        self.sender = sender
        self.position = position
        self.is_leaving = False
        self._succession = succession
        self._is_over = False
        self._is_kept = False
        self._step = step
        self._limits = limits
        self._last = last
        self._made = position.acknowledged
        self._open: deque[_Made] = deque()
        self._pending = 0
        self._settled = asyncio.Event()
        self._profile, self._factor = profile, 1.0
        self._due = 0.0
        self._since_s = self._accounted_s = time.monotonic()

    @property
    def queue_tuples(self) -> int:
        """Tuples that are due and not made yet; also while nothing can be made."""
        left = int(self._owed(time.monotonic()))
        return left if self._last is None else min(left, self._last - self._made)

    @property
    def is_idle(self) -> bool:
        """Whether everything made is acknowledged."""
        return not self._open and self.sender.is_empty

    @property
    def is_finished(self) -> bool:
        """Whether it has said all that it had to say."""
        return self._last is not None and self._made >= self._last and self.is_idle

    @property
    def is_followed(self) -> bool:
        """Whether somebody who stays knows how far it came, if it came anywhere."""
        return self._is_kept or self._succession.is_followed or not self.position.acknowledged

    def follow(self, profile: Profile, factor: float = 1.0) -> None:
        """Make so many times as many as the profile says; its time begins now."""
        now_s = time.monotonic()
        self._due = self._owed(now_s)
        self._profile, self._factor = profile, factor
        self._since_s = self._accounted_s = now_s

    def multiply(self, factor: float) -> None:
        """Make so many times as many as the profile says, which goes on."""
        now_s = time.monotonic()
        self._due, self._accounted_s = self._owed(now_s), now_s
        self._factor = factor

    async def run(self) -> None:
        """Make tuples for ever, or until the last one."""
        await self._find_position()
        saved_s = turn_s = time.monotonic()
        while True:
            await self._wait_for_room()
            if not self._make_due():
                self.sender.flush()
                await asyncio.sleep(_TICK_S)
            else:
                self.sender.flush_if_due()
                if time.monotonic() - turn_s >= TURN_S:
                    await asyncio.sleep(0)
                    turn_s = time.monotonic()
            if time.monotonic() - saved_s > _SAVE_S:
                saved_s = time.monotonic()
                self.position.save()
                self.sender.tell(self.position.acknowledged)

    def leave(self) -> None:
        """Make nothing more."""
        self.is_leaving = True
        self.sender.tell(self.position.acknowledged)

    def asked_by(self, heir: Heir) -> None:
        """The next pod wants to know how far this one has come."""
        self._succession.asked_by(heir, self.position.acknowledged)

    def forget(self, heir: Heir) -> None:
        """The next pod has let go."""
        self._succession.forget(heir)

    async def close(self) -> None:
        """Write down how far it came, tell those whom the next pod will ask, and let go of them."""
        if self._is_over:
            return
        self._is_over = True
        self._is_kept = self.sender.is_known_elsewhere
        self.position.save()
        self.sender.tell(self.position.acknowledged)
        self._succession.end(self.position.acknowledged)
        await self.sender.close()

    async def _hear_the_former(self) -> int:
        """Wait for the pods before this one; what is due meanwhile is their affair."""
        async with asyncio.TaskGroup() as group:
            hearing = group.create_task(self._succession.heard())
            while not hearing.done():
                self._accounted_s = time.monotonic()
                await asyncio.sleep(_TICK_S)
        return hearing.result()

    async def _find_position(self) -> None:
        """Begin where the pod before this one was, as far as anybody knows."""
        told = await self._hear_the_former()
        while not self.sender.routes.edges and not self.sender.is_sink:
            await asyncio.sleep(_TICK_S)
        asked_s = time.monotonic()
        while not self.sender.is_connected:
            patience_s = _OTHERS_S if self.sender.is_among_its_own else _ASK_S
            if time.monotonic() - asked_s >= patience_s:
                break
            # Nobody is there who could know; or the pod before this one still makes what is due.
            if self.sender.is_alone or self.sender.is_early:
                asked_s = self._accounted_s = time.monotonic()
            await asyncio.sleep(_TICK_S)
        self.position.acknowledged = max(self.position.acknowledged, told, self.sender.position)
        self._made = self.position.acknowledged
        self._accounted_s = time.monotonic()

    async def _wait_for_room(self) -> None:
        if self.sender.is_full:
            await self.sender.has_room()
        if self._pending >= self._limits.pending_tuples:
            self.sender.flush()
            while self._pending >= self._limits.pending_tuples:
                self._settled.clear()
                await self.counters.backpressured(self._settled)

    def _owed(self, now_s: float) -> float:
        rate = self._profile.rate_per_s(now_s - self._since_s) * self._factor
        return self._due + rate * (now_s - self._accounted_s)

    def _make_due(self) -> bool:
        """Make what is due now, at most a batch of it."""
        now_s = time.monotonic()
        self._due, self._accounted_s = self._owed(now_s), now_s
        count = min(self.queue_tuples, self._limits.batch_tuples)
        if count < 1 or self.is_leaving:
            return False
        self._due -= count
        began_s = time.perf_counter()
        born = time.time()
        run = _Made(self._made + count)
        self._open.append(run)
        self._pending += count
        cause = Cause(lambda: self._finished(run, born, count))
        made = list(map(self._step.call, range(self._made, self._made + count)))
        self.sender.emit_many(made, born, cause)
        self._made += count
        cause.release()
        self.counters.processed += count
        self.counters.busy_s += time.perf_counter() - began_s
        return True

    def _finished(self, made: "_Made", born: float, count: int) -> None:
        made.is_done = True
        self._pending -= count
        self._settled.set()
        self.counters.complete.observe(time.time() - born, count)
        while self._open and self._open[0].is_done:
            self.position.acknowledged = self._open.popleft().end


class _Made:
    """A run of tuples that the source made."""

    __slots__ = ("end", "is_done")

    def __init__(self, end: int) -> None:
        self.end = end
        self.is_done = False
