"""How key groups go from the process that holds them to the one that owns them."""

import asyncio
import logging
from collections.abc import Sequence

from thalweg_runtime.worker.connection import Connection
from thalweg_runtime.worker.errors import Garbage
from thalweg_runtime.worker.frames import Doc, Frame, Got, Leave, Peer, State, Want, Welcome
from thalweg_runtime.worker.holding import Holding
from thalweg_runtime.worker.ways import Ways

_TOGETHER = 64
"""Groups in one frame, unless their state is too large for that."""
_AGAIN_S = 0.3

_log = logging.getLogger(__name__)


class Call:
    """A conversation with another task of the vertex: one question at a time."""

    def __init__(self, holding: Holding) -> None:
        """What the other knows of owners is learnt on the way."""
        self._holding = holding
        self._answer: asyncio.Future[Frame] = asyncio.get_running_loop().create_future()
        self._connection: Connection | None = None

    def connected(self, connection: Connection) -> None:
        """The peer is there."""
        self._connection = connection

    def heard(self, frame: Frame) -> None:
        """Take an answer."""
        if isinstance(frame, Doc):
            self._holding.learn(frame)
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
        self, holding: Holding, ways: Ways, turn: asyncio.Lock, *, hand_over_s: float
    ) -> None:
        """`turn` is held while the task applies a batch."""
        self._holding = holding
        self._ways = ways
        self._turn = turn
        self._hand_over_s = hand_over_s
        self._one = asyncio.Lock()

    async def fetch(self) -> None:
        """Return when all groups that are owned are held."""
        while self._holding.missing:
            wanted, version = self._holding.missing, self._holding.doc.version
            asked = [self._ask(peer) for peer in self._holding.others()]
            await asyncio.gather(*asked)
            if self._holding.doc.version == version:
                self._holding.begin(wanted & self._holding.missing)

    async def give(self) -> None:
        """Return when nothing is held that somebody else owns."""
        while self._holding.to_give():
            await self.give_once()
            if self._holding.to_give():
                await asyncio.sleep(_AGAIN_S)

    async def give_once(self) -> None:
        """Try to give every group to its owner."""
        async with self._one:
            # A batch that is being applied may still write to what is to go.
            async with self._turn:
                parts = list(self._holding.to_give().values())
            for peer, groups in parts:
                await self._give(peer, groups)

    async def _ask(self, peer: Peer) -> None:
        """Have a peer give away what is not its own; one that cannot answer has nothing."""
        call = Call(self._holding)
        try:
            async with asyncio.timeout(self._hand_over_s):
                await self._greet(call, peer)
                await call.ask(Want(self._holding.edge))
        except (OSError, TimeoutError) as error:
            _log.info("%s-%d has nothing to hand over: %r", peer.name, peer.incarnation, error)
        finally:
            call.hang_up()

    async def _give(self, peer: Peer, groups: list[int]) -> None:
        self._holding.sending(groups)
        call, got = Call(self._holding), list[int]()
        try:
            async with asyncio.timeout(self._hand_over_s):
                await self._greet(call, peer)
                for first in range(0, len(groups), _TOGETHER):
                    got += await self._state(call, groups[first : first + _TOGETHER])
        except (OSError, TimeoutError) as error:
            _log.info("%s-%d takes nothing yet: %r", peer.name, peer.incarnation, error)
        finally:
            call.hang_up()
            self._holding.sent(groups, got)

    async def _state(self, call: Call, groups: Sequence[int]) -> list[int]:
        """Send the state of some groups, in smaller parts if it is too much for one frame."""
        states = {group: self._holding.held[group] for group in groups}
        try:
            answer = await call.ask(State(self._holding.edge, states))
        except Garbage:
            if len(groups) == 1:
                _log.exception("the state of key group %d is lost", groups[0])
                return list(groups)
            half = len(groups) // 2
            first = await self._state(call, groups[:half])
            return first + await self._state(call, groups[half:])
        return answer.groups if isinstance(answer, Got) else []

    async def _greet(self, call: Call, peer: Peer) -> None:
        await self._ways.open(call, peer, among_peers=True)
        if not isinstance(await call.answer(), Welcome):
            raise ConnectionError("the peer does not welcome")
        call.say(self._holding.told())
