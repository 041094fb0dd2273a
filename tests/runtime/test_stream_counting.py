"""What is counted, by a clock that only the test moves."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.connection import Pulse
from thalweg_runtime.worker.counters import Counters
from thalweg_runtime.worker.exposition import Exposition
from thalweg_runtime.worker.frames import Batch, Born
from thalweg_runtime.worker.inlet import Session
from thalweg_runtime.worker.sender import Sender
from thalweg_runtime.worker.settings import Identity, Limits, TaskIdentity
from thalweg_runtime.worker.source import Position, Source
from thalweg_runtime.worker.step import Step
from thalweg_runtime.worker.succession import Succession
from thalweg_runtime.worker.task import Arrived, Task
from thalweg_runtime.worker.ways import Ways
from thalweg_scheduling.group import Origin


@dataclass
class Clock:
    """All the clocks that there are, and the only sleep."""

    now_s: float = 100.0

    def read(self) -> float:
        return self.now_s

    async def sleep(self, seconds: float) -> None:
        self.now_s += seconds


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    reads = dict.fromkeys(("time", "monotonic", "perf_counter", "process_time"), made.read)
    for module in ("task", "source", "sender", "exposition"):
        monkeypatch.setattr(f"thalweg_runtime.worker.{module}.time", SimpleNamespace(**reads))
    slept = SimpleNamespace(sleep=made.sleep, Event=asyncio.Event, Lock=asyncio.Lock)
    monkeypatch.setattr("thalweg_runtime.worker.task.asyncio", slept)
    return made


def sends(me: TaskIdentity) -> tuple[Sender, Ways]:
    ways = Ways(
        topology="t",
        vertex=me.vertex,
        task=me.task,
        incarnation=1,
        port=1,
        pulse=Pulse(dead_after_s=10.0),
    )
    sender = Sender(me, Counters(), ways=ways, limits=Limits(), origin=Origin())
    return sender, ways


def named(vertex: str, index: int) -> TaskIdentity:
    return TaskIdentity(vertex=vertex, task=f"{vertex}-{index}", incarnation=1, routes=None)


def working(clock: Clock, takes_s: float, *, waits_s: float = 0.0, index: int = 0) -> Task:
    """A sink whose step takes so long."""
    me = named("sink", index)
    sender, ways = sends(me)

    def step(record: Any) -> None:
        clock.now_s += takes_s

    return Task(
        me,
        Step(call=step, is_source=False, is_keyed=False),
        sender,
        sender.counters,
        ways=ways,
        limits=Limits(),
        emulated_wait_s=waits_s,
    )


def apply(task: Task, born: Sequence[Born], *, at_s: float) -> None:
    """Have a batch that came then applied."""
    nobody: Any = None
    count = sum(length for length, _ in born)
    batch = Batch(1, list(born), [], [{"n": number} for number in range(count)])
    task.queue_tuples += count
    arrived = Arrived(session=Session(nobody), batch=batch, at_s=at_s)
    states: list[dict[Any, Any]] = [{}] * count

    async def story() -> None:
        await task._apply(arrived, states)

    asyncio.run(story())


def told(*hosted: Task | Source) -> dict[tuple[str, str], float]:
    """What Prometheus would read: name and task to value."""
    identity = Identity(topology="t", namespace="", pod="p", node="n", domain="", tasks=())
    families = text_string_to_metric_families(Exposition(identity, hosted).text().decode())
    return {
        (one.name, one.labels.get("task", "")): one.value
        for family in families
        for one in family.samples
        if not one.name.endswith("_bucket")
    }


def test_work_that_is_emulated_is_busy_and_keeps_the_next_waiting(clock: Clock) -> None:
    task = working(clock, 0.0, waits_s=0.5)
    apply(task, [(3, 100.0), (1, 99.0)], at_s=100.0)
    found = told(task)
    assert found["thalweg_processed_total", "sink-0"] == 4
    assert found["thalweg_busy_seconds_total", "sink-0"] == pytest.approx(4 * 0.5)
    assert found["thalweg_wait_seconds_total", "sink-0"] == pytest.approx(0 + 0.5 + 1 + 1.5)
    assert found["thalweg_latency_seconds_count", "sink-0"] == 4
    # Each is done when its own work is, not when that of all of them is.
    assert found["thalweg_latency_seconds_sum", "sink-0"] == pytest.approx(0.5 + 1 + 1.5 + 3)
    assert found["thalweg_queue_tuples", "sink-0"] == 0


def test_short_waits_are_added_up_to_naps(clock: Clock) -> None:
    task = working(clock, 0.0, waits_s=0.0005)
    apply(task, [(256, 100.0)], at_s=100.0)
    assert task.counters.busy_s == pytest.approx(256 * 0.0005)
    assert clock.now_s == pytest.approx(100.0 + 256 * 0.0005, abs=0.0025)
    # A nap is for some tuples before it: each is off by less than that.
    exact = 0.0005 * sum(range(1, 257))
    assert task.counters.latency.total_s == pytest.approx(exact, abs=256 * 0.0025)


def test_real_work_is_timed_by_runs(clock: Clock) -> None:
    task = working(clock, 0.25)
    clock.now_s = 101.0
    apply(task, [(2, 100.0), (2, 99.0)], at_s=100.0)
    found = told(task)
    assert found["thalweg_busy_seconds_total", "sink-0"] == pytest.approx(4 * 0.25)
    assert found["thalweg_wait_seconds_total", "sink-0"] == pytest.approx(4 * 1.0)
    assert found["thalweg_latency_seconds_count", "sink-0"] == 4
    assert found["thalweg_latency_seconds_sum", "sink-0"] == pytest.approx(2 * 1.5 + 2 * 3.0)


def test_cpu_time_is_dealt_out_by_how_busy_each_was(clock: Clock) -> None:
    clock.now_s = 0.0
    idle, busy = working(clock, 1.0), working(clock, 3.0, index=1)
    apply(idle, [(1, 0.0)], at_s=0.0)
    apply(busy, [(1, 0.0)], at_s=0.0)
    # A process' CPU time is what this clock says, too: four seconds.
    found = told(idle, busy)
    assert found["thalweg_cpu_seconds_total", "sink-0"] == pytest.approx(1.0)
    assert found["thalweg_cpu_seconds_total", "sink-1"] == pytest.approx(3.0)


def test_complete_is_from_the_making_to_the_last_acknowledgement(clock: Clock) -> None:
    me = named("read", 0)
    sender, ways = sends(me)

    def step(sequence: int) -> dict[str, int]:
        clock.now_s += 0.25
        return {"n": sequence}

    source = Source(
        me,
        Step(call=step, is_source=True, is_keyed=False),
        sender,
        limits=Limits(),
        profile=parse_profile("4"),
        last=None,
        position=Position(None),
        succession=Succession(ways),
    )
    clock.now_s += 1.0
    assert source._make_due()
    found = told(source)
    assert found["thalweg_processed_total", "read-0"] == 4
    assert found["thalweg_busy_seconds_total", "read-0"] == pytest.approx(4 * 0.25)
    assert found["thalweg_complete_seconds_count", "read-0"] == 4
    assert found["thalweg_complete_seconds_sum", "read-0"] == pytest.approx(4 * 1.0)
