"""What one receiver is sent: nothing that was made is ever in nobody's hands."""

import asyncio
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.connection import Pulse
from thalweg_runtime.worker.counters import Traffic
from thalweg_runtime.worker.errors import TooLarge, Unsendable
from thalweg_runtime.worker.failure import Failure
from thalweg_runtime.worker.frames import Ack, Batch, Doc, Frame, Welcome, encoded
from thalweg_runtime.worker.link import Link, Parcel
from thalweg_runtime.worker.process import Work
from thalweg_runtime.worker.routes import Target
from thalweg_runtime.worker.settings import Limits, TaskIdentity
from thalweg_runtime.worker.ways import Ways
from thalweg_scheduling.group import Receiver

MIB = 1024 * 1024


@dataclass
class Wire:
    """A connection that keeps what was sent."""

    sent: list[Batch] = field(default_factory=list)

    def send(self, frame: Frame) -> bytes:
        data = encoded(frame)
        assert isinstance(frame, Batch)
        self.sent.append(frame)
        return data

    def close(self) -> None:
        """Nobody minds."""


@dataclass
class Bank:
    """An outlet that has nothing to say."""

    full: set[Link] = field(default_factory=set)
    doc: Doc | None = None
    position: int = 0
    repeats: int = 0
    down: list[Parcel] = field(default_factory=list)

    def came_up(self, link: Link) -> None: ...
    def went_down(self, link: Link, parcels: list[Parcel]) -> None:
        del link
        self.down += parcels

    def refused(self, link: Link, parcel: Parcel) -> None: ...
    def has_room(self) -> None: ...
    def ended(self, link: Link) -> None: ...


def linked() -> tuple[Link, Wire, Bank, Failure]:
    ways = Ways(
        topology="t",
        vertex="v",
        task="v-0",
        incarnation=1,
        port=1,
        pulse=Pulse(dead_after_s=10.0),
    )
    target = Target(receiver=Receiver(name="w-0"), incarnation=1, address="10.0.0.1")
    bank, wire = Bank(), Wire()
    link = Link(target, bank, Traffic(), ways=ways, limits=Limits())
    link.connected(wire)
    return link, wire, bank, ways.failure


def error_of(failure: Failure) -> BaseException | None:
    return failure._error


@pytest.mark.parametrize(
    ("unsendable", "kind"),
    [({"blob": bytes(17 * MIB)}, TooLarge), ({"lock": object()}, Unsendable)],
)
def test_what_cannot_be_sent_stays_and_is_told(
    unsendable: dict[str, Any], kind: type[Exception]
) -> None:
    async def story() -> None:
        link, wire, bank, failure = linked()
        finished: list[int] = []
        causes = [Cause(lambda number=number: finished.append(number)) for number in range(2)]  # type: ignore[misc]
        link.put([{"id": 0}, {"id": 1}], [7, 8], 0.5, causes[0])
        link.put([{"id": 2}, unsendable, {"id": 3}], [9, 10, 11], 1.5, causes[1])
        for cause in causes:
            cause.release()
        link.heard(Welcome(2048, 0))
        assert isinstance(error_of(failure), kind)
        numbers = [batch.number for batch in wire.sent]
        if numbers:
            link.heard(Ack(numbers))
        link.lost()
        kept = [
            (record, born)
            for parcel in bank.down
            for records, born, _ in parcel.entries()
            for record in records
        ]
        sent = [
            (record, 0.5 if record["id"] < 2 else 1.5)
            for batch in wire.sent
            for record in batch.records
        ]
        whole = [
            ({"id": 0}, 0.5),
            ({"id": 1}, 0.5),
            ({"id": 2}, 1.5),
            (unsendable, 1.5),
            ({"id": 3}, 1.5),
        ]
        assert [*sent, *kept] == whole
        assert 1 not in finished
        for parcel in bank.down:
            parcel.release()
        assert sorted(finished) == [0, 1]

    asyncio.run(story())


def test_a_batch_that_is_too_large_goes_in_parts() -> None:
    async def story() -> None:
        link, wire, _, failure = linked()
        finished: list[int] = []
        cause = Cause(lambda: finished.append(1))
        link.put([{"id": number, "blob": bytes(3 * MIB)} for number in range(23)], [], 0.5, cause)
        cause.release()
        link.heard(Welcome(2048, 0))
        assert error_of(failure) is None
        assert [one["id"] for batch in wire.sent for one in batch.records] == list(range(23))
        assert len(wire.sent) > 1
        assert not finished
        link.heard(Ack([batch.number for batch in wire.sent]))
        assert finished == [1]
        assert link.is_empty

    asyncio.run(story())


def large(sequence: int) -> dict[str, Any]:
    return {"id": sequence, "blob": bytes(17 * MIB if sequence == 100 else 1)}


def strange(sequence: int) -> dict[str, Any]:
    return {"id": sequence, "what": object() if sequence == 100 else None}


def words(sequence: int) -> str:
    return f"no record {sequence}"


def by_number(sequence: int) -> dict[int, int]:
    return {7: sequence}


async def run(stream: InnerStream, step: str, last: int = 1000) -> "asyncio.Task[None]":
    await stream.receive(0)
    stream.route([Place()])
    me = TaskIdentity(vertex="numbers", task="numbers-0", incarnation=1, routes=stream.routes)
    work = Work(step=f"{__name__}:{step}", profile=parse_profile("5000"), last=last)
    await stream.start([me], f"{stream.net}.1", work)
    return stream.running.pop(f"{stream.net}.1")[2]


@pytest.mark.parametrize(
    ("step", "kind", "said"),
    [
        ("large", TooLarge, "too large"),
        ("strange", Unsendable, "what MessagePack knows"),
        ("words", TypeError, "a record is a dict, not str"),
    ],
)
def test_a_step_that_makes_such_things_ends_its_process(
    tmp_path: Path, step: str, kind: type[Exception], said: str
) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            job = await run(stream, step)
            with pytest.raises(kind, match=said):
                async with asyncio.timeout(30):
                    await job

    asyncio.run(story())


def test_a_record_may_have_any_key(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            job = await run(stream, "by_number", last=100)
            (sink,) = stream.running[f"{stream.net}.32"][0].tasks.values()
            await until(lambda: sink.counters.processed == 100, "everything arrives")
            job.cancel()
            await asyncio.gather(job, return_exceptions=True)

    asyncio.run(story())
