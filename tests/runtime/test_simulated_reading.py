"""Reading an API server: pages, credentials, and what to do when it is away."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

from thalweg_runtime.simulated.__main__ import main
from thalweg_runtime.simulated.errors import InvalidOption, Unreachable
from thalweg_runtime.simulated.reading import Reader, Server, server_of
from thalweg_simulated_scenes import NAMESPACE, Scene, word_count


class FakeApi(ThreadingHTTPServer):
    """Answers lists of a scene, three objects a page."""

    daemon_threads = True
    scene: Scene
    asked: list[tuple[str, dict[str, list[str]], str | None]]

    def lists(self) -> dict[str, list[dict[str, Any]]]:
        inside = f"namespaces/{NAMESPACE}"
        return {
            f"/apis/thalweg.dev/v1alpha1/{inside}/streamtopologies": [self.scene.topology()],
            f"/api/v1/{inside}/pods": list(self.scene.pods.values()),
            f"/api/v1/{inside}/configmaps": self.scene.routes,
            "/api/v1/nodes": self.scene.nodes(),
        }


class _Handler(BaseHTTPRequestHandler):
    server: FakeApi
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        query = parse_qs(url.query)
        self.server.asked.append((url.path, query, self.headers.get("Authorization")))
        items = self.server.lists().get(url.path)
        begin = int(query.get("continue", ["0"])[0])
        page: dict[str, Any] = {"metadata": {}}
        if items is not None:
            page["items"] = items[begin : begin + 3]
            if begin + 3 < len(items):
                page["metadata"]["continue"] = str(begin + 3)
        body = json.dumps(page).encode()
        self.send_response(404 if items is None else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Say nothing."""


@pytest.fixture
def api() -> Iterator[FakeApi]:
    server = FakeApi(("127.0.0.1", 0), _Handler)
    server.scene, server.asked = word_count(), []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield server
    server.shutdown()
    server.server_close()
    thread.join(60)


def kubeconfig_of(folder: Path, url: str, **user: str) -> Path:
    file = folder / "kubeconfig"
    document = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "one", "user": "me"}}],
        "clusters": [{"name": "one", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": user}],
    }
    file.write_text(yaml.safe_dump(document))
    return file


def test_a_world_is_read_page_by_page(api: FakeApi, tmp_path: Path) -> None:
    file = kubeconfig_of(tmp_path, f"http://127.0.0.1:{api.server_address[1]}", token="secret")
    reader = Reader(server_of(file), namespace=NAMESPACE, topology="words")
    world = reader.read()
    reader.close()
    assert world == api.scene.world()
    assert {token for _, _, token in api.asked} == {"Bearer secret"}
    queries = {path.rpartition("/")[2]: query for path, query, _ in api.asked}
    assert queries["streamtopologies"]["fieldSelector"] == ["metadata.name=words"]
    assert queries["pods"]["labelSelector"] == ["app.kubernetes.io/managed-by=thalweg"]
    assert queries["pods"]["continue"] == ["3"]


def test_a_token_may_be_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from a file\n")
    file = kubeconfig_of(tmp_path, "http://127.0.0.1:1", tokenFile="token")
    assert server_of(file).token == "from a file"


def test_a_server_that_refuses_is_unreachable_for_now(api: FakeApi) -> None:
    server = Server(url=f"http://127.0.0.1:{api.server_address[1]}", context=None)
    reader = Reader(server, namespace="elsewhere", topology=None)
    with pytest.raises(Unreachable, match="404"):
        reader.read()
    reader.close()


def test_a_server_that_is_away_is_unreachable_for_now() -> None:
    with pytest.raises(Unreachable, match="GET"):
        Reader(Server(url="http://127.0.0.1:1", context=None), namespace=None, topology=None).read()


@pytest.mark.parametrize("text", ["", "[]", "{", "current-context: x\ncontexts: []\n"])
def test_a_kubeconfig_that_makes_no_sense_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "kubeconfig"
    file.write_text(text)
    with pytest.raises(InvalidOption, match="kubeconfig"):
        server_of(file)


@pytest.mark.parametrize(
    "arguments", [["--profile", "fast"], ["--kubeconfig", "no-such-file"]], ids=str
)
def test_wrong_options_end_the_program_with_a_line(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = kubeconfig_of(tmp_path, "http://127.0.0.1:1")
    assert main(["--kubeconfig", str(file), "--port", "0", *arguments]) == 2
    assert capsys.readouterr().err.startswith("error: ")
