"""Series as Prometheus would have scraped them from a topology's tasks, for the fake one."""

import time
from collections.abc import Iterable, Mapping
from typing import Any

from thalweg_fake_prometheus import FakePrometheus

Samples = list[tuple[float, str]]
SCRAPE_S = 5.0
_BEHIND_S, _AHEAD_S = 330.0, 600.0
"""Samples also of the time to come: the fake answers with those that have happened."""


def scraped(
    namespace: str,
    topology: str,
    tasks: Mapping[str, Iterable[str]],
    edges: Iterable[tuple[str, str]],
    *,
    per_s: float,
    task_per_s: float = 1000.0,
) -> dict[str, list[tuple[dict[str, str], Samples]]]:
    """The counters of `tasks`, by vertex, while so many tuples flow through each vertex."""
    of = {"namespace": namespace, "topology": topology}
    names = {vertex: sorted(found) for vertex, found in tasks.items()}
    series: dict[str, list[tuple[dict[str, str], Samples]]] = {
        "thalweg_processed_total": [],
        "thalweg_busy_seconds_total": [],
        "thalweg_tuples_total": [],
    }
    for vertex, found in names.items():
        for task in found:
            labels = {**of, "vertex": vertex, "task": task}
            share = per_s / len(found)
            series["thalweg_processed_total"].append((labels, _counter(share)))
            series["thalweg_busy_seconds_total"].append((labels, _counter(share / task_per_s)))
    for source, target in edges:
        for sender in names[source]:
            for receiver in names[target]:
                labels = {**of, "vertex": source, "task": sender}
                labels |= {"to_vertex": target, "to_task": receiver}
                rate = per_s / (len(names[source]) * len(names[target]))
                series["thalweg_tuples_total"].append((labels, _counter(rate)))
    return series


def _counter(per_s: float) -> Samples:
    begin = time.time() - _BEHIND_S
    count = int((_BEHIND_S + _AHEAD_S) / SCRAPE_S)
    return [
        (begin + SCRAPE_S * number, f"{per_s * SCRAPE_S * number:.6f}") for number in range(count)
    ]


def every_sample(fake: FakePrometheus, change: Any) -> None:
    """Change every sample of every series: `change(time, value)` gives the new pair."""
    fake.series = {
        metric: [(labels, [change(at, value) for at, value in samples]) for labels, samples in rows]
        for metric, rows in fake.series.items()
    }
