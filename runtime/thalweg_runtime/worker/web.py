"""The process' HTTP side: /metrics, /healthz, and the knob /rate of sources."""

import asyncio
import contextlib
import json
import math
from collections.abc import Callable, Sequence
from http import HTTPStatus

from thalweg_runtime.simulated.errors import InvalidOption
from thalweg_runtime.simulated.offering import Profile, parse_profile
from thalweg_runtime.worker.exposition import Exposition
from thalweg_runtime.worker.source import Source

_TEXT = "text/plain; version=0.0.4; charset=utf-8"
_JSON = "application/json"
_MOST_BYTES = 65536
_PATIENCE_S = 10.0

Answer = tuple[HTTPStatus, str, bytes]


class Web:
    """Answers one request a connection; enough for probes, Prometheus and curl."""

    def __init__(
        self,
        exposition: Exposition,
        sources: Sequence[Source],
        *,
        is_ready: Callable[[], bool],
    ) -> None:
        """Nothing is served before `handle` is given to a server."""
        self._exposition = exposition
        self._sources = sources
        self._is_ready = is_ready

    async def handle(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read a request and answer it; who is too slow gets nothing."""
        with contextlib.suppress(OSError, TimeoutError, asyncio.IncompleteReadError, ValueError):
            async with asyncio.timeout(_PATIENCE_S):
                head = await reader.readuntil(b"\r\n\r\n")
                status, kind, body = await self._answer(head.decode("latin-1"), reader)
                said = (
                    f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: {kind}\r\n"
                    f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
                )
                writer.write(said.encode("ascii") + body)
                await writer.drain()
        writer.close()

    async def _answer(self, head: str, reader: asyncio.StreamReader) -> Answer:
        method, path, _ = head.split("\r\n", 1)[0].split(" ", 2)
        match method, path.partition("?")[0]:
            case "GET", "/metrics":
                return HTTPStatus.OK, _TEXT, self._exposition.text()
            case "GET", "/healthz":
                is_ready = self._is_ready()
                return (HTTPStatus.OK, _TEXT, b"ok\n") if is_ready else _unready()
            case "POST", "/rate":
                return self._turn(await reader.readexactly(_length(head)))
            case _:
                message = "there are GET /metrics, GET /healthz and POST /rate"
                return _said(HTTPStatus.NOT_FOUND, message)

    def _turn(self, body: bytes) -> Answer:
        """Set the rate of the sources here."""
        try:
            profile, factor = _wish(json.loads(body))
        except (ValueError, TypeError, InvalidOption, RecursionError) as error:
            return _said(HTTPStatus.BAD_REQUEST, str(error))
        if not self._sources:
            return _said(HTTPStatus.CONFLICT, "there is no source here")
        for source in self._sources:
            if profile is not None:
                source.follow(profile, factor)
            else:
                source.multiply(factor)
        return _said(HTTPStatus.OK, "done")


def _wish(request: object) -> tuple[Profile | None, float]:
    """A profile that may be left out, and a factor."""
    if not isinstance(request, dict) or not request.keys() & {"profile", "factor"}:
        raise InvalidOption('say {"profile": "1000@0,5000@60"} or {"factor": 2}')
    factor = float(request.get("factor", 1.0))
    if not 0 <= factor < math.inf:
        raise InvalidOption("factor must be at least 0")
    words = str(request.get("profile", ""))
    if words.startswith("file:"):
        raise InvalidOption("a profile in a file is for the command line only")
    return parse_profile(words) if "profile" in request else None, factor


def _length(head: str) -> int:
    for line in head.split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-length":
            length = int(value)
            if 0 <= length <= _MOST_BYTES:
                return length
    raise ValueError("no sensible Content-Length")


def _unready() -> Answer:
    return HTTPStatus.SERVICE_UNAVAILABLE, _TEXT, b"draining\n"


def _said(status: HTTPStatus, message: str) -> Answer:
    return status, _JSON, json.dumps({"message": message}).encode()
