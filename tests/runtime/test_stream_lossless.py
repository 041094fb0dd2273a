"""Nothing is lost, whatever is killed, paused, added, removed or routed anew."""

import os
import random
import signal
import sys
import time
from pathlib import Path

import pytest

from thalweg_stream_bed import WORD_COUNT, StreamBed, Worker, eventually
from thalweg_stream_steps import OF_A_TASK, words_of

pytestmark = pytest.mark.slow

LINES = int(os.environ.get("THALWEG_STREAM_LINES", "24000"))
"""A quarter of the tuples; 250000 are a million."""
SOURCES = 2
ROUTES = 20


def replace(bed: StreamBed, worker: Worker) -> Worker:
    """Start the next incarnation of a task that was killed, and name it in routes."""
    worker.kill()
    successor = bed.start(worker.vertex, worker.index)
    eventually(successor.is_ready, f"{successor.task} is ready")
    bed.forget(worker)
    bed.route()
    return successor


def pause(worker: Worker) -> None:
    """Stop a process for longer than anybody waits for it."""
    worker.process.send_signal(signal.SIGSTOP)
    time.sleep(4)
    worker.process.send_signal(signal.SIGCONT)


def grow_and_shrink(bed: StreamBed, vertex: str) -> None:
    added = bed.start(vertex, len(bed.of(vertex)))
    eventually(added.is_ready, f"{added.task} is ready")
    bed.routed(bed.route())
    bed.forget(added)
    bed.routed(bed.route())
    assert added.terminate() == 0


def shake(bed: StreamBed) -> None:
    """Write other weights and leave somebody out, again and again."""
    rng = random.Random(7)
    for _ in range(ROUTES):
        some = bed.of("split")
        for worker in some:
            worker.weight = rng.choice([0.5, 1, 3])
        bed.routed(bed.route({"split": rng.sample(some, rng.randint(1, len(some)))}))
    bed.route()


def test_every_id_arrives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "positions").mkdir()
    each = LINES // SOURCES
    words = ["--rate", "1200", "--last", str(each), "--positions", str(tmp_path / "positions")]
    patience = ["--dead-after-s", "3", "--hand-over-s", "3"]
    arguments = {"read": words + patience, "split": patience, "count": patience, "sink": patience}
    with StreamBed(folder=tmp_path, edges=WORD_COUNT, arguments=arguments) as bed:
        bed.start_all(read=SOURCES, split=2, count=2, sink=1)
        sink = bed.of("sink")[0]
        eventually(lambda: sink.value("thalweg_processed_total") > 1000, "tuples flow")
        replace(bed, bed.of("split")[0])
        replace(bed, bed.of("count")[1])
        grow_and_shrink(bed, "split")
        pause(bed.of("count")[0])
        grow_and_shrink(bed, "count")
        shake(bed)
        replace(bed, bed.of("read")[0])
        pause(sink)
        for source in bed.of("read"):
            source.post("/rate", {"profile": "100000"})
        sent = [task * OF_A_TASK + number for task in range(SOURCES) for number in range(each)]
        expected = {(one, word) for one in sent for word in words_of(one % OF_A_TASK)}

        def arrived() -> bool:
            return expected <= {(one, word) for one, word, _ in bed.lines()}

        eventually(arrived, "every id arrives", timeout_s=240)
        extra = len(bed.lines()) - len(expected)
        with capsys.disabled():
            sys.stdout.write(f"\n{len(expected)} tuples, {extra} of them twice\n")
