"""How a source goes on where the pod before it has ended.

Receivers keep a source's position, but those in its own process go with it. So the pods that had
the source before are asked, and one whose position nobody else keeps stays until it was asked.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import Protocol

from thalweg_runtime.worker.connection import Connection
from thalweg_runtime.worker.frames import Frame, Leave, Peer, Welcome
from thalweg_runtime.worker.ways import Ways

_REACH_S = 5.0
"""A pod before this one that cannot be reached for so long is gone."""
_AGAIN_S = 0.2

_log = logging.getLogger(__name__)


class Heir(Protocol):
    """A later pod of the same source, that has asked."""

    def inherit(self, position: int, *, is_last_word: bool) -> None:
        """Say how far the source has come, and whether it has ended there."""


class Succession:
    """What a source hears from the pods before it, and tells the one after it."""

    def __init__(self, ways: Ways, before: Sequence[Peer] = ()) -> None:
        """Nobody else is spoken to before those have answered."""
        self.is_followed = False
        """Whether the next pod knows where this one has ended."""
        self._ways = ways
        self._before = tuple(before)
        self._heirs: set[Heir] = set()
        self._ended_at: int | None = None
        if before:
            # A receiver that had met this pod would listen to the one before no longer.
            ways.gate.clear()

    async def heard(self) -> int:
        """Wait until all pods before this one have ended or are gone; how far they came."""
        positions = await asyncio.gather(*(self._asked(peer) for peer in self._before))
        self._ways.gate.set()
        return max(positions, default=0)

    def asked_by(self, heir: Heir, position: int) -> None:
        """Answer the next pod now, and once more at the end."""
        self._heirs.add(heir)
        if self._ended_at is None:
            heir.inherit(position, is_last_word=False)
        else:
            self._pass_on(heir, self._ended_at)

    def forget(self, heir: Heir) -> None:
        """The next pod has let go."""
        self._heirs.discard(heir)

    def end(self, position: int) -> None:
        """Nothing will be made any more: the next pod may begin here."""
        if self._ended_at is None:
            self._ended_at = position
            self._ways.gate.clear()
            for heir in tuple(self._heirs):
                self._pass_on(heir, position)

    def _pass_on(self, heir: Heir, position: int) -> None:
        heir.inherit(position, is_last_word=True)
        self.is_followed = True

    async def _asked(self, peer: Peer) -> int:
        question = _Question()
        try:
            async with asyncio.timeout(_REACH_S):
                await self._reached(question, peer)
        except (OSError, TimeoutError) as error:
            _log.info("%s-%d is gone: %r", peer.name, peer.incarnation, error)
            return 0
        try:
            await question.answered.wait()
        finally:
            question.hang_up()
        return question.position

    async def _reached(self, question: "_Question", peer: Peer) -> None:
        """A pod that has just come up may not have its network yet; a refusal is an answer."""
        while True:
            try:
                await self._ways.open(question, peer, among_peers=True)
            except ConnectionRefusedError:
                raise
            except OSError:
                await asyncio.sleep(_AGAIN_S)
            else:
                return


class _Question:
    """What one of the pods before says."""

    def __init__(self) -> None:
        self.position = 0
        self.answered = asyncio.Event()
        self._connection: Connection | None = None

    def connected(self, connection: Connection) -> None:
        self._connection = connection

    def heard(self, frame: Frame) -> None:
        if isinstance(frame, Welcome):
            self.position = max(self.position, frame.position)
        if isinstance(frame, Leave) or (isinstance(frame, Welcome) and frame.credit_tuples):
            self.answered.set()

    def lost(self) -> None:
        self.answered.set()

    def hang_up(self) -> None:
        if self._connection is not None:
            self._connection.close()
