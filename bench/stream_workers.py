"""Stream workers: tuples a second and latency of one core, beside a bare transport and Bytewax."""

import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, TypeVar

from prometheus_client.parser import text_string_to_metric_families

from bench.stream_codecs import codecs, transports
from bench.stream_cpu import cpu_s
from bench.stream_peers import WARM_S

SECONDS = 5.0
ROUNDS = 3
RECEIVERS = (2, 8, 32, 128, 256)
_FAST = "10000000"
_KEY_GROUPS = 1024
_READY_S = 120.0
_UNDER_WAY = 8192
"""What a source makes before anything is acknowledged (`--pending-tuples`)."""
_ENOUGH = 2 * _UNDER_WAY
"""Of fewer tuples the cost is not told: what the sender does anyway would be most of it."""

Routes = dict[str, Any]
Found = TypeVar("Found")


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What one of them did."""

    tuples_per_s: float
    p50_s: float
    p99_s: float
    cpu_s_per_tuple: float
    """Of all processes together."""


_UNKNOWN = Seen(tuples_per_s=math.nan, p50_s=math.nan, p99_s=math.nan, cpu_s_per_tuple=math.nan)


def main() -> None:
    """Print all tables. Everything runs on one core."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    _words_table()
    _receivers_table()
    _print(("codec", "encode + decode, µs a tuple", "bytes a tuple"), codecs())
    _print(("transport, one process to another", "MB/s"), transports())


def _words_table() -> None:
    runs = {"pyzmq, bare": _zmq, "Thalweg": _ours, "Bytewax": _bytewax}
    full = _in_turn(runs, dict.fromkeys(runs, 0.0))
    half = _in_turn(runs, {name: found.tuples_per_s / 2 for name, found in full.items()})
    raw = full["pyzmq, bare"]
    rows = [
        (
            name,
            _shown(full[name].tuples_per_s, ",.0f"),
            _shown(full[name].tuples_per_s / raw.tuples_per_s, ".2f"),
            _shown(full[name].cpu_s_per_tuple * 1e6, ".2f"),
            _shown(half[name].tuples_per_s, ",.0f"),
            _shown(half[name].p50_s * 1000, ".2f"),
            _shown(half[name].p99_s * 1000, ".2f"),
        )
        for name in runs
    ]
    head = (
        "WordCount, one core",
        "words/s",
        "of bare",
        "CPU, µs a word",
        "at half load",
        "p50 ms",
        "p99 ms",
    )
    _print(head, rows)


def _in_turn(
    runs: Mapping[str, Callable[[float], Seen]], rates: Mapping[str, float]
) -> dict[str, Seen]:
    """The median of each by tuples/s; in turns, so that a slow minute is everybody's."""
    found: dict[str, list[Seen]] = {name: [] for name in runs}
    for _ in range(ROUNDS):
        for name, run in runs.items():
            found[name].append(_seen(run, rates[name]))
    return {name: _median(seen) for name, seen in found.items()}


def _median(seen: Sequence[Seen]) -> Seen:
    known = sorted(
        (one for one in seen if not math.isnan(one.tuples_per_s)),
        key=lambda one: one.tuples_per_s,
    )
    return known[len(known) // 2] if known else _UNKNOWN


def _receivers_table() -> None:
    rows = []
    for grouping in ("Shuffle", "Fields"):
        costs_s = [
            _if_measured(partial(_cost_s, grouping, receivers), math.nan) for receivers in RECEIVERS
        ]
        rows.append((grouping, *(_shown(cost_s * 1e6, ".1f") for cost_s in costs_s)))
    _print(("sender's CPU, µs a tuple", *(f"{n} receivers" for n in RECEIVERS)), rows)


def _seen(run: Callable[[float], Seen], rate: float) -> Seen:
    """Half of a rate that is not known is not known either."""
    return _UNKNOWN if math.isnan(rate) else _if_measured(partial(run, rate), _UNKNOWN)


def _if_measured(measure: Callable[[], Found], unknown: Found) -> Found:
    """What was measured, unless the machine was too slow for it."""
    try:
        return measure()
    except (OSError, HTTPException, subprocess.TimeoutExpired) as error:
        sys.stderr.write(f"not measured: {error!r}\n")
        return unknown


def _shown(value: float, form: str) -> str:
    """A latency beyond the last bucket is not known either."""
    return format(value, form) if math.isfinite(value) else "unknown"


def _print(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    lines = [head, ["---"] * len(head), *rows]
    sys.stdout.write("\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n\n")
    sys.stdout.flush()


def _zmq(rate: float) -> Seen:
    port = _free_port()
    words = (str(rate), str(SECONDS), str(port))
    with ExitStack() as keep:
        pids = [
            keep.enter_context(_running(["bench.stream_peers", role, *words]))
            for role in ("zmq-read", "zmq-split")
        ]
        return _told(["bench.stream_peers", "zmq-count", *words, *map(str, pids)])


def _bytewax(rate: float) -> Seen:
    return _told(["bench.stream_peers", "bytewax", str(rate), str(SECONDS), "0"])


def _told(words: Sequence[str]) -> Seen:
    command = [sys.executable, "-m", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_READY_S)
    # Who gets nothing in time for the end tells nothing.
    seen = Seen(**json.loads(done.stdout)) if done.stdout else None
    if seen is None or not seen.tuples_per_s:
        raise TimeoutError(f"nothing came through {' '.join(words)}")
    return seen


def _ours(rate: float) -> Seen:
    """The three workers of a WordCount; the rate is that of words."""
    lines = str(rate / 4) if rate else _FAST
    with tempfile.TemporaryDirectory() as folder, ExitStack() as keep:
        port, http_port = _free_port(), _free_port()
        hosts = {name: f"127.83.0.{n}" for n, name in enumerate(("read", "split", "count"), 1)}
        ports = ["--port", str(port), "--http-port", str(http_port), "--rate", lines]
        _write(Path(folder, "read"), _route("split", [hosts["split"]], {"type": "Shuffle"}))
        fields = {"type": "Fields", "keys": ["word"]}
        _write(Path(folder, "split"), _route("count", [hosts["count"]], fields))
        pids = []
        for vertex, host in hosts.items():
            told = {"THALWEG_TASK": f"{vertex}-0", "THALWEG_VERTEX": vertex}
            if vertex != "count":
                told["THALWEG_ROUTES"] = str(Path(folder, vertex))
            pids.append(keep.enter_context(_worker(["--host", host, *ports], told)))
        _wait_for(hosts["count"], http_port, tuples=1)
        time.sleep(WARM_S)
        before = _scraped(hosts["count"], http_port)
        began_s, spent_s = time.monotonic(), cpu_s(pids)
        time.sleep(SECONDS)
        after = _wait_for(hosts["count"], http_port, tuples=_processed(before) + 1)
        took_s, spent_s = time.monotonic() - began_s, cpu_s(pids) - spent_s
        tuples = _processed(after) - _processed(before)
        p50_s, p99_s = (_quantile_s(before, after, share) for share in (0.5, 0.99))
        return Seen(
            tuples_per_s=tuples / took_s, p50_s=p50_s, p99_s=p99_s, cpu_s_per_tuple=spent_s / tuples
        )


def _cost_s(grouping: str, receivers: int) -> float:
    """CPU time of a source for each tuple, with so many receivers in one other process."""
    with tempfile.TemporaryDirectory() as folder, ExitStack() as keep:
        port, http_port = _free_port(), _free_port()
        sender, receiver = "127.84.0.1", "127.84.0.2"
        ports = ["--port", str(port), "--http-port", str(http_port), "--rate", "20000"]
        how = {"type": grouping, "keys": ["id"] if grouping == "Fields" else []}
        _write(Path(folder, "read"), _route("take", [receiver] * receivers, how))
        tasks = [{"vertex": "take", "task": f"take-{n}"} for n in range(receivers)]
        told = {"THALWEG_TASKS": json.dumps(tasks)}
        keep.enter_context(_worker(["--host", receiver, *ports], told))
        _wait_for(receiver, http_port, tuples=0)
        me = {"THALWEG_TASK": "read-0", "THALWEG_VERTEX": "read"}
        me["THALWEG_ROUTES"] = str(Path(folder, "read"))
        keep.enter_context(_worker(["--host", sender, *ports], me))
        # Keyed receivers first ask each other for state, while the source has made all it may.
        _wait_for(sender, http_port, tuples=2 * _UNDER_WAY)
        time.sleep(WARM_S)
        before = _scraped(sender, http_port)
        time.sleep(SECONDS / 2)
        after = _wait_for(sender, http_port, tuples=_processed(before) + _ENOUGH)
        spent_s, made = _cpu_s(after) - _cpu_s(before), _processed(after) - _processed(before)
        return spent_s / made


def _route(to: str, hosts: Sequence[str], grouping: Routes) -> Routes:
    many = len(hosts)
    tasks = [
        {
            "name": f"{to}-{index}",
            "incarnation": 0,
            "address": host,
            "node": "n",
            "domain": "d",
            "weight": 1.0,
            "keyGroups": [
                [-(-index * _KEY_GROUPS // many), -(-(index + 1) * _KEY_GROUPS // many) - 1]
            ],
        }
        for index, host in enumerate(hosts)
    ]
    return {"version": 1, "edges": [{"to": to, "grouping": grouping, "tasks": tasks}]}


def _write(path: Path, routes: Routes) -> None:
    path.write_text(json.dumps(routes), encoding="utf-8")


@contextmanager
def _worker(words: Sequence[str], told: dict[str, str]) -> Iterator[int]:
    program = ["thalweg_runtime.worker", "--program", "bench.stream_steps", "--log", "error"]
    with _running([*program, *words], {"THALWEG_TOPOLOGY": "bench", **told}) as pid:
        yield pid


@contextmanager
def _running(words: Sequence[str], told: dict[str, str] | None = None) -> Iterator[int]:
    """Give the process' number."""
    process = subprocess.Popen([sys.executable, "-m", *words], env=os.environ | (told or {}))
    try:
        yield process.pid
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _scraped(host: str, port: int) -> dict[str, float]:
    connection = HTTPConnection(host, port, timeout=20)
    try:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    finally:
        connection.close()
    return {
        f"{sample.name} {sample.labels.get('le', '')}".strip(): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def _processed(scraped: dict[str, float]) -> float:
    return scraped.get("thalweg_processed_total", 0.0)


def _cpu_s(scraped: dict[str, float]) -> float:
    return scraped.get("thalweg_cpu_seconds_total", math.nan)


def _wait_for(host: str, port: int, *, tuples: float) -> dict[str, float]:
    """What it tells once it has processed so many; with 0, once it answers at all."""
    deadline_s = time.monotonic() + _READY_S
    while True:
        try:
            found = _scraped(host, port)
            if _processed(found) >= tuples:
                return found
        except OSError:
            pass
        if time.monotonic() > deadline_s:
            raise TimeoutError(f"{host} did not process {tuples:,.0f} tuples in {_READY_S:g} s")
        time.sleep(0.05)


def _quantile_s(before: dict[str, float], after: dict[str, float], share: float) -> float:
    """From the histogram of a sink, between two scrapes; within a bucket evenly."""
    name = "thalweg_latency_seconds_bucket"
    counts = sorted(
        (float(key.partition(" ")[2]), value - before.get(key, 0.0))
        for key, value in after.items()
        if key.startswith(name)
    )
    if not counts:
        return math.nan
    wanted = share * counts[-1][1]
    low_s, below = 0.0, 0.0
    for bound_s, count in counts:
        if count >= wanted and count > below:
            return low_s + (bound_s - low_s) * (wanted - below) / (count - below)
        low_s, below = bound_s, count
    return math.nan


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("", 0))
        return int(one.getsockname()[1])
