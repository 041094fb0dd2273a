"""A small word count whose result can be checked, as a program of the worker.

Every line has the same words, so that what must come out is known from the number of lines. The
sink writes what it gets to the file that STREAM_RESULTS names.
"""

import os
from collections.abc import Iterator
from typing import Any

WORDS_A_LINE = 4
VOCABULARY = 200
OF_A_TASK = 10_000_000
"""Each source task has ids of its own."""


def words_of(sequence: int) -> list[str]:
    """The words of a line: other ones in each, all of them equally often in the end."""
    first = sequence * WORDS_A_LINE
    return [f"word-{(first + place) % VOCABULARY}" for place in range(WORDS_A_LINE)]


def read(sequence: int) -> dict[str, Any]:
    """Make the line of a number."""
    task = int(os.environ.get("THALWEG_TASK", "read-0").rpartition("-")[2])
    return {"id": task * OF_A_TASK + sequence, "line": " ".join(words_of(sequence))}


def split(record: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Cut a line into words."""
    for word in record["line"].split():
        yield {"word": word, "id": record["id"]}


def count(record: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """Count a word."""
    word = record["word"]
    state[word] = state.get(word, 0) + 1
    return {"word": word, "count": state[word], "id": record["id"]}


class Keep:
    """Write down all that comes."""

    def __init__(self) -> None:
        self._file = os.open(os.environ["STREAM_RESULTS"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def __call__(self, record: dict[str, Any]) -> None:
        """Write a line; whole even if another process writes too."""
        os.write(self._file, f"{record['id']} {record['word']} {record['count']}\n".encode())


sink = Keep


def broken(record: dict[str, Any]) -> None:
    """Fail as a user's own code might."""
    raise ValueError(f"cannot do {record['id']}")


def numbers(sequence: int) -> dict[str, Any]:
    """A number, with a word that comes again and again."""
    return {"id": sequence, "word": f"word-{sequence % VOCABULARY}"}


def take(record: dict[str, Any]) -> None:
    """Do nothing with what comes."""


def tally(record: dict[str, Any], state: dict[str, Any]) -> None:
    """Keep every number that came, by its word."""
    state.setdefault(record["word"], []).append(record["id"])
