"""An HTTP server that answers as told, in the place of the API server."""

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from thalweg_operator.cluster.connection import Connection, connect

Reply = tuple[int, Any]


class ScriptedServer:
    """Gives its replies in order, the last one for ever, and keeps what it was asked."""

    def __init__(self) -> None:
        self.replies: list[Reply] = [(200, {})]
        self.requests: list[tuple[str, str, str]] = []
        self.headers: list[dict[str, str]] = []
        self.hold = threading.Event()
        self.hold.set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def answer(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = self.rfile.read(length).decode()
                server.requests.append((self.command, self.path, body))
                server.headers.append(dict(self.headers))
                many = len(server.replies) > 1
                status, content = server.replies.pop(0) if many else server.replies[0]
                server.hold.wait(20)
                data = content if isinstance(content, bytes) else json.dumps(content).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Stay quiet."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.http.server_port}"

    def methods(self) -> list[str]:
        return [method for method, _, _ in self.requests]


def write_kubeconfig(path: Path, url: str, user: dict[str, str]) -> Path:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "only",
        "contexts": [{"name": "only", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": user}],
    }
    path.write_text(yaml.safe_dump(config))
    return path


@pytest.fixture
def kubeconfig_of(tmp_path: Path) -> Callable[..., Path]:
    def make(url: str, **user: str) -> Path:
        return write_kubeconfig(tmp_path / "kubeconfig", url, user)

    return make


@pytest.fixture
def scripted() -> Iterator[ScriptedServer]:
    server = ScriptedServer()
    thread = threading.Thread(target=server.http.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.hold.set()
    server.http.shutdown()
    server.http.server_close()
    thread.join()


@pytest.fixture
def connection(scripted: ScriptedServer, kubeconfig_of: Callable[..., Path]) -> Connection:
    return connect(kubeconfig_of(scripted.url, token="t0"), user_agent="tests")
