"""The discrete-event mode: every tuple by itself.

Exact for what the analytic mode approximates (queues in front of queues, tasks that share cores,
tuples that cause several others), and the only one that knows time: rates that change, queues that
fill, moves that stop a task. `trial.run_trial` drives it; `Engine` is for whoever wants to do so.
"""

from types import ModuleType
from typing import Protocol

import numpy as np
import numpy.typing as npt

from thalweg_scheduling.kernels.compiling import can_compile, compiled
from thalweg_scheduling.model.arrays import Floats, Kind
from thalweg_scheduling.simulate import arena, stepping
from thalweg_scheduling.simulate.arena import Memory
from thalweg_scheduling.simulate.arriving import Outside
from thalweg_scheduling.simulate.slots import Layout, Roster
from thalweg_scheduling.simulate.stage import Counts, Stage

TIMEOUT_S = 30.0
"""Storm's: what takes longer until it is acknowledged counts as failed."""


class Engine(Protocol):
    """What runs a stage."""

    def adopt(self, stage: Stage, paused_until_s: Floats | None = None) -> None:
        """Go on with another stage; tasks that are paused take nothing until then."""
        ...

    def advance(self, offered_per_s: float, until_s: float) -> None:
        """Let time pass while so much is offered."""
        ...

    def collect(self) -> Counts:
        """What has happened since the last time, on the present stage."""
        ...


class EventEngine:
    """Runs a stage tuple by tuple; by interpreted kernels unless others are given."""

    def __init__(
        self,
        stage: Stage,
        rng: np.random.Generator,
        *,
        timeout_s: float = TIMEOUT_S,
        kernels: ModuleType | None = None,
    ) -> None:
        self._kernels = kernels or stepping
        self._rng = rng
        self._timeout_s = timeout_s
        self._outside = Outside(rng, stage.parameters.arrival_cv2)
        self._roster = Roster()
        self._collected_s = 0.0
        self._layout = Layout.of(stage, self._roster.seat(stage), None)
        self._memory = Memory({**self._layout.rows(), **_POOLS})
        self._layout.write(self._memory, timeout_s=timeout_s)
        self._memory.whole[arena.EVENT_ROOM] = _POOLS[arena.EVENTS]
        _free(self._memory, dict.fromkeys(_POOLS, 0))

    @property
    def now_s(self) -> float:
        """The time that has been reached."""
        return float(self._memory.real[arena.NOW])

    def adopt(self, stage: Stage, paused_until_s: Floats | None = None) -> None:
        """Go on with another stage: tasks move, come and go with what waits for them."""
        old = self._memory
        self._bring_up_to_now()
        self._layout = Layout.of(stage, self._roster.seat(stage), self._layout.places)
        pools = {area: old.rows[area] for area in _POOLS}
        memory = Memory({**self._layout.rows(), **pools})
        self._layout.write(memory, timeout_s=self._timeout_s)
        _carry_over(old, memory)
        self._memory = memory
        self._hand_over_backlog()
        if paused_until_s is not None:
            until = memory.real_of(arena.SLOTS)[:, arena.PAUSED_UNTIL]
            seats = self._layout.seating.slot_of
            until[seats] = np.maximum(until[seats], paused_until_s)
        _settle_credit(memory)
        self._wake_all()

    def advance(self, offered_per_s: float, until_s: float) -> None:
        """Let time pass while so much is offered."""
        seating = self._layout.seating
        rates = np.zeros(len(seating.task_of))
        rates[seating.slot_of] = offered_per_s * self._layout.stage.offered_share
        arrivals = self._outside.arrivals(rates, self.now_s, until_s)
        while True:
            memory = self._memory
            arrived, status = self._kernels.advance(
                memory.whole, memory.real, self._rng, arrivals, until_s
            )
            if status == stepping.DONE:
                return
            arrivals = arrivals[0][arrived:], arrivals[1][arrived:]
            self._memory = _larger(memory)

    def collect(self) -> Counts:
        """What has happened since the last time; what drains counts with its vertex's first."""
        self._bring_up_to_now()
        memory, now = self._memory, self.now_s
        whole, real = memory.whole_of(arena.SLOTS), memory.real_of(arena.SLOTS)
        blocked = np.flatnonzero(real[:, arena.BLOCKED_SINCE] >= 0)
        real[blocked, arena.BLOCKED] += now - real[blocked, arena.BLOCKED_SINCE]
        real[blocked, arena.BLOCKED_SINCE] = now
        sent = np.zeros(len(self._layout.stage.workload.targets))
        np.add.at(sent, self._layout.ways.pair, memory.real_of(arena.PAIRS)[:, arena.SENT])
        span_s, self._collected_s = now - self._collected_s, now
        counts = Counts(
            span_s=span_s,
            offered=self._by_task(real[:, arena.OFFERED]),
            processed=self._by_task(real[:, arena.PROCESSED]),
            waited_s=self._by_task(real[:, arena.WAITED]),
            served_s=self._by_task(real[:, arena.SERVED]),
            cpu_s=self._by_task(real[:, arena.CPU]),
            blocked_s=self._by_task(real[:, arena.BLOCKED]),
            queued=self._by_task(whole[:, arena.QUEUED]),
            backlog=self._by_task(whole[:, arena.BACKLOG]),
            sent=sent,
            latency_sum_s=float(memory.real[arena.LATENCY_SUM]),
            latencies=float(memory.real[arena.LATENCIES]),
            complete_sum_s=float(memory.real[arena.COMPLETE_SUM]),
            completed=float(memory.real[arena.COMPLETED]),
            failed=float(memory.real[arena.FAILED]),
        )
        real[:, arena.OFFERED : arena.BLOCKED + 1] = 0.0
        memory.real_of(arena.PAIRS)[:, arena.SENT] = 0.0
        memory.real[arena.LATENCY_SUM : arena.FAILED + 1] = 0.0
        return counts

    def _by_task(self, facts: npt.NDArray[Kind]) -> Floats:
        seating = self._layout.seating
        summed = np.zeros(len(seating.slot_of))
        np.add.at(summed, seating.task_of, facts)
        return summed

    def _bring_up_to_now(self) -> None:
        for node in range(self._memory.rows[arena.NODES]):
            self._kernels.touch(self._memory.whole, self._memory.real, node)

    def _hand_over_backlog(self) -> None:
        """What waits outside for a task that is taken away waits for another of its vertex."""
        seating = self._layout.seating
        backlog = self._memory.whole_of(arena.SLOTS)[:, arena.BACKLOG]
        for gone in np.flatnonzero(seating.drains & (backlog > 0)):
            backlog[seating.slot_of[seating.task_of[gone]]] += backlog[gone]
            backlog[gone] = 0

    def _wake_all(self) -> None:
        slots = self._memory.rows[arena.SLOTS]
        while self._memory.whole[arena.EVENT_COUNT] + slots > self._memory.rows[arena.EVENTS]:
            self._memory = _larger(self._memory)
        memory = self._memory
        until = memory.real_of(arena.SLOTS)[:, arena.PAUSED_UNTIL]
        for slot in range(slots):
            at_s = max(self.now_s, float(until[slot]))
            self._kernels.push(memory.whole, memory.real, at_s, arena.WAKES, slot)


def event_kernels() -> ModuleType:
    """The kernels, compiled where numba is installed."""
    return compiled(stepping) if can_compile() else stepping


def _free(memory: Memory, before: dict[int, int]) -> None:
    """Add the rows that came after `before` to what is free."""
    for area, column, count, first in (
        (arena.TUPLES, arena.FOLLOWING, arena.FREE_TUPLES, arena.NEXT_TUPLE),
        (arena.ROOTS, arena.FREE, arena.FREE_ROOTS, arena.NEXT_ROOT),
    ):
        old, new = before[area], memory.rows[area]
        table = memory.whole_of(area)
        table[old:, column] = np.arange(old + 1, new + 1)
        table[-1, column] = memory.whole[first]
        memory.whole[first] = old
        memory.whole[count] += new - old


def _larger(memory: Memory) -> Memory:
    """The same with pools of twice the size."""
    pools = {area: 2 * memory.rows[area] for area in _POOLS}
    spare, slots = int(memory.whole[arena.SPARE]), memory.rows[arena.SLOTS]
    pools[arena.EVENTS] += 2 * (spare + 2) * (slots + 2)
    larger = Memory({**memory.rows, **pools})
    larger.whole[len(arena.WIDTH) : arena.HEAD] = memory.whole[len(arena.WIDTH) : arena.HEAD]
    larger.real[: arena.HEAD] = memory.real[: arena.HEAD]
    larger.whole[arena.EVENT_ROOM] = pools[arena.EVENTS]
    for area in memory.rows:
        larger.copy_from(memory, area)
    _free(larger, memory.rows)
    return larger


def _carry_over(old: Memory, new: Memory) -> None:
    """What goes on in another layout: nothing is on a CPU until it is woken."""
    for area in _POOLS:
        new.copy_from(old, area)
    kept = slice(arena.EVENT_ROOM, arena.HEAD)
    new.whole[kept] = old.whole[kept]
    new.real[arena.NOW] = old.real[arena.NOW]
    slots = old.rows[arena.SLOTS]
    whole, real = new.whole_of(arena.SLOTS)[:slots], new.real_of(arena.SLOTS)[:slots]
    whole[:, : arena.NODE_OF] = old.whole_of(arena.SLOTS)[:, : arena.NODE_OF]
    real[:, : arena.CPU_S] = old.real_of(arena.SLOTS)[:, : arena.CPU_S]
    whole[whole[:, arena.PHASE] == arena.ON_CPU, arena.PHASE] = arena.SUSPENDED
    new.whole_of(arena.NODES)[:, arena.CALL] = old.whole_of(arena.NODES)[:, arena.CALL] + 1
    wires = slice(arena.TOUCHED, arena.IN_FREE + 1)
    new.real_of(arena.NODES)[:, wires] = old.real_of(arena.NODES)[:, wires]


def _settle_credit(memory: Memory) -> None:
    """Say anew who is full and whom that stops."""
    whole = memory.whole_of(arena.SLOTS)
    full = whole[:, arena.LEVEL] >= memory.real[arena.CREDIT]
    whole[:, arena.IS_FULL] = full
    senders = memory.whole_of(arena.SENDERS)[:, 0]
    target = np.repeat(
        np.arange(len(full)), whole[:, arena.SENDER_END] - whole[:, arena.SENDER_FROM]
    )
    stopped = np.bincount(senders[full[target]], minlength=len(full))
    whole[:, arena.FULL_TARGETS] = stopped


_POOLS = {arena.TUPLES: 1024, arena.ROOTS: 1024, arena.EVENTS: 4096}
"""What grows as it is needed, and how much there is at first."""
