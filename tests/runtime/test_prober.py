"""The prober: who is asked, what is known of whom, and real ones that find each other."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from threading import Event, Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from thalweg_runtime.prober.choosing import Sampling, chosen
from thalweg_runtime.prober.echo import SIZE_BYTES, Echo, Peer
from thalweg_runtime.prober.measuring import RoundTrips
from thalweg_runtime.prober.probing import Prober, Rhythm
from thalweg_stream_bed import eventually, free_port


def cluster(nodes: int, domains: int) -> list[Peer]:
    return [Peer(f"n{n}", f"d{n % domains}") for n in range(nodes)]


def test_in_a_small_cluster_everybody_asks_everybody() -> None:
    nodes = cluster(12, 4)
    for me in nodes:
        assert set(chosen(me, nodes, Sampling())) == set(nodes) - {me}


@pytest.mark.slow
@given(st.integers(100, 400), st.integers(1, 12))
def test_in_a_large_one_every_pair_of_domains_is_asked_and_cost_follows_the_nodes(
    count: int, domains: int
) -> None:
    nodes, sampling = cluster(count, domains), Sampling()
    asked = {me: chosen(me, nodes, sampling) for me in nodes}
    pairs = {(me.domain, you.domain) for me, them in asked.items() for you in them}
    assert pairs == {(f"d{a}", f"d{b}") for a in range(domains) for b in range(domains)}
    assert all(len(them) <= sampling.most for them in asked.values())
    between = sampling.of_pair**2 * domains**2
    assert sum(map(len, asked.values())) <= sampling.of_own_domain * count + between


def test_many_small_domains_are_all_measured_both_ways() -> None:
    nodes, sampling = cluster(80, 20), Sampling()
    asked = {me: chosen(me, nodes, sampling) for me in nodes}
    pairs = {(me.domain, you.domain) for me, them in asked.items() for you in them}
    assert pairs == {(f"d{a}", f"d{b}") for a in range(20) for b in range(20)}
    assert max(map(len, asked.values())) <= sampling.most
    assert all(len(set(them)) == len(them) for them in asked.values())


@pytest.mark.parametrize(("count", "domains"), [(100, 100), (129, 129), (140, 70)])
def test_of_too_many_domains_each_pair_is_measured_one_way(count: int, domains: int) -> None:
    nodes, sampling = cluster(count, domains), Sampling()
    asked = {me: chosen(me, nodes, sampling) for me in nodes}
    pairs = {frozenset((me.domain, you.domain)) for me, them in asked.items() for you in them}
    every = {frozenset((f"d{a}", f"d{b}")) for a in range(domains) for b in range(a)}
    assert every <= pairs
    assert max(map(len, asked.values())) <= sampling.most


def test_without_domains_everybody_asks_some_and_is_asked() -> None:
    nodes = [Peer(f"n{n}", "") for n in range(300)]
    asked = [chosen(me, nodes, Sampling()) for me in nodes]
    assert {len(them) for them in asked} == {Sampling().of_own_domain}


def test_who_is_silent_is_absent() -> None:
    trips = RoundTrips(window_s=60, silent_after_s=20)
    trips.add("far", 0.02, 0.0)
    trips.add("near", 0.001, 15.0)
    assert [one.node for one in trips.known(18.0)] == ["far", "near"]
    assert [one.node for one in trips.known(21.0)] == ["near"]
    assert list(trips.known(99.0)) == []


def test_the_median_and_the_tail_of_the_window() -> None:
    trips = RoundTrips(window_s=60, silent_after_s=20)
    trips.add("n", 9.0, 0.0)
    for number in range(100):
        trips.add("n", 0.001 * (number + 1), 61.0)
    (known,) = trips.known(62.0)
    assert known.median_s == pytest.approx(0.050)
    assert known.p99_s == pytest.approx(0.099)


def test_a_scrape_reads_while_answers_come() -> None:
    trips = RoundTrips(window_s=60, silent_after_s=20)
    for number in range(20_000):
        trips.add(f"n{number % 4}", 0.001, 0.0)
    done = Event()

    def answer() -> None:
        number = 0
        while not done.is_set():
            number += 1
            trips.add(f"n{number % 40}", 0.001, 1.0)

    before_s = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    answering = Thread(target=answer)
    answering.start()
    try:
        for _ in range(50):
            assert len(list(trips.known(2.0))) >= 4
    finally:
        done.set()
        answering.join()
        sys.setswitchinterval(before_s)


async def echo_at(host: str, port: int, peer: Peer) -> Echo:
    loop = asyncio.get_running_loop()
    _, echo = await loop.create_datagram_endpoint(lambda: Echo(peer), local_addr=(host, port))
    return echo


def test_rubbish_is_neither_answered_nor_believed() -> None:
    async def story() -> None:
        port = free_port()
        echo = await echo_at("127.0.0.1", port, Peer("n0", "a"))
        heard: list[bytes] = []

        class Ear(asyncio.DatagramProtocol):
            def datagram_received(self, data: bytes, addr: object) -> None:
                del addr
                heard.append(data)

        loop = asyncio.get_running_loop()
        way, _ = await loop.create_datagram_endpoint(Ear, remote_addr=("127.0.0.1", port))
        for rubbish in (b"", b"?", os.urandom(SIZE_BYTES), b"thalweg-echo-1?short"):
            way.sendto(rubbish)
        answer = await echo.ask(("127.0.0.1", port), patience_s=5)
        assert answer is not None
        assert answer.peer == Peer("n0", "a")
        assert answer.rtt_s > 0
        assert heard == []
        way.close()
        echo.close()

    asyncio.run(story())


def test_a_round_measures_those_that_answer_and_no_others() -> None:
    async def story() -> None:
        port = free_port()
        hosts = [f"127.78.0.{n}" for n in range(1, 4)]
        echoes = [await echo_at(at, port, Peer(at, "a")) for at in hosts]

        async def resolve() -> list[str]:
            return [*hosts, "127.78.0.99"]

        prober = Prober(
            me=Peer(hosts[0], "a"),
            echo=echoes[0],
            port=port,
            resolve=resolve,
            rhythm=Rhythm(patience_s=0.3),
        )
        await prober.round()
        now_s = asyncio.get_running_loop().time()
        assert [one.node for one in prober.trips.known(now_s)] == hosts[1:]
        echoes[2].close()
        await prober.round()
        after = now_s + prober.trips.silent_after_s
        assert [one.node for one in prober.trips.known(after)] == hosts[1:2]
        for echo in echoes:
            echo.close()

    asyncio.run(story())


def test_a_large_cluster_is_looked_up_more_seldom() -> None:
    async def story() -> None:
        port, looked = free_port(), list[int]()
        everybody = [f"127.78.1.{n}" for n in range(1, 100)]
        echo = await echo_at(everybody[0], port, Peer("n1", "a"))

        async def resolve() -> list[str]:
            looked.append(1)
            # It fails the first time.
            return everybody if len(looked) > 1 else []

        prober = Prober(
            me=Peer("n1", "a"),
            echo=echo,
            port=port,
            resolve=resolve,
            rhythm=Rhythm(patience_s=0.01, addresses_a_round=30),
        )
        counts = []
        for _ in range(9):
            await prober.round()
            counts.append(len(looked))
        # At once after a failure, then every fourth round for 99 addresses.
        assert counts == [1, 2, 2, 2, 2, 3, 3, 3, 3]
        echo.close()

    asyncio.run(story())


@contextmanager
def process(host: str, port: int, http_port: int, peers: list[str]) -> Iterator[None]:
    words = [sys.executable, "-m", "thalweg_runtime.prober", "--node", f"node-{host}"]
    words += ["--host", host, "--port", str(port), "--http-port", str(http_port)]
    words += ["--round-s", "0.2", *(f"--peer={one}" for one in peers)]
    running = subprocess.Popen(words)
    try:
        yield
    finally:
        running.send_signal(signal.SIGTERM)
        assert running.wait(timeout=30) == 0


def measured(host: str, http_port: int) -> dict[tuple[str, str, str], float]:
    connection = HTTPConnection(host, http_port, timeout=10)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    except (OSError, HTTPException):
        return {}
    finally:
        connection.close()
    return {
        (sample.name, sample.labels["source_node"], sample.labels["target_node"]): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


@pytest.mark.slow
def test_real_probers_find_each_other_and_lose_each_other() -> None:
    port, http_port = free_port(), free_port()
    one, other = "127.79.0.1", "127.79.0.2"
    with ExitStack() as keep:
        keep.enter_context(process(one, port, http_port, [one, other]))
        with process(other, port, http_port, [one, other]):
            found = eventually(lambda: measured(one, http_port), "a measurement")
            names = {"thalweg_node_rtt_seconds", "thalweg_node_rtt_p99_seconds"}
            assert {key[0] for key in found} == names
            assert {key[1:] for key in found} == {(f"node-{one}", f"node-{other}")}
            assert all(0 < value < 1 for value in found.values())
        eventually(lambda: not measured(one, http_port), "the one that is gone is absent")


def test_without_a_node_it_does_not_start(tmp_path: Path) -> None:
    words = [sys.executable, "-m", "thalweg_runtime.prober", "--peer", "127.0.0.1"]
    environment = {name: value for name, value in os.environ.items() if name != "THALWEG_NODE"}
    done = subprocess.run(
        words, capture_output=True, text=True, env=environment, cwd=tmp_path, check=False
    )
    assert done.returncode == 2
    assert "THALWEG_NODE" in done.stderr
