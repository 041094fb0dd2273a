"""A link: what one task sends to one receiver, until it is acknowledged."""

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.connection import Connection
from thalweg_runtime.worker.counters import Traffic
from thalweg_runtime.worker.errors import Garbage, TooLarge, Unsendable
from thalweg_runtime.worker.frames import (
    Ack,
    Batch,
    Doc,
    Frame,
    Leave,
    Position,
    Record,
    Refuse,
    Welcome,
    copied,
    records_of,
)
from thalweg_runtime.worker.routes import Target
from thalweg_runtime.worker.settings import Limits
from thalweg_runtime.worker.ways import Ways

FULL_TUPLES = 1024
"""So many that wait for one receiver stop the task."""

_SOONEST_S = 0.05
_LATEST_S = 1.0

Runs = list[tuple[int, float, Cause]]
"""Where a run of tuples begins, and what they share: when they were born, and their cause."""


@dataclass(slots=True, kw_only=True)
class Parcel:
    """Tuples together, with what each run of them has in common.

    What went over a wire is kept as it went: it takes less memory than records, and less time to
    be let go of.
    """

    content: Batch | bytes
    count: int
    runs: Runs
    was_sent: bool = False

    def entries(self) -> Iterator[tuple[Sequence[Record], float, Cause]]:
        """The records of each run with the time they were born and their cause."""
        content = self.content
        records = content.records if isinstance(content, Batch) else records_of(content)
        for (start, born, cause), end in zip(self.runs, ends(self.runs, self.count), strict=True):
            yield records[start:end], born, cause

    def release(self) -> None:
        """Keep the causes open no longer."""
        for _, _, cause in self.runs:
            cause.release()


class Edge(Protocol):
    """The outlet that a link belongs to."""

    full: set["Link"]
    doc: Doc | None
    position: int
    repeats: int

    def came_up(self, link: "Link") -> None: ...
    def went_down(self, link: "Link", parcels: list[Parcel]) -> None: ...
    def refused(self, link: "Link", parcel: Parcel) -> None: ...
    def has_room(self) -> None: ...
    def ended(self, link: "Link") -> None: ...


class Link:
    """Collects tuples for one receiver, sends them in batches and keeps them until the answer."""

    def __init__(
        self, target: Target, edge: Edge, traffic: Traffic, *, ways: Ways, limits: Limits
    ) -> None:
        """`run` connects it."""
        self.target = target
        self.is_up = False
        self.is_leaving = False
        self.is_retired = False
        self.is_early = False
        """Another pod of this source is still at work."""
        self.was_down = False
        self.copies = False
        """The receiver gets objects of its own, for they go to others too."""
        self.outstanding = 0
        self.credit_tuples = 0
        self._edge = edge
        self._traffic = traffic
        self._ways = ways
        self._limits = limits
        self._records: list[Record] = []
        self._groups: list[int] = []
        self._runs: Runs = []
        self._unacked: dict[int, Parcel] = {}
        self._number = 0
        self._connection: Connection | None = None
        self._gone = asyncio.Event()
        self._delay_s = _SOONEST_S

    @property
    def is_inside(self) -> bool:
        """Whether the receiver is in the same process, and goes with it."""
        return self.target.key in self._ways.neighbours

    @property
    def name(self) -> str:
        """The task that receives, whichever of its pods."""
        return self.target.receiver.name

    @property
    def is_well(self) -> bool:
        """Whether the receiver is there and takes tuples."""
        return self.is_up and not self.is_leaving

    @property
    def load(self) -> float:
        """How much of its credit is used, from 0 to 1."""
        return min(1.0, (self.outstanding + len(self._records)) / max(1, self.credit_tuples))

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits here, neither for credit nor for an answer."""
        return not self._records and not self._unacked

    def put(
        self, records: Sequence[Record], groups: Sequence[int], born: float, cause: Cause
    ) -> None:
        """Take tuples, and their groups if the grouping has any."""
        if not self._runs or self._runs[-1][1:] != (born, cause):
            cause.pending += 1
            self._runs.append((len(self._records), born, cause))
        self._records += self._own(records) if self.copies else records
        self._groups += groups
        if len(self._records) >= self._limits.batch_tuples:
            self.flush(least=self._limits.batch_tuples)

    def flush(self, *, least: int = 1) -> None:
        """Send as much as the credit allows, until fewer than `least` are left."""
        connection, most = self._connection, self._limits.batch_tuples
        while len(self._records) >= least:
            # Whole batches, if need be after the next answer: small ones would stay small for ever.
            count = min(len(self._records), most, self.credit_tuples)
            spare = self.credit_tuples - self.outstanding
            if connection is None or not self.is_up or self.is_leaving or spare < count:
                break
            try:
                most = self._send(connection, count)
            except Unsendable as error:
                # Often it is an answer that has brought us here, and its ear would not listen.
                self._ways.failure.tell(error)
                break
        if len(self._records) >= FULL_TUPLES:
            self._edge.full.add(self)
        elif self in self._edge.full:
            self._edge.full.discard(self)
            self._edge.has_room()

    def take_unsent(self) -> list[Parcel]:
        """Give up what has not been sent."""
        self._edge.full.discard(self)
        count = len(self._records)
        if not count:
            return []
        batch, runs = self._cut(count)
        return [Parcel(content=batch, count=count, runs=runs)]

    def retire(self) -> None:
        """Send nothing more; close when everything is answered."""
        self.is_retired = True
        self._close_if_done()

    def tell(self, doc: Doc | Position) -> None:
        """Let the receiver know who owns what, or how far the source has come."""
        if self._connection is not None and self.is_up:
            self._connection.send(doc)

    async def run(self) -> None:
        """Connect, and connect again, until retired."""
        while not self.is_retired:
            self._gone.clear()
            try:
                await self._ways.open(self, self.target.peer)
            except OSError:
                self._fell()
            else:
                await self._gone.wait()
                self._connection = None
            if not self.is_retired:
                await asyncio.sleep(self._delay_s)
                self._delay_s = min(_LATEST_S, self._delay_s * 2)
        self._edge.ended(self)

    def connected(self, connection: Connection) -> None:
        """The receiver is there; it will say Welcome."""
        self._connection = connection

    def heard(self, frame: Frame) -> None:
        """Take the receiver's answer."""
        match frame:
            case Ack():
                for number in frame.numbers:
                    self._answered(number).release()
                self.flush()
                self._close_if_done()
            case Refuse():
                self.is_leaving |= frame.is_leaving
                self._edge.refused(self, self._answered(frame.number))
                self._close_if_done()
            case Welcome():
                self._welcomed(frame)
            case Leave():
                self.is_leaving = True
                self._edge.went_down(self, self.take_unsent())
            case _:
                raise Garbage(f"a receiver does not say {type(frame).__name__}")

    def lost(self) -> None:
        """The receiver is gone: what it has not answered is still ours."""
        self._fell()
        self._gone.set()

    def close(self) -> None:
        """Let go, whatever is under way."""
        self.is_retired = True
        if self._connection is not None:
            self._connection.close()

    def _own(self, records: Sequence[Record]) -> Sequence[Record]:
        try:
            return copied(records)
        except Unsendable as error:
            self._ways.failure.tell(error)
            return records

    def _welcomed(self, frame: Welcome) -> None:
        self.is_early = not frame.credit_tuples
        if self.is_early:
            return
        self.credit_tuples = frame.credit_tuples
        self.is_up, self.is_leaving, self.was_down = True, False, False
        self._delay_s = _SOONEST_S
        self._edge.position = max(self._edge.position, frame.position)
        if self._edge.doc is not None:
            self.tell(self._edge.doc)
        self._edge.came_up(self)
        self.flush()
        self._close_if_done()

    def _fell(self) -> None:
        self.is_up = self.is_early = False
        self.was_down = True
        parcels = [*self._unacked.values(), *self.take_unsent()]
        self._unacked.clear()
        self.outstanding = 0
        self._edge.went_down(self, parcels)

    def _answered(self, number: int) -> Parcel:
        parcel = self._unacked.pop(number, None)
        if parcel is None:
            raise Garbage(f"batch {number} was never sent")
        self.outstanding -= parcel.count
        return parcel

    def _close_if_done(self) -> None:
        if self.is_retired and self.is_empty and self._connection is not None:
            self._connection.close()

    def _send(self, connection: Connection, count: int) -> int:
        """Send the first so many, or fewer if they do not fit into a frame; return how many."""
        batch, runs = self._cut(count)
        try:
            data = connection.send(batch)
        except Unsendable as error:
            self._put_back(batch, runs)
            if count == 1 or not isinstance(error, TooLarge):
                raise
            return self._send(connection, count // 2)
        self._unacked[batch.number] = Parcel(
            content=data or batch, count=count, runs=runs, was_sent=True
        )
        self.outstanding += count
        # What is sent again was counted when it was sent first: an edge's rate is what is made.
        again = min(count, self._edge.repeats)
        self._edge.repeats -= again
        self._traffic.tuples += count - again
        self._traffic.sent_bytes += len(data)
        return count

    def _cut(self, count: int) -> tuple[Batch, Runs]:
        """Take the first so many out of the buffer."""
        runs, self._runs = divided(self._runs, count, len(self._records))
        self._number += 1
        until = ends(runs, count)
        born = [(end - start, at_s) for (start, at_s, _), end in zip(runs, until, strict=True)]
        batch = Batch(self._number, born, self._groups[:count], self._records[:count])
        del self._records[:count], self._groups[:count]
        return batch, runs

    def _put_back(self, batch: Batch, runs: Runs) -> None:
        """Have in the buffer what was cut out of it."""
        count = len(batch.records)
        self._records[:0] = batch.records
        self._groups[:0] = batch.groups
        self._runs = runs + [(start + count, born, cause) for start, born, cause in self._runs]


def ends(runs: Runs, total: int) -> list[int]:
    """Where each run of so many tuples ends."""
    return [start for start, _, _ in runs[1:]] + [total]


def divided(runs: Runs, count: int, total: int) -> tuple[Runs, Runs]:
    """The runs of the first `count` of `total` tuples, and those of the others."""
    first = [run for run in runs if run[0] < count]
    rest = [(start - count, born, cause) for start, born, cause in runs if start >= count]
    if count < total and (not rest or rest[0][0] > 0):
        # A run is cut in two: both parts keep its cause open.
        _, born, cause = first[-1]
        cause.pending += 1
        rest.insert(0, (0, born, cause))
    return first, rest
