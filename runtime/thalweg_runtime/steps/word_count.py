"""WordCount: read → split → count → output, or with count as the last (Md, Ra, Hd)."""

from collections.abc import Iterator
from typing import Any

from thalweg_runtime.steps.seeded import Skewed, drawn, task_index

WORDS_A_LINE = 4
VOCABULARY = 2000
_WORDS = Skewed(VOCABULARY)

Record = dict[str, Any]


def read(sequence: int) -> Record:
    """Make a line; its id is the source's number and the line's."""
    chance = drawn(sequence)
    words = [f"word{_WORDS.place(chance)}" for _ in range(WORDS_A_LINE)]
    return {"source": task_index(), "id": sequence, "line": " ".join(words)}


def split(record: Record) -> Iterator[Record]:
    """Cut a line into words."""
    for part, word in enumerate(record["line"].split()):
        yield {"word": word, "source": record["source"], "id": record["id"], "part": part}


def count(record: Record, state: Record) -> Record:
    """Count a word; the state is that of its key group."""
    word = record["word"]
    state[word] = state.get(word, 0) + 1
    return {**record, "count": state[word]}


def output(record: Record) -> None:
    """Take the counts, as a database would."""
