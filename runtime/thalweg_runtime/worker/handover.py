"""How key groups go from the process that holds them to the one that owns them."""

import asyncio
import logging
from collections.abc import Callable, Sequence

from thalweg_runtime.worker.connection import Connection
from thalweg_runtime.worker.errors import Unsendable
from thalweg_runtime.worker.frames import Doc, Done, Frame, Got, Leave, Peer, Want, Welcome
from thalweg_runtime.worker.holding import Holding
from thalweg_runtime.worker.packing import pieces
from thalweg_runtime.worker.ways import Ways

_AGAIN_S = 0.3
_LOOK_S = 0.01

Learn = Callable[[Doc], object]

_log = logging.getLogger(__name__)


class Call:
    """A conversation with another task of the vertex: one question at a time."""

    def __init__(self, learn: Learn) -> None:
        """What the other knows of owners is learnt on the way."""
        self._learn = learn
        self._answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._connection: Connection | None = None

    def connected(self, connection: Connection) -> None:
        """The peer is there."""
        self._connection = connection

    def heard(self, frame: Frame) -> None:
        """Take an answer."""
        if isinstance(frame, Doc):
            self._learn(frame)
        elif not self._answer.done():
            self._answer.set_result(frame)

    def lost(self) -> None:
        """Nobody will answer any more."""
        if not self._answer.done():
            self._answer.set_exception(ConnectionError("the peer is gone"))
            # Nobody may be waiting.
            self._answer.exception()

    async def answer(self) -> Frame:
        """Wait for the next answer; OSError if none will come."""
        frame = await self._answer
        self._answer = asyncio.get_running_loop().create_future()
        if isinstance(frame, Leave):
            raise ConnectionError("the peer is not who was asked for")
        return frame

    async def ask(self, frame: Frame) -> Frame:
        """Say something and wait for the answer."""
        self.say(frame)
        return await self.answer()

    def say(self, frame: Frame) -> None:
        """Say something that needs no answer."""
        if self._connection is None:
            raise ConnectionError("not connected")
        self._connection.send(frame)

    def hang_up(self) -> None:
        """Let go of the peer."""
        if self._connection is not None:
            self._connection.close()


class HandOver:
    """Gives and fetches the groups of one holding."""

    def __init__(
        self,
        holding: Holding,
        ways: Ways,
        turn: asyncio.Lock,
        learn: Learn,
        *,
        hand_over_s: float,
    ) -> None:
        """`turn` is held while the task applies a batch."""
        self._holding = holding
        self._ways = ways
        self._turn = turn
        self._learn = learn
        self._hand_over_s = hand_over_s
        self._waiting: set[asyncio.Timeout] = set()

    async def fetch(self) -> None:
        """Return when all groups that are owned are held.

        What somebody still has is waited for as long as that one is there; it never begins anew.
        """
        while self._holding.missing:
            wanted, version = self._holding.missing, self._holding.doc.version
            kept = await self._ask_all()
            if self._holding.doc.version == version:
                self._holding.begin((wanted & self._holding.missing) - kept)
            if kept:
                await self._while_missing(_AGAIN_S)

    async def give(self) -> None:
        """Return when nothing is held that somebody else owns."""
        while self._holding.is_owing:
            await self.give_once()
            if self._holding.is_owing:
                await asyncio.sleep(_AGAIN_S)

    async def give_once(self) -> None:
        """Try to give every group to its owner, to all of them at once: one may be gone."""
        # A batch that is being applied may still write to what is to go.
        async with self._turn:
            parts = list(self._holding.to_give().values())
            for _, groups in parts:
                self._holding.sending(groups)
        await asyncio.gather(*(self._give(peer, groups) for peer, groups in parts))

    def arrived(self) -> None:
        """Something has come: whoever is asked is at it, however long it takes."""
        later_s = asyncio.get_running_loop().time() + self._hand_over_s
        for patience in self._waiting:
            if not patience.expired():
                patience.reschedule(later_s)

    async def _ask_all(self) -> set[int]:
        """Ask everybody who might have a group, until nothing is missing; return what they keep."""
        loop = asyncio.get_running_loop()
        asking = {loop.create_task(self._ask(peer)) for peer in self._holding.others()}
        kept: set[int] = set()
        try:
            while asking and self._holding.missing:
                done, asking = await asyncio.wait(
                    asking, timeout=_LOOK_S, return_when=asyncio.FIRST_COMPLETED
                )
                kept.update(*(one.result() for one in done))
        finally:
            for one in asking:
                one.cancel()
            await asyncio.gather(*asking, return_exceptions=True)
        return kept

    async def _while_missing(self, most_s: float) -> None:
        loop = asyncio.get_running_loop()
        until_s = loop.time() + most_s
        while self._holding.missing and loop.time() < until_s:
            await asyncio.sleep(_LOOK_S)

    async def _ask(self, peer: Peer) -> Sequence[int]:
        """Have a peer give away what is not its own; one that cannot answer has nothing."""
        call = Call(self._learn)
        patience = asyncio.timeout(self._hand_over_s)
        try:
            async with patience:
                self._waiting.add(patience)
                await self._greet(call, peer)
                answer = await call.ask(Want(self._holding.edge))
        except (OSError, TimeoutError) as error:
            _log.info("%s-%d has nothing to hand over: %r", peer.name, peer.incarnation, error)
            self._holding.forget(peer)
            return ()
        finally:
            self._waiting.discard(patience)
            call.hang_up()
        return answer.kept if isinstance(answer, Done) else ()

    async def _give(self, peer: Peer, groups: list[int]) -> None:
        call, got = Call(self._learn), list[int]()
        try:
            async with asyncio.timeout(self._hand_over_s) as patience:
                await self._greet(call, peer)
                states = {group: self._holding.held[group] for group in groups}
                for piece in pieces(self._holding.edge, states):
                    answer = await call.ask(piece)
                    got += _taken(answer, peer)
                    patience.reschedule(asyncio.get_running_loop().time() + self._hand_over_s)
        except (OSError, TimeoutError) as error:
            _log.info("%s-%d takes nothing yet: %r", peer.name, peer.incarnation, error)
        finally:
            call.hang_up()
            self._holding.sent(groups, got)

    async def _greet(self, call: Call, peer: Peer) -> None:
        await self._ways.open(call, peer, among_peers=True)
        if not isinstance(await call.answer(), Welcome):
            raise ConnectionError("the peer does not welcome")
        call.say(self._holding.told())


def _taken(answer: Frame, peer: Peer) -> list[int]:
    if not isinstance(answer, Got):
        raise ConnectionError("the peer does not say what it has got")
    if answer.trouble:
        raise Unsendable(f"{peer.name}-{peer.incarnation} does not take it: {answer.trouble}")
    return answer.groups
