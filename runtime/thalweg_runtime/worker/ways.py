"""How a task reaches another: over TCP, or by a call if it is in the same process."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from thalweg_runtime.worker.connection import Connection, Ear, Pulse, inside, opened
from thalweg_runtime.worker.failure import Failure
from thalweg_runtime.worker.frames import PROTOCOL, Hello, Peer


def _open_gate() -> asyncio.Event:
    gate = asyncio.Event()
    gate.set()
    return gate


@dataclass(kw_only=True)
class Ways:
    """The ways out of one task."""

    namespace: str = ""
    topology: str
    vertex: str
    task: str
    incarnation: int
    port: int
    pulse: Pulse
    seed: int = 0
    """So that tasks do not all begin with the same receiver."""
    siblings: int = 1
    """Tasks of the vertex in this process, this one included."""
    neighbours: dict[tuple[str, int], Callable[[], Ear]] = field(default_factory=dict)
    """Tasks of this process, with what makes somebody there to listen."""
    failure: Failure = field(default_factory=Failure)
    is_leaving: bool = False
    is_source: bool = False
    gate: asyncio.Event = field(default_factory=_open_gate)
    """Whether receivers are greeted; a source waits for the pod before it."""

    async def open(self, ear: Ear, peer: Peer, *, among_peers: bool = False) -> None:
        """Connect and say Hello; OSError if the peer cannot be reached."""
        if not among_peers:
            await self.gate.wait()
        connection: Connection
        neighbour = self.neighbours.get((peer.name, peer.incarnation))
        if neighbour is not None:
            connection = inside(ear, neighbour())
        else:
            connection = await opened(ear, peer.address, self.port, self.pulse)
        connection.send(
            Hello(
                protocol=PROTOCOL,
                namespace=self.namespace,
                topology=self.topology,
                vertex="" if among_peers else self.vertex,
                task=self.task,
                incarnation=self.incarnation,
                to_task=peer.name,
                to_incarnation=peer.incarnation,
                is_leaving=self.is_leaving,
                is_source=self.is_source,
            )
        )
