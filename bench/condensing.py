"""Condensing: Spark, numpy and the naive way on the same samples; time and peak memory.

    python -m bench condensing 10000000            # all peers
    python -m bench condensing 100000000 local     # Spark local[2] alone; also: standalone, numpy
    python -m bench condensing crossing            # where Spark overtakes numpy
    python -m bench condensing warm                # 500 tasks × 50 nodes × 15 min from Prometheus
    python -m bench condensing passes 500          # memory of the Spark child, pass after pass

The history is written once to the cache, by `python -m bench condensing write 100000000`.
"""

import json
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import psutil

from bench.condensing_passes import passes, warm
from bench.condensing_peers import write_history
from bench.registry import UnknownWords
from bench.tables import table
from bench.timing import machine
from thalweg_testbed.binaries import cache_directory
from thalweg_testbed.spark_servers import StandaloneSpark

MEGA = 2**20
_LOOK_EVERY_S = 0.1
NAIVE_UP_TO = 10_000_000
PEERS = {
    "local": "Spark `local[2]`",
    "standalone": "Spark standalone, 2 workers",
    "numpy": "numpy path",
    "naive": "MetricRangeDataFrame + pandas",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One peer on one history."""

    peer: str
    samples: int
    seconds: float
    most_bytes: int
    rows: int
    total: float


def main(*words: str) -> None:
    """Run what the words say; ten million samples without any."""
    match words:
        case ("write", count):
            history(int(count))
        case ("crossing",):
            crossing()
        case ("warm",):
            warm()
        case ("passes", count):
            passes(int(count))
        case ():
            compare(NAIVE_UP_TO, tuple(PEERS))
        case (count, *peers) if count.isdigit() and set(peers) <= set(PEERS):
            compare(int(count), tuple(peers or PEERS))
        case _:
            raise UnknownWords(__doc__ or "")


def history(samples: int) -> Path:
    """The file with that many samples, made where it is missing."""
    file = cache_directory() / "bench" / f"history-{samples}.parquet"
    if not file.exists():
        fresh = file.with_suffix(".part")
        write_history(fresh, samples)
        fresh.rename(file)
    return file


def compare(samples: int, peers: tuple[str, ...]) -> None:
    """One table; where the naive way ran, with ratios to it."""
    print(f"\n{machine()}")
    file = history(samples)
    left_out = {"naive"} if samples > NAIVE_UP_TO else set()
    runs = [run(peer, samples, file) for peer in peers if peer not in left_out]
    naive = next((one for one in runs if one.peer == "naive"), None)
    head = ["peer", "samples", "seconds", "samples/s", "peak memory", "against naive", "pairs"]
    print(table(head, [_row(one, naive) for one in runs]))


def _row(one: Run, naive: Run | None) -> list[object]:
    return [
        PEERS[one.peer],
        f"{one.samples:,}",
        f"{one.seconds:.1f}",
        f"{one.samples / one.seconds:,.0f}",
        f"{one.most_bytes / MEGA:,.0f} MiB",
        "–" if naive is None else f"{naive.seconds / one.seconds:.1f}×",
        f"{one.rows:,} (sum {one.total:.6g}/s)",
    ]


def run(peer: str, samples: int, file: Path) -> Run:
    """Run a peer in a process of its own and watch its memory, and that of its servers."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="thalweg-bench-")))
        master, watched = "local[2]", []
        if peer == "standalone":
            cluster = stack.enter_context(StandaloneSpark(folder))
            master, watched = cluster.url, cluster.pids
        kind = {"local": "spark", "standalone": "spark", "naive": "pandas"}.get(peer, peer)
        words = [sys.executable, "-m", "bench.condensing_peers", kind, str(file), master]
        with (folder / "errors").open("wb") as errors:
            process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors)
        most = _most_memory(process, watched)
        said = process.communicate()[0].decode()
        if process.returncode != 0:
            raise RuntimeError(f"{peer}: {(folder / 'errors').read_text()[-2000:]}")
    told = json.loads(said.splitlines()[-1])
    return Run(
        peer=peer,
        samples=samples,
        seconds=told["seconds"],
        most_bytes=most,
        rows=told["rows"]["dependency"],
        total=told["sum"],
    )


def _most_memory(process: subprocess.Popen[bytes], others: list[int]) -> int:
    """The most that a process, its children and some other trees held at one time."""
    most = 0
    while process.poll() is None:
        most = max(most, sum(tree_bytes(pid) for pid in (process.pid, *others)))
        time.sleep(_LOOK_EVERY_S)
    return most


def tree_bytes(pid: int) -> int:
    """Memory of a process and all that it started."""
    held = 0
    try:
        root = psutil.Process(pid)
        family = [root, *root.children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for one in family:
        try:
            held += one.memory_info().rss
        except psutil.NoSuchProcess:
            continue
    return held


def crossing() -> None:
    """Numpy and Spark from ten thousand samples up."""
    print(f"\n{machine()}")
    rows = []
    for samples in (10_000, 100_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000):
        file = history(samples)
        ours, theirs = run("local", samples, file), run("numpy", samples, file)
        ratio = theirs.seconds / ours.seconds
        rows.append(
            [f"{samples:,}", f"{ours.seconds:.2f}", f"{theirs.seconds:.2f}", f"{ratio:.2f}×"]
        )
    print(table(["samples", "Spark `local[2]`, s", "numpy, s", "Spark against numpy"], rows))
