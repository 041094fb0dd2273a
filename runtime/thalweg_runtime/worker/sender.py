"""All that a task sends: its outlets, and the routes file that they follow."""

import asyncio
import logging
import time
from collections.abc import Sequence

from thalweg_runtime.worker.causes import Cause
from thalweg_runtime.worker.counters import Counters
from thalweg_runtime.worker.errors import InvalidRoutes
from thalweg_runtime.worker.frames import Position, Record
from thalweg_runtime.worker.link import Link
from thalweg_runtime.worker.outlet import Outlet
from thalweg_runtime.worker.routes import NO_ROUTES, Routes, RoutesFile, parse_routes
from thalweg_runtime.worker.settings import Limits, TaskIdentity
from thalweg_runtime.worker.ways import Ways
from thalweg_scheduling.group import Origin

_LOOK_S = 0.2
_BALANCE_S = 1.0

_log = logging.getLogger(__name__)

_RECORDS = {dict}

Emitted = Record | tuple[str, Record]
"""A record goes along every edge; a pair names the vertex that it is for."""


class Sender:
    """Sends along all out-edges of one task."""

    def __init__(
        self, me: TaskIdentity, counters: Counters, *, ways: Ways, limits: Limits, origin: Origin
    ) -> None:
        """`run` reads the routes."""
        self.routes: Routes = NO_ROUTES
        self.is_sink = me.routes is None
        self.room = asyncio.Event()
        self.outlets: dict[str, Outlet] = {}
        self._every: tuple[Outlet, ...] = ()
        self._ended: list[Outlet] = []
        self.counters = counters
        self._ways = ways
        self._limits = limits
        self._origin = origin
        self._file = RoutesFile(me.routes) if me.routes else None
        self._flushed_s = time.monotonic()

    @property
    def is_full(self) -> bool:
        """Whether the task should wait; without routes it waits for the first."""
        if self.is_sink:
            return False
        return self.routes is NO_ROUTES or any(outlet.is_full for outlet in self._every)

    @property
    def is_empty(self) -> bool:
        """Whether everything has been acknowledged."""
        return all(outlet.is_empty for outlet in (*self._every, *self._ended))

    @property
    def position(self) -> int:
        """The furthest that receivers know of the source that this sends for."""
        return max((outlet.position for outlet in self._every), default=0)

    @property
    def is_connected(self) -> bool:
        """Whether all receivers are there."""
        links = [link for outlet in self._every for link in outlet.links.values()]
        return bool(links) and all(link.is_up for link in links)

    @property
    def is_alone(self) -> bool:
        """Whether no receiver is there."""
        return not any(link.is_up for outlet in self._every for link in outlet.links.values())

    @property
    def is_among_its_own(self) -> bool:
        """Whether there are receivers elsewhere, of which none is there yet."""
        outside = self._outside
        return bool(outside) and not any(link.is_up for link in outside)

    @property
    def is_known_elsewhere(self) -> bool:
        """Whether a receiver that stays when this process goes hears how far the source came."""
        return any(link.is_up and not link.is_leaving for link in self._outside)

    @property
    def is_early(self) -> bool:
        """Whether a receiver still has to do with the pod before this one."""
        return any(link.is_early for outlet in self._every for link in outlet.links.values())

    def tell(self, acknowledged: int) -> None:
        """Let the receivers keep how far the source has come."""
        for outlet in self._every:
            outlet.tell(Position(acknowledged))

    def emit(self, emitted: Emitted, born: float, cause: Cause) -> None:
        """Send a record along every edge, or along the one that it is for."""
        if type(emitted) is tuple:
            vertex, record = emitted
            if vertex in self.outlets:
                self.outlets[vertex].put([record], born, cause)
            return
        if self._every and not isinstance(emitted, dict):
            raise TypeError(f"a record is a dict, not {type(emitted).__name__}: {emitted!r:.80}")
        for outlet in self._every:
            outlet.put([emitted], born, cause)  # type: ignore[list-item]

    def emit_many(self, made: Sequence[Emitted], born: float, cause: Cause) -> None:
        """Send all that came of tuples that were born together."""
        if set(map(type, made)) != _RECORDS:
            for one in made:
                self.emit(one, born, cause)
            return
        for outlet in self._every:
            outlet.put(made, born, cause)  # type: ignore[arg-type]

    def flush(self) -> None:
        """Send what waits for company."""
        for outlet in self._every:
            outlet.flush()
        self._flushed_s = time.monotonic()

    def flush_if_due(self) -> None:
        """Send what has waited for company long enough."""
        if time.monotonic() - self._flushed_s >= self._limits.linger_s:
            self.flush()

    async def has_room(self) -> None:
        """Wait until something can be sent, and count that time."""
        while True:
            self.room.clear()
            self.flush()
            if not self.is_full:
                break
            await self.counters.backpressured(self.room)

    async def run(self) -> None:
        """Follow the routes file for ever."""
        balanced_s = time.monotonic()
        while self._file is not None:
            text = self._file.changed()
            if text is not None:
                self._read(text)
            if time.monotonic() - balanced_s > _BALANCE_S:
                balanced_s = time.monotonic()
                for outlet in self._every:
                    outlet.balance()
            await asyncio.sleep(_LOOK_S)

    def route(self, routes: Routes) -> None:
        """Send by these routes from now on."""
        for edge in routes.edges:
            outlet = self.outlets.get(edge.to)
            if outlet is None:
                outlet = self.outlets[edge.to] = Outlet(
                    edge,
                    self.counters,
                    ways=self._ways,
                    limits=self._limits,
                    origin=self._origin,
                    room=self.room,
                )
            outlet.is_shared = len(routes.edges) > 1
            outlet.route(edge, routes.version)
        gone = self.outlets.keys() - {edge.to for edge in routes.edges}
        self._ended = [one for one in self._ended if not one.is_over]
        for to in gone:
            self._ended.append(self.outlets.pop(to))
            self._ended[-1].end()
        self.routes = routes
        self._every = tuple(self.outlets.values())
        self.room.set()

    async def close(self) -> None:
        """Let go of all receivers."""
        for outlet in (*self._every, *self._ended):
            await outlet.close()

    @property
    def _outside(self) -> list[Link]:
        links = (link for outlet in self._every for link in outlet.links.values())
        return [link for link in links if not link.is_inside]

    def _read(self, text: str) -> None:
        try:
            routes = parse_routes(text)
        except InvalidRoutes as error:
            _log.error("the routes before stay in force: %s", error)
            return
        if routes.version != self.routes.version or self.routes is NO_ROUTES:
            _log.info("routes version %d", routes.version)
            self.route(routes)
