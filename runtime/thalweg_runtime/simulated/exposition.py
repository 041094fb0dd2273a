"""The simulation's state in Prometheus' text format.

Written by hand: with tens of thousands of series, joining strings that were prepared once costs a
hundredth of making sample objects.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np

from thalweg_runtime.simulated.counting import BOUNDS_S, Histograms
from thalweg_runtime.simulated.simulation import Play, Simulation
from thalweg_runtime.simulated.staging import Stage
from thalweg_scheduling.model.arrays import Bools, Floats

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_COUNTERS = (
    ("thalweg_processed_total", "processed", "Tuples that a task has processed."),
    ("thalweg_busy_seconds_total", "busy_s", "Time in which a task processed."),
    (
        "thalweg_backpressured_seconds_total",
        "backpressured_s",
        "Time in which a task could not send.",
    ),
    ("thalweg_wait_seconds_total", "waited_s", "Time that tuples have waited for a task."),
    ("thalweg_cpu_seconds_total", "cpu_s", "CPU time of a task."),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Labels:
    """The label sets of one stage, without braces."""

    tasks: tuple[str, ...]
    pairs: tuple[str, ...]

    @staticmethod
    def of(stage: Stage) -> "Labels":
        """Write them once for as long as the stage stands."""
        fact = stage.fact
        tasks = tuple(
            _written(
                namespace=fact.namespace,
                topology=fact.name,
                vertex=pod.vertex,
                task=pod.task,
                pod=pod.name,
            )
            for pod in fact.pods
        )
        ends = zip(stage.workload.sources.tolist(), stage.workload.targets.tolist(), strict=True)
        pairs = tuple(
            f"{tasks[source]},"
            + _written(to_vertex=fact.pods[target].vertex, to_task=fact.pods[target].task)
            for source, target in ends
        )
        return Labels(tasks=tasks, pairs=pairs)


class Exposition:
    """Writes a simulation; remembers the labels of stages that still stand."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._labels: dict[tuple[str, str], tuple[Stage, Labels]] = {}

    def text(self) -> str:
        """Everything, as one answer to a scrape."""
        shown = [(play, self._of(play)) for play in self._simulation.plays.values()]
        lines: list[str] = []
        for family in (_traffic, _totals, _gauges, _information, _histograms):
            lines += family(shown)
        lines += self._round_trips()
        lines.append("")
        return "\n".join(lines)

    def _of(self, play: Play) -> Labels:
        key = play.stage.fact.key
        stage, labels = self._labels.get(key, (None, None))
        if labels is None or stage is not play.stage:
            labels = Labels.of(play.stage)
            self._labels[key] = play.stage, labels
        return labels

    def _round_trips(self) -> Iterator[str]:
        yield from _head("thalweg_node_rtt_seconds", "gauge", "Round trip between two nodes.")
        names = [node.name for node in self._simulation.nodes]
        for source, row in zip(names, self._simulation.rtt_s.tolist(), strict=False):
            for target, rtt_s in zip(names, row, strict=True):
                if source != target:
                    labels = _written(source_node=source, target_node=target)
                    yield f"thalweg_node_rtt_seconds{{{labels}}} {rtt_s:.9g}"


Shown = list[tuple[Play, Labels]]


def _traffic(shown: Shown) -> Iterator[str]:
    for name, attribute, text in (
        ("thalweg_tuples_total", "sent", "Tuples sent from task to task."),
        ("thalweg_bytes_total", "sent_bytes", "Bytes sent from task to task."),
    ):
        yield from _head(name, "counter", text)
        for play, labels in shown:
            sends = play.stage.workload.sent_per_tuple > 0
            yield from _whole(name, labels.pairs, getattr(play.counters, attribute), sends)


def _totals(shown: Shown) -> Iterator[str]:
    for name, key, text in _COUNTERS:
        yield from _head(name, "counter", text)
        for play, labels in shown:
            yield from _each(name, labels.tasks, play.counters.totals[key].tolist())


def _gauges(shown: Shown) -> Iterator[str]:
    yield from _head("thalweg_queue_tuples", "gauge", "Tuples that wait for a task.")
    for play, labels in shown:
        every = np.ones(len(labels.tasks), dtype=np.bool_)
        yield from _whole("thalweg_queue_tuples", labels.tasks, play.counters.queue_tuples, every)
    yield from _head("thalweg_memory_bytes", "gauge", "Memory of a task.")
    for play, labels in shown:
        credit = np.minimum(play.counters.queue_tuples, _HELD_TUPLES)
        resident = [
            traits.memory_bytes + held * traits.tuple_bytes
            for traits, held in zip(play.stage.traits, credit.tolist(), strict=True)
        ]
        yield from _each("thalweg_memory_bytes", labels.tasks, resident)


_HELD_TUPLES = 1000.0
"""A task holds no more than its credit in memory; the rest waits outside."""


def _information(shown: Shown) -> Iterator[str]:
    yield from _head("thalweg_task_info", "gauge", "Which pod does a task's work.")
    for play, labels in shown:
        for pod, text in zip(play.stage.fact.pods, labels.tasks, strict=True):
            more = _written(process=pod.name, incarnation=str(pod.incarnation))
            yield f"thalweg_task_info{{{text},{more}}} 1"
    yield from _head("thalweg_routes_version", "gauge", "The routes that a task sends by.")
    for play, labels in shown:
        versions = play.stage.fact.routes_versions
        for pod, text in zip(play.stage.fact.pods, labels.tasks, strict=True):
            if pod.vertex in versions:
                yield f"thalweg_routes_version{{{text}}} {versions[pod.vertex]}"


def _histograms(shown: Shown) -> Iterator[str]:
    yield from _head("thalweg_latency_seconds", "histogram", "From source to sink.")
    for play, labels in shown:
        is_sink = play.stage.is_sink
        yield from _buckets("thalweg_latency_seconds", labels.tasks, play.counters.latency, is_sink)
    yield from _head(
        "thalweg_complete_seconds", "histogram", "From source to the last acknowledgement."
    )
    for play, labels in shown:
        is_source = play.stage.source_of >= 0
        yield from _buckets(
            "thalweg_complete_seconds", labels.tasks, play.counters.complete, is_source
        )


def _buckets(
    name: str, labels: tuple[str, ...], histograms: Histograms, chosen: Bools
) -> Iterator[str]:
    for task in np.flatnonzero(chosen).tolist():
        text, count = labels[task], int(histograms.count[task])
        rows = zip(_LES, histograms.buckets[task].astype(np.int64).tolist(), strict=True)
        yield from (f'{name}_bucket{{{text},le="{le}"}} {min(below, count)}' for le, below in rows)
        yield f'{name}_bucket{{{text},le="+Inf"}} {count}'
        yield f"{name}_count{{{text}}} {count}"
        yield f"{name}_sum{{{text}}} {histograms.total_s[task]:.15g}"


_LES = tuple(str(bound) for bound in BOUNDS_S)


def _head(name: str, kind: str, text: str) -> tuple[str, str]:
    return f"# HELP {name} {text}", f"# TYPE {name} {kind}"


def _whole(name: str, labels: tuple[str, ...], values: Floats, chosen: Bools) -> Iterator[str]:
    """Tuples and bytes are whole: only what has been sent entirely counts."""
    rows = zip(labels, values.astype(np.int64).tolist(), chosen.tolist(), strict=True)
    return (f"{name}{{{text}}} {value}" for text, value, is_chosen in rows if is_chosen)


def _each(name: str, labels: tuple[str, ...], values: Iterable[float]) -> Iterator[str]:
    return (f"{name}{{{text}}} {value:.15g}" for text, value in zip(labels, values, strict=True))


def _written(**labels: str) -> str:
    return ",".join(f'{name}="{_escaped(value)}"' for name, value in labels.items())


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
