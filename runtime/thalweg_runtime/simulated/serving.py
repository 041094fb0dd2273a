"""GET /metrics and /state; POST /rate, /latency and /network."""

import json
import threading
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from thalweg_runtime.simulated.errors import InvalidOption
from thalweg_runtime.simulated.exposition import CONTENT_TYPE, Exposition
from thalweg_runtime.simulated.simulation import Simulation
from thalweg_runtime.simulated.steering import state, steer

_JSON = "application/json"
_MOST_BYTES = 65536


class SimulationServer(ThreadingHTTPServer):
    """Serves one simulation; the lock is shared with whoever moves it on."""

    daemon_threads = True

    def __init__(
        self, address: tuple[str, int], simulation: Simulation, lock: threading.Lock
    ) -> None:
        super().__init__(address, _Handler)
        self.simulation = simulation
        self.exposition = Exposition(simulation)
        self.lock = lock

    @property
    def port(self) -> int:
        """The port it really has, also where 0 was asked for."""
        return int(self.server_address[1])


class _Handler(BaseHTTPRequestHandler):
    server: SimulationServer
    protocol_version = "HTTP/1.1"
    timeout = 30

    def do_GET(self) -> None:
        if self.path == "/metrics":
            with self.server.lock:
                text = self.server.exposition.text()
            self._answer(HTTPStatus.OK, text, CONTENT_TYPE)
        elif self.path == "/state":
            with self.server.lock:
                found = state(self.server.simulation)
            self._answer(HTTPStatus.OK, json.dumps(found), _JSON)
        else:
            self._answer(HTTPStatus.NOT_FOUND, _said("there are /metrics and /state"), _JSON)

    def do_POST(self) -> None:
        try:
            request = json.loads(self._body())
            with self.server.lock:
                is_known = steer(self.server.simulation, self.path, request)
        except (ValueError, InvalidOption) as error:
            self._answer(HTTPStatus.BAD_REQUEST, _said(str(error)), _JSON)
            return
        if is_known:
            self._answer(HTTPStatus.OK, _said("done"), _JSON)
        else:
            self._answer(HTTPStatus.NOT_FOUND, _said("there are /rate, /latency, /network"), _JSON)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name is http.server's
        """Say nothing of each scrape."""

    def _body(self) -> bytes:
        length = int(self.headers.get("Content-Length") or 0)
        if not 0 <= length <= _MOST_BYTES:
            self.close_connection = True
            raise InvalidOption(f"the body must have at most {_MOST_BYTES} bytes")
        return self.rfile.read(length)

    def _answer(self, status: HTTPStatus, text: str, content_type: str) -> None:
        body = text.encode()
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def _said(text: str) -> str:
    return json.dumps({"message": text})
