"""A fake Prometheus: answers instant queries with what a test put in, or fails as told."""

import json
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlparse

_SELECTOR = re.compile(r"^(?P<name>\w+)\[(?P<window>\d+)s\]$")


@dataclass
class FakePrometheus:
    """Series by metric name: a list of (labels, [(time, value as text)])."""

    url: str = ""
    series: dict[str, list[tuple[dict[str, str], list[tuple[float, str]]]]] = field(
        default_factory=dict
    )
    warnings: list[str] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    clock: Callable[[], float] = time.time
    """What it takes the time to be."""
    answer_with: Callable[[int], tuple[int, bytes] | None] = lambda _: None
    """Given the number of the request, an answer instead of the right one."""

    def answer(self, query: dict[str, str]) -> tuple[int, bytes]:
        """What Prometheus would say."""
        instead = self.answer_with(len(self.asked))
        if instead is not None:
            return instead
        if query["query"] == "time()":
            now_s = self.clock()
            data = {"resultType": "scalar", "result": [now_s, str(now_s)]}
            return 200, json.dumps({"status": "success", "data": data}).encode()
        found = _SELECTOR.match(query["query"])
        if found is None:
            return 400, b'{"status":"error","error":"fake_prometheus knows selectors only"}'
        end = float(query["time"])
        begin = end - float(found["window"])
        result: list[dict[str, Any]] = []
        for labels, samples in self.series.get(found["name"], []):
            values = [[at, value] for at, value in samples if begin < at <= end]
            if values:
                result.append({"metric": {"__name__": found["name"], **labels}, "values": values})
        document: dict[str, Any] = {
            "status": "success",
            "data": {"resultType": "matrix", "result": result},
        }
        if self.warnings:
            document["warnings"] = self.warnings
        return 200, json.dumps(document).encode()


@contextmanager
def fake_prometheus(tls: ssl.SSLContext | None = None) -> Iterator[FakePrometheus]:
    """Serve one on a free port of the loopback, by https where there is a context for it."""
    fake = FakePrometheus()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            query = {key: values[0] for key, values in parse_qs(urlparse(self.path).query).items()}
            fake.asked.append(query)
            fake.headers.append(dict(self.headers.items()))
            status, body = fake.answer(query)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if tls is not None:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    fake.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
