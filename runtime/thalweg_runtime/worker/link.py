"""A link: what one task sends to one receiver, until it is acknowledged."""

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.connection import Connection
from thalweg_runtime.worker.counters import Traffic
from thalweg_runtime.worker.errors import Garbage
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
)
from thalweg_runtime.worker.routes import Target
from thalweg_runtime.worker.settings import Limits
from thalweg_runtime.worker.ways import Ways

FULL_TUPLES = 1024
"""So many that wait for one receiver stop the task."""

_SOONEST_S = 0.05
_LATEST_S = 1.0

Runs = list[tuple[int, Cause]]
"""Where a run of tuples of one cause begins."""


@dataclass(slots=True, kw_only=True)
class Parcel:
    """Tuples together, with the causes of each run of them."""

    batch: Batch
    runs: Runs
    was_sent: bool = False

    def entries(self) -> Iterator[tuple[Record, float, Cause]]:
        """Each record with the time it was born and its cause."""
        ends = [start for start, _ in self.runs[1:]] + [len(self.batch.records)]
        for (start, cause), end in zip(self.runs, ends, strict=True):
            for place in range(start, end):
                yield self.batch.records[place], self.batch.born[place], cause

    def release(self) -> None:
        """Keep the causes open no longer."""
        for _, cause in self.runs:
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
        self.outstanding = 0
        self.credit_tuples = 0
        self._edge = edge
        self._traffic = traffic
        self._ways = ways
        self._limits = limits
        self._batch_tuples = limits.batch_tuples
        self._records: list[Record] = []
        self._born: list[float] = []
        self._groups: list[int] = []
        self._runs: Runs = []
        self._cause: Cause | None = None
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
    def load(self) -> float:
        """How much of its credit is used, from 0 to 1."""
        return min(1.0, (self.outstanding + len(self._records)) / max(1, self.credit_tuples))

    @property
    def is_empty(self) -> bool:
        """Whether nothing waits here, neither for credit nor for an answer."""
        return not self._records and not self._unacked

    def put(self, record: Record, born: float, group: int, cause: Cause) -> None:
        """Take a tuple; group is below 0 where the grouping has none."""
        if cause is not self._cause:
            cause.pending += 1
            self._runs.append((len(self._records), cause))
            self._cause = cause
        self._records.append(record)
        self._born.append(born)
        if group >= 0:
            self._groups.append(group)
        if not len(self._records) % self._batch_tuples:
            self.flush()

    def flush(self) -> None:
        """Send as much as the credit allows."""
        connection = self._connection
        while self._records:
            spare = self.credit_tuples - self.outstanding
            if connection is None or not self.is_up or self.is_leaving or spare <= 0:
                break
            self._send(connection, self._cut(min(spare, self._limits.batch_tuples)))
        if len(self._records) >= FULL_TUPLES:
            self._edge.full.add(self)
        elif self in self._edge.full:
            self._edge.full.discard(self)
            self._edge.has_room()

    def take_unsent(self) -> list[Parcel]:
        """Give up what has not been sent."""
        parcels = [self._cut(len(self._records))] if self._records else []
        self._edge.full.discard(self)
        return parcels

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
        self.outstanding -= len(parcel.batch.records)
        return parcel

    def _close_if_done(self) -> None:
        if self.is_retired and self.is_empty and self._connection is not None:
            self._connection.close()

    def _send(self, connection: Connection, parcel: Parcel) -> None:
        count = len(parcel.batch.records)
        try:
            sent_bytes = connection.send(parcel.batch)
        except Garbage:
            if count == 1:
                raise
            for half in self._halved(parcel):
                self._send(connection, half)
            return
        parcel.was_sent = True
        self._unacked[parcel.batch.number] = parcel
        self.outstanding += count
        # What is sent again was counted when it was sent first: an edge's rate is what is made.
        again = min(count, self._edge.repeats)
        self._edge.repeats -= again
        self._traffic.tuples += count - again
        self._traffic.sent_bytes += sent_bytes

    def _cut(self, count: int) -> Parcel:
        """Take the first so many out of the buffer."""
        runs, self._runs = divided(self._runs, count, len(self._records))
        self._cause = self._runs[-1][1] if self._runs else None
        batch = self._numbered(self._born[:count], self._groups[:count], self._records[:count])
        del self._records[:count], self._born[:count], self._groups[:count]
        return Parcel(batch=batch, runs=runs)

    def _halved(self, parcel: Parcel) -> tuple[Parcel, Parcel]:
        whole = parcel.batch
        half = len(whole.records) // 2
        runs, rest = divided(parcel.runs, half, len(whole.records))
        one = self._numbered(whole.born[:half], whole.groups[:half], whole.records[:half])
        other = self._numbered(whole.born[half:], whole.groups[half:], whole.records[half:])
        return Parcel(batch=one, runs=runs), Parcel(batch=other, runs=rest)

    def _numbered(self, born: list[float], groups: list[int], records: list[Record]) -> Batch:
        self._number += 1
        return Batch(self._number, born, groups, records)


def divided(runs: Runs, count: int, total: int) -> tuple[Runs, Runs]:
    """The runs of the first `count` of `total` tuples, and those of the others."""
    first = [run for run in runs if run[0] < count]
    rest = [(start - count, cause) for start, cause in runs if start >= count]
    if count < total and (not rest or rest[0][0] > 0):
        # A run is cut in two: both parts keep its cause open.
        cause = first[-1][1]
        cause.pending += 1
        rest.insert(0, (0, cause))
    return first, rest
