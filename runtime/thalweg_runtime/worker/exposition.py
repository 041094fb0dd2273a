"""A process' counters as Prometheus reads them (docs/metrics.md)."""

import resource
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from prometheus_client import REGISTRY, CollectorRegistry, generate_latest
from prometheus_client.metrics_core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)

from thalweg_runtime.worker.counters import BOUNDS_S, Histogram
from thalweg_runtime.worker.settings import Identity
from thalweg_runtime.worker.source import Source
from thalweg_runtime.worker.task import Task

_COUNTERS = (
    ("thalweg_processed", "processed", "Tuples that a task has processed, or a source made."),
    ("thalweg_busy_seconds", "busy_s", "Time in which a task processed, emulated work included."),
    ("thalweg_backpressured_seconds", "backpressured_s", "Time in which a task could not send."),
    ("thalweg_wait_seconds", "waited_s", "Time that tuples have waited for a task."),
    ("thalweg_resent_tuples", "resent", "Tuples that were sent again."),
)

Hosted = Sequence[Task | Source]


class Exposition:
    """Writes the counters of all tasks of a process."""

    def __init__(self, identity: Identity, hosted: Hosted) -> None:
        """Labels are what the operator told the process."""
        self._pod = identity.pod
        # What is not known is left out: Prometheus' relabelling can then add it.
        told = {"namespace": identity.namespace, "pod": identity.pod}
        self._process = {name: value for name, value in told.items() if value}
        self._process["topology"] = identity.topology
        self._names = (*self._process, "vertex", "task")
        self._hosted = hosted
        self._cpu_s = 0.0
        self._busy = self._dealt = [0.0] * len(hosted)
        self._registry = CollectorRegistry(auto_describe=False)
        self._registry.register(self)

    def text(self) -> bytes:
        """Everything, as one answer to a scrape; also what the user's own steps count."""
        return generate_latest(self._registry) + generate_latest(REGISTRY)

    def collect(self) -> Iterator[Metric]:
        """What prometheus-client asks for."""
        yield from self._traffic()
        yield from self._totals()
        yield from self._gauges()
        yield self._histogram(
            "thalweg_latency_seconds",
            "From source to sink.",
            [
                (self._labels(one), one.counters.latency)
                for one in self._hosted
                if one.sender.is_sink
            ],
        )
        yield self._histogram(
            "thalweg_complete_seconds",
            "From source to the last acknowledgement.",
            [
                (self._labels(one), one.counters.complete)
                for one in self._hosted
                if isinstance(one, Source)
            ],
        )

    def _labels(self, one: Task | Source) -> list[str]:
        return [*self._process.values(), one.me.vertex, one.me.task]

    def _traffic(self) -> Iterator[Metric]:
        labels = (*self._names, "to_vertex", "to_task")
        tuples = CounterMetricFamily("thalweg_tuples", "Tuples sent to a task.", labels=labels)
        size = CounterMetricFamily("thalweg_bytes", "Bytes sent to a task.", labels=labels)
        for one in self._hosted:
            for ends, traffic in one.counters.traffic.items():
                values = [*self._labels(one), *ends]
                tuples.add_metric(values, traffic.tuples)
                size.add_metric(values, traffic.sent_bytes)
        yield tuples
        yield size

    def _totals(self) -> Iterator[Metric]:
        for name, attribute, text in _COUNTERS:
            family = CounterMetricFamily(name, text, labels=self._names)
            for one in self._hosted:
                family.add_metric(self._labels(one), getattr(one.counters, attribute))
            yield family
        cpu = CounterMetricFamily("thalweg_cpu_seconds", "CPU time of a task.", labels=self._names)
        for one, spent_s in zip(self._hosted, self._spent(), strict=True):
            cpu.add_metric(self._labels(one), spent_s)
        yield cpu

    def _spent(self) -> list[float]:
        """CPU time of each task: since the scrape before, as much of it as it was busy.

        Only what came since is dealt out, so that no counter ever falls.
        """
        busy, now_s = [one.counters.busy_s for one in self._hosted], time.process_time()
        parts = _shares([after - before for after, before in zip(busy, self._busy, strict=True)])
        since_s, self._cpu_s, self._busy = now_s - self._cpu_s, now_s, busy
        self._dealt = [
            dealt + since_s * part for dealt, part in zip(self._dealt, parts, strict=True)
        ]
        return self._dealt

    def _gauges(self) -> Iterator[Metric]:
        queue = self._gauge("thalweg_queue_tuples", "Tuples that wait for a task.")
        memory = self._gauge("thalweg_memory_bytes", "Memory of a task.")
        version = self._gauge("thalweg_routes_version", "The routes that a task sends by.")
        known = ("process", "incarnation")
        info = self._gauge("thalweg_task_info", "Which pod does a task's work.", *known)
        resident = memory_bytes()
        parts = _shares([one.counters.busy_s for one in self._hosted])
        for one, share in zip(self._hosted, parts, strict=True):
            labels = self._labels(one)
            queue.add_metric(labels, one.queue_tuples)
            memory.add_metric(labels, resident * share)
            info.add_metric([*labels, self._pod, str(one.me.incarnation)], 1)
            if not one.sender.is_sink:
                version.add_metric(labels, one.sender.routes.version)
        yield from (queue, memory, version, info)

    def _gauge(self, name: str, text: str, *more: str) -> GaugeMetricFamily:
        return GaugeMetricFamily(name, text, labels=(*self._names, *more))

    def _histogram(
        self, name: str, text: str, found: Iterable[tuple[list[str], Histogram]]
    ) -> HistogramMetricFamily:
        family = HistogramMetricFamily(name, text, labels=self._names)
        for labels, histogram in found:
            below, rows = 0, []
            for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), histogram.buckets, strict=True):
                below += count
                rows.append((bound, below))
            family.add_metric(labels, buckets=rows, sum_value=histogram.total_s)
        return family


def _shares(amounts: Sequence[float]) -> list[float]:
    """The part that each has in the whole; the same for all where there is nothing."""
    whole = sum(amounts)
    return [amount / whole if whole > 0 else 1 / len(amounts) for amount in amounts]


def memory_bytes() -> int:
    """What this process has in memory; where there is no /proc, the most it ever had."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return pages * resource.getpagesize()
