"""The prober's round: find out who is there, choose, ask, keep what came back."""

import asyncio
import logging
import socket
import time
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field

from thalweg_runtime.prober.choosing import Sampling, chosen
from thalweg_runtime.prober.echo import Echo, Peer
from thalweg_runtime.prober.measuring import RoundTrips

_log = logging.getLogger(__name__)

Resolve = Callable[[], Awaitable[list[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rhythm:
    """How often what is asked."""

    round_s: float = 5.0
    probes: int = 5
    """Questions to each node in a round."""
    introductions: int = 32
    """Addresses in a round of which nobody knows yet whose they are."""
    patience_s: float = 1.0
    addresses_a_round: int = 64
    """The name service's answer has everybody's: it is asked the seldomer the more there are."""


@dataclass(kw_only=True)
class Prober:
    """Asks the others, round after round."""

    me: Peer
    echo: Echo
    port: int
    resolve: Resolve
    sampling: Sampling = field(default_factory=Sampling)
    rhythm: Rhythm = field(default_factory=Rhythm)
    trips: RoundTrips = field(default_factory=RoundTrips)
    _known: dict[str, Peer] = field(default_factory=dict)
    """Address to whoever answered there."""
    _unanswered: dict[str, int] = field(default_factory=dict)
    _addresses: list[str] = field(default_factory=list)
    _rest_rounds: int = 0
    """So many until the name is looked up again."""

    async def run(self) -> None:
        """Probe for ever."""
        while True:
            began_s = time.monotonic()
            await self.round()
            await asyncio.sleep(max(0.0, self.rhythm.round_s - (time.monotonic() - began_s)))

    async def round(self) -> None:
        """One round: addresses, introductions, probes."""
        await self._look_up()
        strangers = sorted(set(self._addresses) - self._known.keys(), key=self._patience)
        asked = strangers[: self.rhythm.introductions]
        await asyncio.gather(*(self._probe(address) for address in asked))
        wanted = {peer.node for peer in chosen(self.me, self._known.values(), self.sampling)}
        targets = [at for at, peer in self._known.items() if peer.node in wanted]
        await asyncio.gather(*(self._measure(address) for address in targets))

    async def _look_up(self) -> None:
        """Find out which addresses there are, if it is time to."""
        self._rest_rounds -= 1
        if self._rest_rounds > 0:
            return
        addresses = await self.resolve()
        # A name service that fails for a moment must not make everybody unknown.
        if addresses:
            there = set(addresses)
            self._addresses = addresses
            self._known = {at: peer for at, peer in self._known.items() if at in there}
            self._unanswered = {at: n for at, n in self._unanswered.items() if at in there}
            self._rest_rounds = -(-len(addresses) // self.rhythm.addresses_a_round)

    def _patience(self, address: str) -> tuple[int, str]:
        """Those that were asked in vain least often come first."""
        return self._unanswered.get(address, 0), address

    async def _measure(self, address: str) -> None:
        for _ in range(self.rhythm.probes):
            rtt_s = await self._probe(address)
            if rtt_s is None:
                return
            self.trips.add(self._known[address].node, rtt_s, time.monotonic())

    async def _probe(self, address: str) -> float | None:
        """Ask once; whoever is silent is a stranger again."""
        answer = await self.echo.ask((address, self.port), patience_s=self.rhythm.patience_s)
        if answer is None:
            self._known.pop(address, None)
            self._unanswered[address] = self._unanswered.get(address, 0) + 1
            return None
        self._known[address] = answer.peer
        self._unanswered.pop(address, None)
        return answer.rtt_s


def by_name(name: str, port: int) -> Resolve:
    """Find addresses by the name of a headless service; none while it cannot be looked up."""

    async def found() -> list[str]:
        loop = asyncio.get_running_loop()
        try:
            rows = await loop.getaddrinfo(name, port, type=socket.SOCK_DGRAM)
        except OSError as error:
            _log.warning("%s cannot be looked up: %s", name, error)
            return []
        return sorted({str(row[4][0]) for row in rows})

    return found


def by_list(addresses: Iterator[str]) -> Resolve:
    """These addresses, always."""
    listed = list(addresses)

    async def found() -> list[str]:
        return listed

    return found
