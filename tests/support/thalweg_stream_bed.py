"""Workers on loopback: real processes, and the routes that an operator would write for them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

KEY_GROUPS = 1024
_PATIENCE_S = 120.0
_beds = count(1)


def eventually(holds: Callable[[], Any], what: str, *, timeout_s: float = _PATIENCE_S) -> Any:
    """Wait until something is true and return it."""
    deadline_s = time.monotonic() + timeout_s
    while not (found := holds()):
        assert time.monotonic() < deadline_s, f"not within {timeout_s:g} s: {what}"
        time.sleep(0.05)
    return found


def free_port() -> int:
    """A port that nobody has on any address."""
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])


@dataclass(kw_only=True)
class Edge:
    """One edge of the topology."""

    source: str
    target: str
    grouping: str = "Shuffle"
    keys: tuple[str, ...] = ()


@dataclass(kw_only=True)
class Worker:
    """One process with one task."""

    vertex: str
    index: int
    incarnation: int
    address: str
    http_port: int
    log: Path
    process: "subprocess.Popen[bytes]"
    node: str = "node-0"
    domain: str = "a"
    weight: float = 1.0

    @property
    def task(self) -> str:
        return f"{self.vertex}-{self.index}"

    def get(self, path: str) -> str:
        """What it answers over HTTP."""
        return self._asked("GET", path, None)

    def post(self, path: str, body: object) -> str:
        """Tell it something over HTTP."""
        return self._asked("POST", path, json.dumps(body).encode())

    def _asked(self, method: str, path: str, body: bytes | None) -> str:
        connection = HTTPConnection(self.address, self.http_port, timeout=30)
        try:
            connection.request(method, path, body)
            return connection.getresponse().read().decode()
        finally:
            connection.close()

    def is_ready(self) -> bool:
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.get("/healthz") == "ok\n"
        except (OSError, HTTPException):
            return False

    def value(self, name: str, **labels: str) -> float:
        """The sum of a metric's samples with these labels."""
        return sum(
            sample.value
            for family in text_string_to_metric_families(self.get("/metrics"))
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def terminate(self) -> int:
        """Send SIGTERM and return the exit code."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(timeout=_PATIENCE_S)

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=_PATIENCE_S)


@dataclass(kw_only=True)
class StreamBed:
    """A topology whose pods are processes here, and whose operator is the test."""

    folder: Path
    edges: Sequence[Edge]
    program: str = "thalweg_stream_steps"
    arguments: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """More arguments of the workers of a vertex."""
    topology: str = "words"
    workers: list[Worker] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._port, self._http_port = free_port(), free_port()
        self._net = f"127.{1 + os.getpid() % 250}.{next(_beds) % 250}"
        self._hosts = count(1)
        self._versions = count(1)
        self._incarnations = count(1)
        self.results = self.folder / "results"
        self.results.touch()

    def __enter__(self) -> "StreamBed":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self.workers:
            if worker.process.poll() is None:
                worker.process.send_signal(signal.SIGCONT)
                worker.kill()

    def start(self, vertex: str, index: int, *arguments: str, node: str = "node-0") -> Worker:
        """Start the next incarnation of a task; routes do not name it yet."""
        incarnation = next(self._incarnations)
        address = f"{self._net}.{next(self._hosts)}"
        log = self.folder / f"{vertex}-{index}-{incarnation}.log"
        words = [sys.executable, "-m", "thalweg_runtime.worker", "--program", self.program]
        words += ["--host", address, "--port", str(self._port), "--log", "info"]
        words += ["--http-port", str(self._http_port)]
        words += [*self.arguments.get(vertex, ()), *arguments]
        with log.open("wb") as output:
            process = subprocess.Popen(
                words,
                env=os.environ | self._environment(vertex, index, incarnation, node),
                stderr=output,
            )
        worker = Worker(
            vertex=vertex,
            index=index,
            incarnation=incarnation,
            address=address,
            http_port=self._http_port,
            log=log,
            process=process,
            node=node,
        )
        self.workers.append(worker)
        return worker

    def start_all(self, **replicas: int) -> None:
        """Start so many tasks of each vertex, wait until they are ready, and route."""
        started = [
            self.start(vertex, index)
            for vertex, number in replicas.items()
            for index in range(number)
        ]
        for worker in started:
            eventually(worker.is_ready, f"{worker.task} is ready")
        self.route()

    def of(self, vertex: str) -> list[Worker]:
        """The workers that routes name, in the order of their tasks: the newest of each."""
        newest = {worker.index: worker for worker in self.workers if worker.vertex == vertex}
        return [newest[index] for index in sorted(newest)]

    def forget(self, *workers: Worker) -> None:
        """Name these in routes no more."""
        self.workers = [one for one in self.workers if one not in workers]

    def route(self, wanted: Mapping[str, Sequence[Worker]] | None = None) -> int:
        """Write the routes of every vertex, and return their version."""
        version = next(self._versions)
        for vertex in {edge.source for edge in self.edges}:
            edges = [
                self._routed(edge, (wanted or {}).get(edge.target) or self.of(edge.target))
                for edge in self.edges
                if edge.source == vertex
            ]
            document = {
                "version": version,
                "topology": self.topology,
                "vertex": vertex,
                "edges": edges,
            }
            path = self._routes(vertex)
            beside = path.with_suffix(".new")
            beside.write_text(json.dumps(document))
            beside.replace(path)
        return version

    def routed(self, version: int) -> None:
        """Wait until every sender says that it sends by this version."""
        senders = {edge.source for edge in self.edges}
        waiting = [worker for worker in self.workers if worker.vertex in senders]
        eventually(
            lambda: all(one.value("thalweg_routes_version") >= version for one in waiting),
            f"all senders have version {version}",
        )

    def lines(self) -> list[tuple[int, str, int]]:
        """What the sinks wrote: id, word, count."""
        rows = (line.split() for line in self.results.read_text().splitlines())
        return [(int(one), word, int(number)) for one, word, number in rows]

    def logs(self) -> str:
        return "\n".join(f"{one.log.name}:\n{one.log.read_text()}" for one in self.workers)

    def _routes(self, vertex: str) -> Path:
        return self.folder / f"{vertex}-routes.json"

    def _environment(self, vertex: str, index: int, incarnation: int, node: str) -> dict[str, str]:
        words = {
            "THALWEG_TOPOLOGY": self.topology,
            "THALWEG_VERTEX": vertex,
            "THALWEG_TASK": f"{vertex}-{index}",
            "THALWEG_INCARNATION": str(incarnation),
            "THALWEG_POD": f"{self.topology}-{vertex}-{index}-{incarnation}",
            "THALWEG_NODE": node,
            "STREAM_RESULTS": str(self.results),
        }
        if any(edge.source == vertex for edge in self.edges):
            words["THALWEG_ROUTES"] = str(self._routes(vertex))
        return words

    def _routed(self, edge: Edge, workers: Sequence[Worker]) -> dict[str, Any]:
        grouping: dict[str, Any] = {"type": edge.grouping}
        if edge.keys:
            grouping["keys"] = list(edge.keys)
        tasks = []
        for place, worker in enumerate(workers):
            first = -(-place * KEY_GROUPS // len(workers))
            last = -(-(place + 1) * KEY_GROUPS // len(workers)) - 1
            tasks.append(
                {
                    "name": worker.task,
                    "incarnation": worker.incarnation,
                    "address": worker.address,
                    "node": worker.node,
                    "domain": worker.domain,
                    "weight": worker.weight,
                    "keyGroups": [[first, last]],
                }
            )
        return {"to": edge.target, "grouping": grouping, "tasks": tasks}


WORD_COUNT = (
    Edge(source="read", target="split"),
    Edge(source="split", target="count", grouping="Fields", keys=("word",)),
    Edge(source="count", target="sink"),
)
