"""Connections: over TCP between processes, by a call within one."""

import asyncio
import logging
import time
from typing import Protocol

from thalweg_runtime.worker.errors import Garbage
from thalweg_runtime.worker.frames import Frame, Ping, Pong, Splitter, encoded

PULSE_S = 1.0

_log = logging.getLogger(__name__)


class Ear(Protocol):
    """Whoever a connection speaks to."""

    def connected(self, connection: "Connection") -> None:
        """There is a peer now; called once, before anything is heard."""

    def heard(self, frame: Frame) -> None:
        """Take a frame; Garbage if it is out of place."""

    def lost(self) -> None:
        """The connection is no more; called once."""


class Connection(Protocol):
    """A way to one peer."""

    def send(self, frame: Frame) -> bytes:
        """Send it in the end, into the void once the peer is gone; return how it goes over a wire.

        Nothing does within the process.
        """

    def close(self) -> None:
        """Let go of the peer after what was sent."""


class Wire(asyncio.Protocol):
    """A TCP connection."""

    def __init__(self, ear: Ear, pulse: "Pulse", *, is_opener: bool) -> None:
        """Bring what happens to `ear`; `pulse` finds out when the peer has gone silent."""
        self.ear = ear
        self.heard_at_s = time.monotonic()
        self.is_opener = is_opener
        self._pulse = pulse
        self._splitter = Splitter()
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Be ready to send."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - asyncio gives no other
        self._transport = transport
        self._pulse.wires.add(self)
        self.ear.connected(self)

    def data_received(self, data: bytes) -> None:
        """Hand on every whole frame."""
        self.heard_at_s = time.monotonic()
        try:
            for frame in self._splitter.feed(data):
                if type(frame) is Ping:
                    self.send(Pong())
                elif type(frame) is not Pong:
                    self.ear.heard(frame)
        except Garbage as error:
            _log.warning("closing a connection: %s", error)
            self.abort()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's shape
        """Tell whoever listens."""
        self._pulse.wires.discard(self)
        self.ear.lost()

    def send(self, frame: Frame) -> bytes:
        """Write it; asyncio keeps what the socket does not take, and credit bounds that."""
        data = encoded(frame)
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(data)
        return data

    def close(self) -> None:
        """Send what is left, then close."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close without waiting for a peer that may never read again."""
        if self._transport is not None:
            self._transport.abort()


class Pulse:
    """Finds peers that have gone silent: paused, cut off, or gone without a word."""

    def __init__(self, *, dead_after_s: float) -> None:
        """A peer that says nothing for `dead_after_s` is given up."""
        self.dead_after_s = dead_after_s
        self.wires: set[Wire] = set()

    async def run(self) -> None:
        """Ask everybody once a second, for ever."""
        before_s = time.monotonic()
        while True:
            await asyncio.sleep(PULSE_S)
            now_s = time.monotonic()
            # A process that was itself paused has no right to call the others silent.
            was_paused = now_s - before_s > self.dead_after_s / 2
            before_s = now_s
            for wire in tuple(self.wires):
                if was_paused:
                    wire.heard_at_s = now_s
                elif now_s - wire.heard_at_s > self.dead_after_s:
                    _log.warning("a peer has been silent for %g s", self.dead_after_s)
                    wire.abort()
                    continue
                if wire.is_opener:
                    wire.send(Ping())


class Inside:
    """One end of a connection within the process: frames are handed over as they are."""

    def __init__(self, ear: Ear) -> None:
        """`other` is set by `inside`."""
        self.ear = ear
        self.other: Inside | None = None

    def send(self, frame: Frame) -> bytes:
        """Hand it over in the next round of the event loop, so that nobody calls himself."""
        asyncio.get_running_loop().call_soon(self._bring, frame)
        return b""

    def _bring(self, frame: Frame) -> None:
        if self.other is not None:
            self.other.ear.heard(frame)

    def close(self) -> None:
        """Let go; both ends hear of it."""
        other, self.other = self.other, None
        loop = asyncio.get_running_loop()
        if other is not None:
            loop.call_soon(other.close)
            loop.call_soon(self.ear.lost)


def inside(one: Ear, another: Ear) -> Inside:
    """Connect two within the process and return the first one's end."""
    here, there = Inside(one), Inside(another)
    here.other, there.other = there, here
    there.ear.connected(there)
    here.ear.connected(here)
    return here


async def opened(ear: Ear, address: str, port: int, pulse: Pulse) -> Wire:
    """Connect to a peer; OSError if it cannot be reached in time."""
    loop = asyncio.get_running_loop()
    connecting = loop.create_connection(lambda: Wire(ear, pulse, is_opener=True), address, port)
    try:
        async with asyncio.timeout(pulse.dead_after_s):
            _, wire = await connecting
    except TimeoutError as error:
        raise OSError(f"{address}:{port} did not answer") from error
    return wire
