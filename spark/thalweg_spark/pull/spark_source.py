"""Prometheus as a Spark data source: every partition asks for its share of the queries.

What a server warns of, and why one could not be asked, comes as rows too: an exception in a Python
worker would be tried again by Spark and reach the driver as a page of Java.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition

from thalweg_spark.condense.figures import WELCOME, key_of
from thalweg_spark.condense.series import Series
from thalweg_spark.errors import CondenseError
from thalweg_spark.pull.prometheus import Prometheus, Source, chunks
from thalweg_spark.pull.reading import Reading
from thalweg_spark.steps.series import ERROR, SERIES_DDL, WARNING, batches, note_batch

FORMAT = "thalweg-prometheus"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """One query over one chunk of time."""

    fact: str
    query: str
    length_s: float
    end_s: float


@dataclass(frozen=True)
class Share(InputPartition):
    """What one partition asks."""

    asks: tuple[Ask, ...]


def options(
    source: Source, reading: Reading, windows_s: dict[str, float], *, at_s: float, partitions: int
) -> dict[str, str]:
    """The reader's options; secrets are named by their files, for options show up in plans."""
    return {
        "source": json.dumps(source.document()),
        "reading": json.dumps(reading.document()),
        "windows": json.dumps(windows_s),
        "at_s": repr(at_s),
        "partitions": str(partitions),
    }


def is_in_one_piece(windows_s: Mapping[str, float], at_s: float) -> bool:
    """Whether every series comes as one row: no window is longer than one query may be."""
    return all(len(list(chunks(window_s, at_s))) == 1 for window_s in windows_s.values())


class PrometheusDataSource(DataSource):
    """`spark.read.format("thalweg-prometheus")`."""

    @classmethod
    def name(cls) -> str:
        """The format's name."""
        return FORMAT

    def schema(self) -> str:
        """One row a series and chunk."""
        return SERIES_DDL

    def reader(self, schema: Any) -> "PrometheusReader":  # noqa: ANN401, ARG002
        """The reader for the options given."""
        return PrometheusReader(dict(self.options))


class PrometheusReader(DataSourceReader):
    """Splits the queries among partitions, longest first."""

    def __init__(self, given: dict[str, str]) -> None:
        """Parse the options; nothing is sent yet."""
        self._source = Source.of_document(json.loads(given["source"]))
        self._reading = Reading.of_document(json.loads(given["reading"]))
        self._windows_s: dict[str, float] = json.loads(given["windows"])
        self._at_s = float(given["at_s"])
        self._count = max(1, int(given["partitions"]))

    def partitions(self) -> Sequence[Share]:
        """Shares of about the same length of time."""
        # Those that are needed first, then those that take long.
        asks = sorted(self._asks(), key=lambda ask: (ask.fact in WELCOME, -ask.length_s))
        shares = [tuple(asks[first :: self._count]) for first in range(self._count)]
        return [Share(share) for share in shares if share]

    def _asks(self) -> Iterator[Ask]:
        for fact, query in self._reading.preset.queries.items():
            for length_s, end_s in chunks(self._windows_s[fact], self._at_s):
                yield Ask(fact=fact, query=query, length_s=length_s, end_s=end_s)

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The series of one share, then what the server warned of."""
        assert isinstance(partition, Share)  # noqa: S101
        try:
            with closing(Prometheus(self._source)) as server:
                yield from batches(self._series(server, partition.asks), self._at_s)
        except CondenseError as error:
            yield note_batch(ERROR, [f"{error.exit_code} {error}"])
        else:
            yield note_batch(WARNING, server.warnings)

    def _series(self, server: Prometheus, asks: Sequence[Ask]) -> Iterator[tuple[str, Series]]:
        for ask in asks:
            samples = server.samples_if_any if ask.fact in WELCOME else server.samples
            found = samples(ask.query, window_s=ask.length_s, at_s=ask.end_s)
            ours = self._reading.read(ask.fact, found)
            # Series about the same follow one another, so that nobody has to bring them together.
            for one in sorted(ours, key=lambda one: key_of(ask.fact, one.labels)):
                yield ask.fact, one
