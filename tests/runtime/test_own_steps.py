"""What docs/workers.md shows runs as it stands, and so does a worker without our library."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.client import HTTPConnection
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg_stream_bed import Edge, StreamBed, eventually, free_port

ROOT = Path(__file__).parents[2]
OWN = ROOT / "examples" / "own-worker" / "worker.py"
LINES = 200


def shown() -> str:
    page = (ROOT / "docs" / "workers.md").read_text()
    (code,) = re.findall(r"```python\n(.+?)```", page, re.DOTALL)
    return str(code)


def test_it_is_as_short_as_it_says() -> None:
    code = [line for line in shown().splitlines() if line.strip()]
    assert len(code) <= 20
    own = [line for line in OWN.read_text().splitlines() if line.strip()]
    assert len(own) <= 60
    assert not re.search(r"import.*(thalweg|prometheus|msgspec)", OWN.read_text())


@pytest.mark.slow
def test_the_word_count_of_the_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "steps.py").write_text(shown())
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    edges = (
        Edge(source="read", target="split"),
        Edge(source="split", target="count", grouping="Fields", keys=("word",)),
        Edge(source="count", target="output"),
    )
    arguments = {"read": ["--rate", "1000", "--last", str(LINES)]}
    with StreamBed(folder=tmp_path, edges=edges, program="steps", arguments=arguments) as bed:
        bed.start_all(read=1, split=2, count=2, output=1)
        (output,) = bed.of("output")
        words = LINES // 2 * (5 + 4)
        eventually(lambda: output.value("thalweg_processed_total") >= words, "every word")
        assert output.value("thalweg_processed_total") == words
        # Sources first: state that somebody still sends to would wait for its next owner.
        assert all(worker.terminate() == 0 for worker in bed.workers)


@contextmanager
def own(host: str, port: int, vertex: str, index: int, routes: Path | None) -> Iterator[None]:
    told = {
        "THALWEG_TOPOLOGY": "own",
        "THALWEG_VERTEX": vertex,
        "THALWEG_TASK": f"{vertex}-{index}",
        "HOST": host,
        "PORT": str(port),
    }
    if routes is not None:
        told["THALWEG_ROUTES"] = str(routes)
    process = subprocess.Popen([sys.executable, str(OWN)], env=os.environ | told, stderr=-1)
    try:
        yield
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=30) == 0
        assert process.stderr is not None
        process.stderr.close()


def value(host: str, name: str, **labels: str) -> float:
    connection = HTTPConnection(host, 8080, timeout=10)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    except OSError:
        return 0.0
    finally:
        connection.close()
    return sum(
        sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def test_a_worker_without_our_library(tmp_path: Path) -> None:
    port, routes = free_port(), tmp_path / "routes.json"
    source, sinks = "127.81.0.1", ["127.81.0.2", "127.81.0.3"]

    def route(weights: list[float]) -> None:
        tasks = [
            {"name": f"write-{index}", "address": sinks[index], "weight": weight}
            for index, weight in enumerate(weights)
        ]
        beside = tmp_path / "beside"
        beside.write_text(json.dumps({"version": 1, "edges": [{"to": "write", "tasks": tasks}]}))
        beside.replace(routes)

    with ExitStack() as keep:
        for index, host in enumerate(sinks):
            keep.enter_context(own(host, port, "write", index, None))
            eventually(partial(_is_up, host), "a sink listens")
        route([1.0, 0.0])
        keep.enter_context(own(source, port, "read", 0, routes))
        eventually(lambda: value(sinks[0], "thalweg_processed_total") > 10, "tuples flow")
        assert value(sinks[1], "thalweg_processed_total") == 0
        route([0.0, 1.0])
        eventually(lambda: value(sinks[1], "thalweg_processed_total") > 10, "they go elsewhere")
        sent = value(source, "thalweg_tuples_total", to_vertex="write", to_task="write-1")
        assert 10 < sent <= value(source, "thalweg_processed_total")
        assert value(source, "thalweg_busy_seconds_total") > 0
        for nobody in ([], [0.0, 0.0]):
            # Routes say to wait, not to die: the process is the same one afterwards.
            route(nobody)
            eventually(partial(_stands_still, source), "it waits")
            made = value(source, "thalweg_processed_total")
            busy = value(source, "thalweg_busy_seconds_total")
            route([1.0, 0.0])
            eventually(partial(_is_past, source, made + 10), "it goes on")
            assert value(source, "thalweg_busy_seconds_total") >= busy > 0


def _stands_still(host: str) -> bool:
    before = value(host, "thalweg_processed_total")
    time.sleep(0.2)
    return 0 < before == value(host, "thalweg_processed_total")


def _is_past(host: str, count: float) -> bool:
    return value(host, "thalweg_processed_total") > count


def test_a_worker_without_our_library_survives_its_receiver(tmp_path: Path) -> None:
    port, routes = free_port(), tmp_path / "routes.json"
    source, sink = "127.81.0.4", "127.81.0.5"
    task = {"name": "write-0", "address": sink, "weight": 1}
    routes.write_text(json.dumps({"version": 1, "edges": [{"to": "write", "tasks": [task]}]}))
    with own(source, port, "read", 0, routes):
        for _ in range(2):
            with own(sink, port, "write", 0, None):
                eventually(lambda: value(sink, "thalweg_processed_total") > 10, "tuples flow")
            before = value(source, "thalweg_processed_total")
            eventually(partial(_is_past, source, before + 10), "the source goes on")


def _is_up(host: str) -> bool:
    connection = HTTPConnection(host, 8080, timeout=5)
    try:
        connection.connect()
    except OSError:
        return False
    finally:
        connection.close()
    return True
