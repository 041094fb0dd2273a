"""Question and answer over UDP: both are of one size, so that nobody is flooded by way of us."""

import asyncio
import secrets
import time
from dataclasses import dataclass
from typing import cast

import msgspec

_MAGIC = b"thalweg-echo-1"
_QUESTION, _ANSWER = b"?", b"!"
_TOKEN_BYTES = 8
_HEAD_BYTES = len(_MAGIC) + 1 + _TOKEN_BYTES
SIZE_BYTES = 512

Address = tuple[str, int]


class Peer(msgspec.Struct, frozen=True, array_like=True):
    """A node, as its prober calls it; `domain` is empty where it does not know."""

    node: str
    domain: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back, and after how long."""

    peer: Peer
    rtt_s: float


class Echo(asyncio.DatagramProtocol):
    """Answers every question, and asks."""

    def __init__(self, me: Peer) -> None:
        """Names that do not fit into a datagram are nobody's."""
        self._said = msgspec.msgpack.encode(me)
        if _HEAD_BYTES + len(self._said) > SIZE_BYTES:
            raise ValueError("the names of node and domain are too long")
        self._transport: asyncio.DatagramTransport | None = None
        self._waiting: dict[bytes, asyncio.Future[Answer]] = {}
        self._asked_s: dict[bytes, float] = {}

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready."""
        # Some event loops' own transports are not subclasses of the one they stand for.
        self._transport = cast("asyncio.DatagramTransport", transport)

    def datagram_received(self, data: bytes, addr: Address) -> None:
        """Answer a question; take an answer that was waited for; nothing else."""
        now_s = time.perf_counter()
        if len(data) != SIZE_BYTES or not data.startswith(_MAGIC):
            return
        token = data[len(_MAGIC) + 1 : _HEAD_BYTES]
        kind = data[len(_MAGIC) : len(_MAGIC) + 1]
        if kind == _QUESTION:
            self._send(_ANSWER, token, self._said, addr)
        elif kind == _ANSWER and token in self._waiting:
            self._take(token, data, now_s)

    def error_received(self, exc: Exception) -> None:
        """A port that is closed is a peer that does not answer."""

    async def ask(self, address: Address, *, patience_s: float) -> Answer | None:
        """How far a peer is and who it says it is; None if nothing comes back in time."""
        token = secrets.token_bytes(_TOKEN_BYTES)
        waiting: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        self._waiting[token], self._asked_s[token] = waiting, time.perf_counter()
        try:
            self._send(_QUESTION, token, b"", address)
            async with asyncio.timeout(patience_s):
                return await waiting
        except TimeoutError:
            return None
        finally:
            del self._waiting[token], self._asked_s[token]

    def close(self) -> None:
        """Answer no more."""
        if self._transport is not None:
            self._transport.close()

    def _take(self, token: bytes, data: bytes, now_s: float) -> None:
        waiting = self._waiting[token]
        body = data[_HEAD_BYTES:].rstrip(b"\0")
        try:
            peer = msgspec.msgpack.decode(body, type=Peer)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return
        if not waiting.done() and peer.node:
            waiting.set_result(Answer(peer=peer, rtt_s=now_s - self._asked_s[token]))

    def _send(self, kind: bytes, token: bytes, body: bytes, to: Address) -> None:
        if self._transport is not None:
            whole = _MAGIC + kind + token + body
            self._transport.sendto(whole.ljust(SIZE_BYTES, b"\0"), to)
