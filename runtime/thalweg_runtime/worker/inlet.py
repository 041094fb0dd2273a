"""The receiving end: one session for each task that sends here, or that hands groups over."""

import asyncio
from dataclasses import dataclass
from typing import Any, Protocol

from thalweg_runtime.worker.connection import Connection
from thalweg_runtime.worker.errors import Garbage
from thalweg_runtime.worker.frames import (
    PROTOCOL,
    Ack,
    Batch,
    Doc,
    Done,
    Frame,
    Got,
    Hello,
    Leave,
    Position,
    Refuse,
    State,
    Want,
    Welcome,
)
from thalweg_runtime.worker.packing import Unpacking


@dataclass(slots=True)
class Known:
    """What is known of a task that sends here, whichever of its pods said it."""

    incarnation: int
    position: int = 0


class Host(Protocol):
    """A task that can be sent to."""

    credit_tuples: int
    is_leaving: bool
    sessions: set["Session"]
    senders: dict[str, Known]

    def arrive(self, session: "Session", batch: Batch) -> None:
        """Take a batch in hand."""

    def learn(self, doc: Doc) -> None:
        """Take in who owns what."""

    def current(self, edge: str) -> Doc:
        """What is known of who owns what."""

    async def give_away(self, edge: str) -> list[int]:
        """Give what is not one's own to whoever owns it; return what could not be given."""

    def take(self, edge: str, states: dict[int, dict[Any, Any]]) -> list[int]:
        """Take groups over; return those that are one's own."""


class Forerunner(Protocol):
    """A source that a later pod of it asks how far it has come."""

    def asked_by(self, heir: "Session") -> None:
        """Tell it now, and once more at the end."""

    def forget(self, heir: "Session") -> None:
        """It has let go."""


class Process(Protocol):
    """Whoever knows the tasks of this process."""

    namespace: str
    topology: str

    def host(self, task: str, incarnation: int) -> Host | None:
        """The task, if this is the process of that incarnation."""

    def source(self, task: str, incarnation: int) -> Forerunner | None:
        """The source, if this is the process of that incarnation."""

    def spawn(self, doing: "asyncio.Future[None]") -> None:
        """Keep a reference until it is done."""


class Session:
    """What one peer says."""

    def __init__(self, process: Process, *, is_inside: bool = False) -> None:
        """Nobody has said Hello yet. A peer that `is_inside` this process goes when it goes."""
        self._connection: Connection | None = None
        self.edge = ""
        self.source: tuple[str, int] | None = None
        """The task and the incarnation, if a source is the peer."""
        self._process = process
        self._host: Host | None = None
        self._forerunner: Forerunner | None = None
        self.is_inside = is_inside
        self._known = Known(0)
        self._in_hand: dict[int, int] = {}
        self._tuples = 0
        self._done: list[int] = []
        self._unpacking = Unpacking()

    def connected(self, connection: Connection) -> None:
        """Somebody has connected."""
        self._connection = connection

    def heard(self, frame: Frame) -> None:
        """Take a frame; the first must be Hello."""
        if self._host is None:
            self._greet(frame)
            return
        match frame:
            case Batch():
                self._arrived(self._host, frame)
            case Doc():
                self._host.learn(frame)
            case Position():
                self._known.position = max(self._known.position, frame.acknowledged)
            case Want():
                answering = self._answer_want(self._host, frame)
                self._process.spawn(asyncio.ensure_future(answering))
            case State():
                self._say(self._taken(self._host, frame))
            case _:
                raise Garbage(f"a sender does not say {type(frame).__name__}")

    def lost(self) -> None:
        """The peer is gone; what it sent and is in hand goes on, though nobody will hear of it."""
        self._connection = None
        if self._forerunner is not None:
            self._forerunner.forget(self)
        if self._host is not None:
            self._host.sessions.discard(self)
            for one in tuple(self._host.sessions):
                if self.is_before(one):
                    one.welcome()

    def acknowledge(self, number: int) -> None:
        """Tell the sender that a batch is done; together with others of this round."""
        self._tuples -= self._in_hand.pop(number, 0)
        if not self._done:
            asyncio.get_running_loop().call_soon(self._tell)
        self._done.append(number)

    def refuse(self, number: int, *, is_leaving: bool) -> None:
        """Leave a batch to the sender."""
        self._tuples -= self._in_hand.pop(number, 0)
        self._say(Refuse(number, is_leaving))

    def leave(self) -> None:
        """Tell the sender to send nothing more.

        One in the same process leaves too: what it has in hand is in this process' hands.
        """
        if not self.is_inside:
            self._say(Leave())

    def inherit(self, position: int, *, is_last_word: bool) -> None:
        """Tell the next pod of a source how far this one has come; without credit it waits."""
        self._say(Welcome(1 if is_last_word else 0, position))

    def _greet(self, frame: Frame) -> None:
        if not isinstance(frame, Hello) or frame.protocol != PROTOCOL:
            raise Garbage("a connection begins with Hello")
        host = None
        process = self._process
        if (frame.namespace, frame.topology) == (process.namespace, process.topology):
            host = self._process.host(frame.to_task, frame.to_incarnation)
            if self._is_heir(frame):
                return
        if host is None or not self._is_current(host, frame):
            self._say(Leave())
            if self._connection is not None:
                self._connection.close()
            return
        self._host = host
        self.edge = frame.vertex
        if frame.is_source:
            self.source = frame.task, frame.incarnation
        host.sessions.add(self)
        self.welcome()

    def _is_heir(self, frame: Hello) -> bool:
        """Whether a later pod of a source of this process asks, and is answered."""
        if frame.vertex or frame.task != frame.to_task:
            return False
        self._forerunner = self._process.source(frame.to_task, frame.to_incarnation)
        if self._forerunner is not None:
            self._forerunner.asked_by(self)
        return self._forerunner is not None

    def welcome(self) -> None:
        """Say how much is taken: of two pods of one source, only of the older.

        Both would make the same tuples; the younger goes on where the older has ended.
        """
        if self._host is None:
            return
        is_early = any(one.is_before(self) for one in self._host.sessions)
        credit = 0 if is_early else max(1, self._host.credit_tuples)
        self._say(Welcome(credit, self._known.position))
        if self._host.is_leaving and self.edge:
            self.leave()

    def is_before(self, other: "Session") -> bool:
        """Whether this is an older pod of the same source."""
        if self.source is None or other.source is None:
            return False
        return self.source[0] == other.source[0] and self.source[1] < other.source[1]

    def _is_current(self, host: Host, frame: Hello) -> bool:
        """Whether no later pod of the sending task has been here; one that leaves may finish."""
        if not frame.vertex:
            return True
        self._known = host.senders.setdefault(frame.task, Known(frame.incarnation))
        if frame.incarnation < self._known.incarnation:
            return frame.is_leaving
        self._known.incarnation = frame.incarnation
        return True

    def _arrived(self, host: Host, batch: Batch) -> None:
        count = len(batch.records)
        lengths = [length for length, _ in batch.born]
        # A length below nought would let the sum be right where the runs are not.
        if (
            sum(lengths) != count
            or min(lengths, default=0) < 0
            or len(batch.groups) not in (0, count)
        ):
            raise Garbage("a batch whose columns differ in length")
        if self._tuples + count > host.credit_tuples or batch.number in self._in_hand:
            raise Garbage("more than was credited")
        self._in_hand[batch.number] = count
        self._tuples += count
        if host.is_leaving and not self.is_inside:
            self.refuse(batch.number, is_leaving=True)
        else:
            host.arrive(self, batch)

    async def _answer_want(self, host: Host, frame: Want) -> None:
        kept = await host.give_away(frame.edge)
        # Whoever asks may not know yet that somebody else owns these.
        self._say(host.current(frame.edge))
        self._say(Done(kept))

    def _taken(self, host: Host, frame: State) -> Got:
        try:
            states = self._unpacking.feed(frame)
        except Garbage as error:
            return Got([], str(error))
        got = host.take(frame.edge, states)
        if len(got) < len(states):
            self._say(host.current(frame.edge))
        return Got(got, "")

    def _tell(self) -> None:
        done, self._done = self._done, []
        self._say(Ack(done))

    def _say(self, frame: Frame) -> None:
        if self._connection is not None:
            self._connection.send(frame)
