"""Condensing pass after pass from a real Prometheus: how long one takes, and what it holds."""

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from bench.tables import table
from bench.timing import machine, spread
from thalweg_operator.clock import SystemClock
from thalweg_operator.resident import Resident, session_memory_bytes
from thalweg_operator.settings import CondenseSettings
from thalweg_spark.engine import Engine, NumpyEngine, Request, Windows
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.prometheus import Source
from thalweg_testbed.prometheus import PrometheusServer

SCRAPE_S = 15.0
WARM_PASSES = 5
MEGA = 2**20


def warm(tasks: int = 500, nodes: int = 50, minutes: float = 15.0) -> None:
    """Passes over the whole of a mid-sized cluster, by a Spark that has been running."""
    from thalweg_spark.job import SparkEngine
    from thalweg_spark.session import spark_session

    print(f"\n{machine()}")
    at_s = float(int(time.time()) - 3600)
    lines = list(history(at_s, tasks=tasks, nodes=nodes, minutes=minutes))
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder,
        PrometheusServer(Path(folder), {}, history="\n".join([*lines, "# EOF\n"])) as server,
        spark_session("local[2]") as session,
    ):
        request = Request(
            source=Source(url=server.url),
            preset=load_preset("thalweg"),
            expectation=None,
            store=Path(folder),
            at_s=at_s,
            windows=Windows(scaling_s=60.0, placement_s=60 * minutes),
        )
        engines: list[Engine] = [SparkEngine(session), NumpyEngine()]
        rows = [_timed(engine, request, len(lines)) for engine in engines]
    head = ["engine", "samples", "pull, s", "condense, s", "warm pass, s"]
    print(
        f"{tasks} tasks × {nodes} nodes × {minutes:g} min; least / median / most of {WARM_PASSES}."
    )
    print(table(head, rows))


def _timed(engine: Engine, request: Request, samples: int) -> list[object]:
    kept = [_seconds(engine, request) for _ in range(WARM_PASSES + 3)][3:]
    whole = [one["pull"] + one["condense"] for one in kept]
    return [
        engine.name,
        f"{samples:,}",
        spread([one["pull"] for one in kept]),
        spread([one["condense"] for one in kept]),
        spread(whole),
    ]


def _seconds(engine: Engine, request: Request) -> Mapping[str, float]:
    found = engine.find(request).seconds
    sys.stderr.write(f"{engine.name}: {found['pull']:.1f} + {found['condense']:.1f} s\n")
    return found


def passes(count: int) -> None:
    """Ask one Spark child again and again, as the operator does, and look at what it holds."""
    at_s = float(int(time.time()))
    with tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder:
        lines = history(at_s, tasks=20, nodes=4, minutes=10)
        text = "\n".join([*lines, "# EOF\n"])
        settings = CondenseSettings(spark_master="local[2]", recycle_passes=count + 1)
        resident = Resident(settings, Path(folder) / "spark", SystemClock())
        try:
            with PrometheusServer(Path(folder) / "prometheus", {}, history=text) as server:
                held = list(_held(resident, server.url, Path(folder), count))
        finally:
            resident.close()
    settled = np.array(held[len(held) // 5 :]) / MEGA
    slope = float(np.polyfit(np.arange(settled.size), settled, 1)[0])
    print(f"\n{machine()}")
    head = [
        "passes",
        "after 1/5 of them",
        "median",
        "at the end",
        "most",
        "slope over the last 4/5",
    ]
    figures = (settled[0], statistics.median(settled), settled[-1], settled.max())
    row = [count, *(f"{one:,.0f} MiB" for one in figures), f"{100 * slope:+.1f} MiB in 100 passes"]
    print(table(head, [row]))


def _held(resident: Resident, url: str, folder: Path, count: int) -> Iterator[int]:
    request: dict[str, Any] = {
        "source": {"url": url, "timeout_s": 20.0},
        "preset": "thalweg",
        "store": str(folder / "store"),
        "expectation": {"topologies": [], "nodes": []},
    }
    for _ in range(count):
        ticket = None
        while ticket is None:
            resident.tick()
            ticket = resident.submit("bench", request)
            time.sleep(0.02)
        while (outcome := resident.outcome(ticket)) is None:
            time.sleep(0.02)
            resident.tick()
        if outcome.error:
            raise RuntimeError(outcome.error)
        yield session_memory_bytes(resident.pid or 0)


def history(at_s: float, *, tasks: int, nodes: int, minutes: float) -> Iterator[str]:
    """OpenMetrics lines: every task sends to ten others, every node knows its way to all."""
    times = np.arange(at_s - 60 * minutes, at_s, SCRAPE_S)
    rng = np.random.default_rng(1)
    for task in range(tasks):
        own = f'namespace="n",topology="t",vertex="v",task="v-{task}",pod="t-v-{task}-1"'
        names = ("processed", "busy_seconds", "cpu_seconds", "wait_seconds")
        for name in names:
            yield from _lines(f"thalweg_{name}_total{{{own}}}", times, rng.uniform(0.1, 0.9))
        for step in range(1, 11):
            other = f'{own},to_vertex="v",to_task="v-{(task + step) % tasks}"'
            for name in ("tuples", "bytes"):
                yield from _lines(f"thalweg_{name}_total{{{other}}}", times, rng.uniform(10, 900))
    for source in range(nodes):
        for target in range(nodes):
            ends = f'source_node="n{source}",target_node="n{target}"'
            for at in times:
                yield f"thalweg_node_rtt_seconds{{{ends}}} {rng.uniform(0.001, 0.01):.6f} {at:.3f}"


def _lines(series: str, times: np.ndarray[Any, Any], rate: float) -> Iterator[str]:
    for at in times:
        yield f"{series} {rate * (at - times[0]):.3f} {at:.3f}"
