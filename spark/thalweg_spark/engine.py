"""One run: pull, condense, publish. Two engines give the same tables."""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

from thalweg_spark.condense import completing, places, tables
from thalweg_spark.condense.capacity import node_capacity
from thalweg_spark.condense.coverage import coverage
from thalweg_spark.condense.expectation import Expectation
from thalweg_spark.condense.figures import WELCOME, Figures, figures, is_ours
from thalweg_spark.condense.places import Seen
from thalweg_spark.condense.presence import presences
from thalweg_spark.condense.series import Series
from thalweg_spark.condense.traffic import node_traffic
from thalweg_spark.publish.store import publish
from thalweg_spark.pull.presets import Preset
from thalweg_spark.pull.prometheus import LEFT_OUT, Prometheus, Source, chunks
from thalweg_spark.pull.reading import Reading, in_order, whole

_SLOW_FACTS = frozenset(
    {"tuples", "bytes", "rtt", "rtt_sum", "rtt_count", "sent", "task_info", *WELCOME}
)
"""What placement is decided by, and what is scraped seldom: over the longer window."""

CLOCKS = "clocks differ: "
"""How a warning begins that takes nothing from the answers."""
_SKEW_FOLLOWED_S = 1.0
_SKEW_TOLD_S = 5.0

Tables = dict[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How far back is looked."""

    scaling_s: float = 30.0
    placement_s: float = 300.0

    def of(self, fact: str) -> float:
        """The window of one fact."""
        return self.placement_s if fact in _SLOW_FACTS else self.scaling_s

    @property
    def by_matrix(self) -> dict[str, float]:
        """The window of each matrix whose coverage is counted."""
        return {
            "dependency": self.placement_s,
            "node_latency": self.placement_s,
            "node_capacity": self.placement_s,
            "task_load": self.scaling_s,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One run: what to read, by what, and where the matrices go."""

    source: Source
    preset: Preset
    expectation: Expectation | None
    store: str | Path
    """A folder, or the address of a folder on any file system that pyarrow knows."""
    at_s: float
    windows: Windows
    keep_runs: int = 20
    is_now: bool = False
    """Whether `at_s` is now by our clock: then the windows end now by the server's."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What an engine made of the samples."""

    tables: Tables
    warnings: tuple[str, ...]
    seconds: Mapping[str, float]


class Engine(Protocol):
    """Whatever turns samples into tables."""

    @property
    def name(self) -> str:
        """What it is called in the store's pointer."""

    def find(self, request: Request) -> Found:
        """Pull and condense."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run did, for whoever started it."""

    run: str
    rows: Mapping[str, int]
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    engine: str = "numpy"
    coverage: Mapping[str, float] = field(default_factory=dict)


def condense_once(engine: Engine, request: Request) -> Report:
    """Let the engine pull and condense all that the preset names, and publish it."""
    found = engine.find(request)
    condensed_at = time.perf_counter()
    newest = [row["observed_at_s"] for row in found.tables["coverage"]]
    observed_at_s = max((at for at in newest if math.isfinite(at)), default=0.0)
    run = publish(
        request.store,
        found.tables,
        engine=engine.name,
        observed_at_s=observed_at_s,
        at_s=request.at_s,
        keep=request.keep_runs,
        # Those that hinder a decision first: not all are kept.
        warnings=sorted(found.warnings, key=lambda text: text.startswith(LEFT_OUT)),
        is_partial=not all(text.startswith((LEFT_OUT, CLOCKS)) for text in found.warnings),
    )
    return Report(
        run=run,
        rows={name: len(rows) for name, rows in found.tables.items()},
        seconds={**found.seconds, "publish": time.perf_counter() - condensed_at},
        warnings=found.warnings,
        engine=engine.name,
        coverage={
            "/".join(filter(None, (row["matrix"], row["namespace"], row["topology"]))): row[
                "coverage"
            ]
            for row in found.tables["coverage"]
        },
    )


class NumpyEngine:
    """Condenses in this process; the reference, and the stand-in while Spark is down."""

    name = "numpy"

    def find(self, request: Request) -> Found:
        """Pull everything that the preset names, one query after the other."""
        begun = time.perf_counter()
        with closing(Prometheus(request.source)) as source:
            request, told = by_servers_clock(request, source)
            reading = reading_of(request)
            pulled = {
                fact: self._series(source, reading, fact, request)
                for fact in in_order(request.preset.queries)
            }
        pulled_at = time.perf_counter()
        found = condense(
            pulled,
            request.expectation,
            at_s=request.at_s,
            windows=request.windows,
        )
        seconds = {"pull": pulled_at - begun, "condense": time.perf_counter() - pulled_at}
        return Found(tables=found, warnings=(*source.warnings, *told), seconds=seconds)

    def _series(
        self, source: Prometheus, reading: Reading, fact: str, request: Request
    ) -> list[Series]:
        samples = source.samples_if_any if fact in WELCOME else source.samples
        pieces = [
            reading.read(fact, samples(request.preset.queries[fact], window_s=length_s, at_s=end_s))
            for length_s, end_s in chunks(request.windows.of(fact), request.at_s)
        ]
        return pieces[0] if len(pieces) == 1 else whole(chain.from_iterable(pieces))


def by_servers_clock(request: Request, source: Prometheus) -> tuple[Request, tuple[str, ...]]:
    """The run with its windows ending now by the clock that samples are stamped by.

    By a clock of ours that is twenty seconds ahead, every series would have ended.
    """
    skew_s = source.skew_s() if request.is_now else 0.0
    if abs(skew_s) < _SKEW_FOLLOWED_S:
        return request, ()
    side = "ahead of" if skew_s > 0 else "behind"
    said = f"{CLOCKS}the metrics server's is {abs(skew_s):.0f} s {side} ours"
    told = (said,) if abs(skew_s) >= _SKEW_TOLD_S else ()
    return replace(request, at_s=request.at_s + skew_s), told


def reading_of(request: Request) -> Reading:
    """How the answers of a run are read."""
    expectation = request.expectation
    owners = {} if expectation is None else expectation.owners
    return Reading(preset=request.preset, owners=owners)


def condense(
    pulled: Mapping[str, list[Series]],
    expectation: Expectation | None,
    *,
    at_s: float,
    windows: Windows,
) -> Tables:
    """All tables from all series; those that do not say what they are about are not ours."""
    pulled = {
        fact: [one for one in series if is_ours(fact, one.labels)]
        for fact, series in pulled.items()
    }
    known = figures(pulled, at_s=at_s, recent_s=windows.scaling_s)
    there = places.seen(pulled)
    nodes = places.pod_nodes(there, known, expectation)
    rows: Tables = {
        "dependency": tables.dependency(known),
        "task_load": tables.task_load(known),
        "node_latency": tables.node_latency(known),
        "node_traffic": node_traffic(pulled, known, places.stays(there, nodes), nodes),
        "tuple_latency": tables.tuple_latency(known),
        "coverage": coverage(
            presences(pulled, at_s=at_s),
            expectation,
            known=known,
            windows_s=windows.by_matrix,
            at_s=at_s,
        ),
    }
    return completed(rows, known, there, expectation)


def completed(
    rows: Tables, known: Figures, there: Sequence[Seen], expectation: Expectation | None
) -> Tables:
    """The tables of either engine with what others than Thalweg's own series say."""
    loads = completing.completed_loads(rows["task_load"], known, there)
    return {
        **rows,
        "task_load": loads,
        "dependency": completing.estimated_traffic(rows["dependency"], known, loads, expectation),
        "node_latency": completing.completed_latency(rows["node_latency"], known),
        "node_capacity": node_capacity(known, expectation),
    }
