"""The WordCount that workers and their peers run: the same lines, the same work for each."""

from collections.abc import Iterator
from typing import Any

WORDS_A_LINE = 4
_VOCABULARY = 1000
LINES = tuple(
    " ".join(f"word{(line * 7 + place * 131) % _VOCABULARY}" for place in range(WORDS_A_LINE))
    for line in range(_VOCABULARY)
)

Record = dict[str, Any]


def read(sequence: int) -> Record:
    """Give a line."""
    return {"id": sequence, "line": LINES[sequence % len(LINES)]}


def split(record: Record) -> Iterator[Record]:
    """Cut it into words."""
    for word in record["line"].split():
        yield {"word": word, "id": record["id"]}


def count(record: Record, state: Record) -> None:
    """Count a word."""
    word = record["word"]
    state[word] = state.get(word, 0) + 1


def take(record: Record) -> None:
    """Do nothing with what comes."""
