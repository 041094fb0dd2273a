"""One run: pull, condense, publish. The numpy engine; Spark's gives the same tables."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from thalweg_spark.condense import tables
from thalweg_spark.condense.coverage import coverage
from thalweg_spark.condense.expectation import Expectation
from thalweg_spark.condense.series import Series
from thalweg_spark.publish.store import publish
from thalweg_spark.pull.presets import Preset
from thalweg_spark.pull.prometheus import Prometheus

_SLOW_FACTS = ("tuples", "bytes", "rtt")
"""What placement is decided by: over the longer window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Windows:
    """How far back is looked."""

    scaling_s: float = 30.0
    placement_s: float = 300.0

    def of(self, fact: str) -> float:
        """The window of one fact."""
        return self.placement_s if fact in _SLOW_FACTS else self.scaling_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a run did, for whoever started it."""

    run: str
    rows: Mapping[str, int]
    seconds: Mapping[str, float]
    warnings: tuple[str, ...]
    engine: str = "numpy"
    coverage: Mapping[str, float] = field(default_factory=dict)


def condense_once(
    source: Prometheus,
    preset: Preset,
    expectation: Expectation | None,
    store: Path,
    *,
    at_s: float,
    windows: Windows,
) -> Report:
    """Pull everything that the preset names, condense it, publish it."""
    begun = time.perf_counter()
    pulled = {
        fact: source.samples(query, window_s=windows.of(fact), at_s=at_s)
        for fact, query in preset.queries.items()
    }
    pulled_at = time.perf_counter()
    found = condense(pulled, preset, expectation, at_s=at_s, windows=windows)
    condensed_at = time.perf_counter()
    newest = [row["observed_at_s"] for row in found["coverage"]]
    observed_at_s = max((at for at in newest if math.isfinite(at)), default=0.0)
    run = publish(store, found, engine="numpy", observed_at_s=observed_at_s)
    return Report(
        run=run,
        rows={name: len(rows) for name, rows in found.items()},
        seconds={
            "pull": pulled_at - begun,
            "condense": condensed_at - pulled_at,
            "publish": time.perf_counter() - condensed_at,
        },
        warnings=source.warnings,
        coverage={
            "/".join(filter(None, (row["matrix"], row["namespace"], row["topology"]))): row[
                "coverage"
            ]
            for row in found["coverage"]
        },
    )


def condense(
    pulled: Mapping[str, list[Series]],
    preset: Preset,
    expectation: Expectation | None,
    *,
    at_s: float,
    windows: Windows,
) -> dict[str, list[dict[str, Any]]]:
    """All tables from all series; pure."""
    grouper = tables.Grouper(preset=preset)
    windows_s = {
        "dependency": windows.placement_s,
        "node_latency": windows.placement_s,
        "task_load": windows.scaling_s,
    }
    return {
        "dependency": tables.dependency(pulled, grouper, recent_since_s=at_s - windows.scaling_s),
        "task_load": tables.task_load(pulled, grouper),
        "node_latency": tables.node_latency(pulled, grouper),
        "node_capacity": [],
        "tuple_latency": tables.tuple_latency(pulled, grouper),
        "coverage": coverage(pulled, grouper, expectation, windows_s=windows_s, at_s=at_s),
    }
