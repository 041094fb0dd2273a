"""Load and network change while it runs, over HTTP."""

import http.client
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from thalweg_runtime.simulated.serving import SimulationServer
from thalweg_runtime.simulated.simulation import Simulation
from thalweg_simulated_scenes import Scene, advance, scraped, simulation_of, total, word_count


class Remote:
    """A simulation behind its endpoint."""

    def __init__(self, simulation: Simulation, port: int) -> None:
        self.simulation = simulation
        self._port = port

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, str]:
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        try:
            connection.request(method, path, body=body)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        finally:
            connection.close()

    def post(self, path: str, body: object) -> int:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        return self.ask("POST", path, data)[0]

    def state(self) -> Any:
        return json.loads(self.ask("GET", "/state")[1])


@pytest.fixture
def remote() -> Iterator[Remote]:
    scene = Scene()
    scene.put_all("a-0", read=1, split=1)
    scene.put("count-0", "b-0")
    simulation = simulation_of(scene, profile="200")
    server = SimulationServer(("127.0.0.1", 0), simulation, threading.Lock())
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    yield Remote(simulation, server.port)
    server.shutdown()
    server.server_close()
    thread.join(60)


def processed_in_a_second(simulation: Simulation) -> float:
    before = total(scraped(simulation), "thalweg_processed_total", vertex="read")
    simulation.advance(1.0)
    return total(scraped(simulation), "thalweg_processed_total", vertex="read") - before


def test_metrics_are_what_the_simulation_says(remote: Remote) -> None:
    advance(remote.simulation, 3)
    assert scraped(remote.ask("GET", "/metrics")[1]) == scraped(remote.simulation)


@pytest.mark.parametrize(
    ("request_body", "rate"),
    [
        ({"factor": 5}, 1000),
        ({"rate_per_s": 700}, 700),
        ({"profile": "300@0,1@500"}, 300),
        ({"topology": "words", "factor": 2}, 400),
        ({"rate_per_s": 0}, 0),
    ],
)
def test_load_is_changed(remote: Remote, request_body: dict[str, Any], rate: float) -> None:
    assert processed_in_a_second(remote.simulation) == pytest.approx(200, rel=0.2)
    assert remote.post("/rate", request_body) == 200
    assert processed_in_a_second(remote.simulation) == pytest.approx(rate, rel=0.2)


def test_the_network_between_two_domains_gets_slower(remote: Remote) -> None:
    advance(remote.simulation, 1)
    before = remote.state()["topologies"][0]["latency_s"]
    assert remote.post("/latency", {"between": ["b", "a"], "latency_s": 0.1}) == 200
    advance(remote.simulation, 1)
    after = remote.state()["topologies"][0]["latency_s"]
    assert after - before == pytest.approx(0.1, rel=0.3)
    rtt = total(
        scraped(remote.simulation), "thalweg_node_rtt_seconds", source_node="a-0", target_node="b-0"
    )
    assert rtt == pytest.approx(0.2, rel=0.3)
    assert remote.post("/network", {"reset": True}) == 200
    advance(remote.simulation, 1)
    assert remote.state()["topologies"][0]["latency_s"] == pytest.approx(before, rel=0.2)


def test_a_factor_on_the_network_leaves_domains_as_they_are_inside(remote: Remote) -> None:
    def rtts() -> tuple[float, float]:
        samples = scraped(remote.simulation)
        name = "thalweg_node_rtt_seconds"
        return (
            total(samples, name, source_node="a-0", target_node="a-1"),
            total(samples, name, source_node="a-0", target_node="b-1"),
        )

    advance(remote.simulation, 1)
    inside, across = rtts()
    assert remote.post("/network", {"factor": 4}) == 200
    advance(remote.simulation, 1)
    assert rtts()[0] == pytest.approx(inside, rel=0.2)
    assert rtts()[1] == pytest.approx(4 * across, rel=0.2)


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/rate", {"factor": "x"}, 400),
        ("/rate", {"factor": -1}, 400),
        ("/rate", {"speed": 2}, 400),
        ("/rate", {"topology": "nobody", "factor": 2}, 400),
        ("/rate", {"profile": "fast"}, 400),
        ("/rate", [1], 400),
        ("/rate", b"{", 400),
        ("/latency", {"between": ["a"], "latency_s": 1}, 400),
        ("/latency", {"between": ["a", "b"]}, 400),
        ("/network", {"factor": True}, 400),
        ("/other", {}, 404),
    ],
)
def test_what_makes_no_sense_is_refused_and_changes_nothing(
    remote: Remote, path: str, body: object, status: int
) -> None:
    before = remote.state()
    assert remote.post(path, body) == status
    assert remote.state() == before


def test_there_is_nothing_else_to_get(remote: Remote) -> None:
    assert remote.ask("GET", "/other")[0] == 404


def test_a_topology_that_comes_later_begins_with_the_changed_load(remote: Remote) -> None:
    assert remote.post("/rate", {"rate_per_s": 50}) == 200
    late = word_count()
    late.name = "late"
    late.pods.clear()
    late.put_all("a-1", read=1, split=1, count=1)
    remote.simulation.see(late.world())
    advance(remote.simulation, 1)
    assert remote.state()["topologies"][0]["offered_per_s"] == 50
