"""Scaling and moving hand key groups over with their state: counts stay exact."""

from pathlib import Path

import pytest

from thalweg_stream_bed import WORD_COUNT, StreamBed, Worker, eventually
from thalweg_stream_steps import VOCABULARY, WORDS_A_LINE

pytestmark = pytest.mark.slow

LINES = 12_000


def retire(bed: StreamBed, *old: Worker) -> None:
    """What the operator does: routes first, then SIGTERM to what they name no more."""
    bed.forget(*old)
    bed.routed(bed.route())
    for worker in old:
        assert worker.terminate() == 0, worker.log.read_text()


def scale(bed: StreamBed, replicas: int) -> None:
    before = bed.of("count")
    started = [bed.start("count", index) for index in range(len(before), replicas)]
    for worker in started:
        eventually(worker.is_ready, f"{worker.task} is ready")
    retire(bed, *before[replicas:])


def move(bed: StreamBed, index: int) -> None:
    old = bed.of("count")[index]
    new = bed.start("count", index)
    eventually(new.is_ready, f"{new.task} is ready")
    retire(bed, old)


def test_counts_are_exact_after_scaling_and_moving(tmp_path: Path) -> None:
    rate = ["--rate", "1500", "--last", str(LINES)]
    with StreamBed(folder=tmp_path, edges=WORD_COUNT, arguments={"read": rate}) as bed:
        bed.start_all(read=1, split=2, count=4, sink=1)
        sink = bed.of("sink")[0]
        eventually(lambda: sink.value("thalweg_processed_total") > 1000, "tuples flow")
        scale(bed, 6)
        move(bed, 0)
        move(bed, 5)
        scale(bed, 3)
        move(bed, 1)
        bed.of("read")[0].post("/rate", {"profile": "100000"})
        expected = LINES * WORDS_A_LINE
        eventually(lambda: sink.value("thalweg_processed_total") >= expected, "everything arrives")
        lines = bed.lines()
        assert len(lines) == expected, "duplicates, though nothing crashed"
        largest: dict[str, int] = {}
        for _, word, number in lines:
            largest[word] = max(number, largest.get(word, 0))
        assert set(largest.values()) == {expected // VOCABULARY}, bed.logs()
        assert len(largest) == VOCABULARY
