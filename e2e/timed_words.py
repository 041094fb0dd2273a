"""WordCount whose last step measures for itself how long words took; it runs in the workers.

By the clock of the machine that all nodes are on. `timed_words_total` are the words that came, and
`timed_seconds_total` how long they took altogether.
"""

import time
from collections.abc import Iterator

from prometheus_client import Counter

from thalweg_runtime.steps import word_count
from thalweg_runtime.steps.word_count import Record, count

__all__ = ["count", "output", "read", "split"]

_words = Counter("timed_words", "Words that came.")
_seconds = Counter("timed_seconds", "From when their lines were made.")


def read(sequence: int) -> Record:
    """Make a line, and note when."""
    return {**word_count.read(sequence), "made_s": time.time()}


def split(record: Record) -> Iterator[Record]:
    """Cut it into words, which are as old as it is."""
    for word in word_count.split(record):
        yield {**word, "made_s": record["made_s"]}


def output(record: Record) -> None:
    """Look at the clock."""
    _words.inc()
    _seconds.inc(time.time() - record["made_s"])
