"""What a worker says over HTTP: the series of the contract, and a rate that can be turned."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg_inner_streams import InnerStream, Place, inner_stream, until
from thalweg_runtime.worker.process import Process

OF_A_TASK = {"topology", "vertex", "task", "pod"}
TRAFFIC = OF_A_TASK | {"to_vertex", "to_task"}
SERIES = {
    "thalweg_tuples_total": TRAFFIC,
    "thalweg_bytes_total": TRAFFIC,
    "thalweg_processed_total": OF_A_TASK,
    "thalweg_busy_seconds_total": OF_A_TASK,
    "thalweg_backpressured_seconds_total": OF_A_TASK,
    "thalweg_wait_seconds_total": OF_A_TASK,
    "thalweg_cpu_seconds_total": OF_A_TASK,
    "thalweg_resent_tuples_total": OF_A_TASK,
    "thalweg_queue_tuples": OF_A_TASK,
    "thalweg_memory_bytes": OF_A_TASK,
    "thalweg_routes_version": OF_A_TASK,
    "thalweg_task_info": OF_A_TASK | {"process", "incarnation"},
    "thalweg_latency_seconds_bucket": OF_A_TASK | {"le"},
    "thalweg_complete_seconds_bucket": OF_A_TASK | {"le"},
}


async def asked(process: Process, host: str, method: str, path: str, body: bytes = b"") -> str:
    reader, writer = await asyncio.open_connection(host, process.http_port)
    head = f"{method} {path} HTTP/1.1\r\nContent-Length: {len(body)}\r\n\r\n"
    writer.write(head.encode() + body)
    async with asyncio.timeout(20):
        answer = await reader.read()
    writer.close()
    return answer.decode()


async def scraped(process: Process, host: str) -> list[Any]:
    answer = await asked(process, host, "GET", "/metrics")
    assert answer.startswith("HTTP/1.1 200")
    families = text_string_to_metric_families(answer.partition("\r\n\r\n")[2])
    return [sample for family in families for sample in family.samples]


async def flowing(stream: InnerStream, rate: str = "2000") -> tuple[Process, Process]:
    sink = await stream.receive(0)
    stream.route([Place()])
    source = await stream.send(last=1_000_000, rate=rate)
    await until(lambda: source.sources[0].position.acknowledged > 500, "tuples flow")
    return source, sink


def test_all_series_of_the_contract_with_no_other_labels(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            source, sink = await flowing(stream)
            found = await scraped(source, f"{stream.net}.1")
            found += await scraped(sink, f"{stream.net}.32")
            labels: dict[str, set[str]] = {}
            for one in found:
                labels.setdefault(one.name, set()).update(one.labels)
            assert {name: labels.get(name) for name in SERIES} == SERIES
            bounds = {float(one.labels["le"]) for one in found if "le" in one.labels}
            assert min(bounds) == 0.0001
            assert max(bounds - {float("inf")}) >= 10

    asyncio.run(story())


def test_no_counter_ever_falls(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            source, _ = await flowing(stream)
            before: dict[str, float] = {}
            for _ in range(4):
                for one in await scraped(source, f"{stream.net}.1"):
                    if one.name.endswith("_total"):
                        key = f"{one.name}{sorted(one.labels.items())}"
                        assert one.value >= before.get(key, 0.0), key
                        before[key] = one.value
                await asyncio.sleep(0.05)
            assert before

    asyncio.run(story())


def test_the_rate_is_turned_while_it_runs(tmp_path: Path) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            process, _ = await flowing(stream)
            host, (source,) = f"{stream.net}.1", process.sources
            stop = json.dumps({"profile": "0"}).encode()
            assert "200 OK" in await asked(process, host, "POST", "/rate", stop)
            await until(lambda: source.is_idle and source.queue_tuples < 1, "it stands still")
            made = source.counters.processed
            await asyncio.sleep(0.2)
            assert source.counters.processed == made
            on = json.dumps({"profile": "ramp:1000@0,9000@1", "factor": 2}).encode()
            assert "200 OK" in await asked(process, host, "POST", "/rate", on)
            await until(lambda: source.counters.processed > made + 2000, "it goes on")

    asyncio.run(story())


@pytest.mark.parametrize(
    "body",
    [b"", b"{}", b"[]", b'{"factor": -1}', b'{"factor": "x"}', b'{"profile": "file:/etc/passwd"}'],
)
def test_a_wrong_rate_is_refused(tmp_path: Path, body: bytes) -> None:
    async def story() -> None:
        async with inner_stream(tmp_path, "Shuffle") as stream:
            stream.route([Place()])
            process = await stream.send(last=1)
            answer = await asked(process, f"{stream.net}.1", "POST", "/rate", body)
            assert answer.startswith("HTTP/1.1 400")

    asyncio.run(story())
