"""One question to a server: over in time, bounded in size, whatever the server does.

The client library's own time-outs are for one packet: a server that sends a byte every second is
never late. And what Retry-After says is how long a server would like us to wait, not how long we
may.
"""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import requests
import urllib3
from requests.adapters import HTTPAdapter

MOST_SAID = 400
"""Characters of a message: it goes into logs, conditions and the store."""
_CONNECT_S = 3.05
_BUSY = frozenset({408, 429, 500, 502, 503, 504})
_TRIES_WHILE_BUSY = 4
_TRIES_WHEN_BROKEN = 2
_FIRST_PAUSE_S = 0.1
_MOST_BYTES_OF_AN_ERROR = 64 * 2**10
BROKEN = (requests.RequestException, urllib3.exceptions.HTTPError, OSError)
"""A file with certificates that is not there is an OSError."""


class TooLarge(requests.RequestException):
    """An answer that would be as large the next time."""


class BoundedSession(requests.Session):
    """Answers within `timeout_s` each, tries included, and all of them within `run_timeout_s`."""

    def __init__(self, *, timeout_s: float, run_timeout_s: float, most_bytes: int) -> None:
        """Begin a run; nothing is sent yet."""
        super().__init__()
        self._timeout_s = timeout_s
        self._run_timeout_s = run_timeout_s
        self._run_ends_s = time.monotonic() + run_timeout_s
        self._most_bytes = most_bytes
        self._line = _Line()
        self._chance = np.random.default_rng()
        for scheme in ("http://", "https://"):
            self.bind(scheme)

    def bind(self, url: str) -> None:
        """Ask whatever begins so through connections that can be cut."""
        self.mount(url, _CuttableAdapter(self._line))

    def read(self, *args: Any, **kwargs: Any) -> tuple[requests.Response, bytearray]:  # noqa: ANN401
        """The answer and its body; what may pass is tried again while there is time."""
        limit_s = min(kwargs.pop("timeout", None) or self._timeout_s, self._left_s())
        if limit_s <= 0:
            raise requests.Timeout(
                f"not asked: the {self._run_timeout_s:g} s that all queries may take are over"
            )
        ends_s = time.monotonic() + limit_s
        with self._line.cut_after(limit_s):
            try:
                return self._tried(ends_s, *args, **kwargs)
            except BROKEN as error:
                if time.monotonic() < ends_s and not self._line.is_cut:
                    raise
                said = f"timed out: no whole answer within {limit_s:.3g} s"
                raise requests.Timeout(said) from error

    def _left_s(self) -> float:
        return self._run_ends_s - time.monotonic()

    def _tried(
        self,
        ends_s: float,
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> tuple[requests.Response, bytearray]:
        for number in range(1, _TRIES_WHILE_BUSY):
            try:
                found = self._once(ends_s, *args, **kwargs)
            except BROKEN as error:
                if isinstance(error, TooLarge) or number >= _TRIES_WHEN_BROKEN:
                    raise
            else:
                if found[0].status_code not in _BUSY:
                    return found
            time.sleep(max(0.0, min(ends_s - time.monotonic(), pause_s(number, self._chance))))
            if time.monotonic() >= ends_s:
                raise requests.Timeout("the time is over")
        return self._once(ends_s, *args, **kwargs)

    def _once(
        self,
        ends_s: float,
        *args: Any,  # noqa: ANN401
        **kwargs: Any,  # noqa: ANN401
    ) -> tuple[requests.Response, bytearray]:
        left_s = max(1e-3, ends_s - time.monotonic())
        kwargs |= {"stream": True, "timeout": (min(_CONNECT_S, left_s), left_s)}
        response = super().request(*args, **kwargs)
        is_answer = response.status_code == requests.codes.ok
        most = self._most_bytes if is_answer else _MOST_BYTES_OF_AN_ERROR
        body = bytearray()
        for piece in response.iter_content(2**16):
            body += piece
            if len(body) > most:
                response.close()
                break
        if self._line.is_cut:
            raise requests.Timeout("the answer did not end")
        if is_answer and len(body) > most:
            raise TooLarge(f"the answer is larger than {most} B")
        return response, body[:most]


def pause_s(number: int, chance: np.random.Generator) -> float:
    """How long to wait after so many tries; of many askers no two come back at once."""
    return float(_FIRST_PAUSE_S * 2 ** (number - 1) * chance.uniform(1.0, 2.0))


class _Line:
    """The connection in use, so that another thread can cut it."""

    def __init__(self) -> None:
        self._socket: socket.socket | None = None
        self._is_cut = threading.Event()

    @property
    def is_cut(self) -> bool:
        """Whether the time was over before the answer was."""
        return self._is_cut.is_set()

    def use(self, connected: socket.socket | None) -> None:
        """Read from this one from now on."""
        self._socket = connected
        if self.is_cut:
            self._cut(self._is_cut)

    def _cut(self, over: threading.Event) -> None:
        """End whatever is being read, unless it is the next answer already."""
        over.set()
        if self._socket is not None and over is self._is_cut:
            try:
                # The plain socket's: TLS would first forget its state, which the reader is using.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
            except OSError:
                self._socket = None

    @contextmanager
    def cut_after(self, seconds: float) -> Iterator[None]:
        """Cut it unless what is inside is over by then."""
        self._is_cut = threading.Event()
        timer = threading.Timer(seconds, self._cut, (self._is_cut,))
        timer.daemon = True
        timer.start()
        try:
            yield
        finally:
            timer.cancel()


class _CuttableAdapter(HTTPAdapter):
    """Tells of each connection that it makes."""

    def __init__(self, line: _Line) -> None:
        self._line = line
        super().__init__()

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        super().init_poolmanager(*args, **kwargs)
        self._tell_of(self.poolmanager)

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        manager = super().proxy_manager_for(*args, **kwargs)
        self._tell_of(manager)
        return manager

    def _tell_of(self, manager: Any) -> None:  # noqa: ANN401
        manager.pool_classes_by_scheme = {
            "http": _telling(urllib3.HTTPConnectionPool, self._line.use),
            "https": _telling(urllib3.HTTPSConnectionPool, self._line.use),
        }


def _telling(kind: type[Any], tell: Callable[[socket.socket | None], None]) -> type[Any]:
    """A pool of connections that each tell of their socket when it is there."""

    def connection(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        made = kind.ConnectionCls(*args, **kwargs)
        connect = made.connect

        def connect_and_tell() -> None:
            connect()
            tell(made.sock)

        made.connect = connect_and_tell
        return made

    return type(kind.__name__, (kind,), {"ConnectionCls": staticmethod(connection)})
