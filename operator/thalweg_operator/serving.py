"""Probes and metrics over HTTP, in threads of their own so that a stuck loop is seen as stuck."""

import logging
import socket
import socketserver
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from thalweg_operator.settings import ServingSettings

log = logging.getLogger(__name__)
_CLIENT_TIMEOUT_S = 10.0
_TEXT = "text/plain; version=0.0.4; charset=utf-8"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a path gives."""

    is_ok: bool = True
    body: bytes


Page = Callable[[], Answer]


class Server:
    """Serves pages by their paths from entering to leaving; `port` is the one really taken."""

    def __init__(self, settings: ServingSettings, pages: Mapping[str, Page]) -> None:
        self._http = _listen(settings, pages)
        self._thread = threading.Thread(
            target=self._http.serve_forever, name="serving", daemon=True, args=(0.2,)
        )

    @property
    def port(self) -> int:
        """The TCP port that is listened on."""
        return self._http.server_port

    def __enter__(self) -> "Server":
        self._thread.start()
        log.info("probes and metrics are at port %d", self.port)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _listen(settings: ServingSettings, pages: Mapping[str, Page]) -> ThreadingHTTPServer:
    class Listener(ThreadingHTTPServer):
        address_family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
        daemon_threads = True

        def server_bind(self) -> None:
            """Bind without asking DNS for our name, which may hang where there is none."""
            socketserver.TCPServer.server_bind(self)
            self.server_name, self.server_port = settings.host, self.server_address[1]

    return Listener((settings.host, settings.port), _handler(pages))


def _handler(pages: Mapping[str, Page]) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        timeout = _CLIENT_TIMEOUT_S

        def do_GET(self) -> None:
            page = pages.get(self.path.partition("?")[0])
            if page is None:
                self._answer(404, ("there are: " + " ".join(sorted(pages)) + "\n").encode())
                return
            answer = page()
            self._answer(200 if answer.is_ok else 503, answer.body)

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", _TEXT)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Probes come every few seconds: not worth a line."""

    return Handler
