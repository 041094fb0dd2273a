"""What pods have counted since they began."""

from dataclasses import dataclass

import numpy as np
from scipy.special import gammainc

from thalweg_runtime.simulated.flowing import Tick
from thalweg_runtime.simulated.staging import Stage
from thalweg_scheduling.model.arrays import Floats, Ints

BOUNDS_S: tuple[float, ...] = tuple(float(f"{0.0005 * 1.5**step:.3g}") for step in range(30))
"""Upper bounds of the histograms' buckets, half a millisecond to a minute, without +Inf."""

_LEAST_VAR_S2 = 1e-12
_TOTALS = ("processed", "busy_s", "backpressured_s", "waited_s", "cpu_s")


@dataclass(kw_only=True)
class Histograms:
    """A histogram for each task."""

    buckets: Floats
    """Shape (tasks, bounds): observations up to each bound."""
    count: Floats
    total_s: Floats

    @staticmethod
    def empty(tasks: int) -> "Histograms":
        """Nothing observed yet."""
        return Histograms(
            buckets=np.zeros((tasks, len(BOUNDS_S))), count=np.zeros(tasks), total_s=np.zeros(tasks)
        )

    def observe(self, count: Floats, mean_s: Floats, var_s2: Floats) -> None:
        """Add observations, spread as gamma variables of that mean and variance."""
        some = np.flatnonzero((count > 0) & np.isfinite(mean_s) & (mean_s > 0))
        mean, variance = mean_s[some, None], np.maximum(var_s2[some, None], _LEAST_VAR_S2)
        below = gammainc(mean**2 / variance, np.array(BOUNDS_S) * mean / variance)
        self.buckets[some] += count[some, None] * below
        self.count[some] += count[some]
        self.total_s[some] += count[some] * mean_s[some]

    def take(self, before: "Histograms", now: Ints, then: Ints) -> None:
        """Take over what some tasks had before."""
        self.buckets[now] = before.buckets[then]
        self.count[now] = before.count[then]
        self.total_s[now] = before.total_s[then]


class Counters:
    """The counters of one topology's pods, as long as its stage stands."""

    def __init__(self, stage: Stage) -> None:
        tasks = len(stage.fact.pods)
        self.stage = stage
        self.totals = {name: np.zeros(tasks) for name in _TOTALS}
        self.sent = np.zeros(len(stage.workload.targets))
        self.sent_bytes = np.zeros(len(stage.workload.targets))
        self.queue_tuples = np.zeros(tasks)
        self.latency = Histograms.empty(tasks)
        self.complete = Histograms.empty(tasks)

    def add(self, tick: Tick) -> None:
        """Count what happened in a tick."""
        for name, total in self.totals.items():
            total += getattr(tick, name)
        self.sent += tick.sent
        self.sent_bytes += tick.sent * self.stage.workload.tuple_bytes
        self.queue_tuples = tick.queue_tuples
        at_sinks = np.where(self.stage.is_sink, tick.processed, 0.0)
        self.latency.observe(at_sinks, tick.age_s, tick.age_var_s2)
        at_sources = np.where(self.stage.source_of >= 0, tick.processed, 0.0)
        complete = np.full(len(at_sources), tick.complete_s)
        self.complete.observe(at_sources, complete, complete**2 * _shape(self.stage, tick))

    def moved_to(self, stage: Stage) -> "Counters":
        """The same on another stage: pods that are still there go on, new ones begin at 0."""
        after = Counters(stage)
        uids = {pod.uid: number for number, pod in enumerate(self.stage.fact.pods)}
        kept = [(now, uids[pod.uid]) for now, pod in enumerate(stage.fact.pods) if pod.uid in uids]
        now, then = _columns(kept)
        for name in _TOTALS:
            after.totals[name][now] = self.totals[name][then]
        after.queue_tuples[now] = self.queue_tuples[then]
        after.latency.take(self.latency, now, then)
        after.complete.take(self.complete, now, then)
        pairs = {pair: number for number, pair in enumerate(_pairs(self.stage))}
        now, then = _columns(
            [(now, pairs[pair]) for now, pair in enumerate(_pairs(stage)) if pair in pairs]
        )
        after.sent[now] = self.sent[then]
        after.sent_bytes[now] = self.sent_bytes[then]
        return after


def _shape(stage: Stage, tick: Tick) -> float:
    """Squared coefficient of variation of what arrives at the sinks."""
    weight = np.where(stage.is_sink, tick.processed, 0.0)
    if not weight.any():
        return 1.0
    mean = float(np.average(tick.age_s, weights=weight))
    second = float(np.average(tick.age_var_s2 + tick.age_s**2, weights=weight))
    return max(0.0, second / mean**2 - 1) if mean > 0 else 1.0


def _pairs(stage: Stage) -> list[tuple[str, str]]:
    """The sending pod and the receiving task of each pair: what a series is named by."""
    pods = stage.fact.pods
    return [
        (pods[source].uid, pods[target].task)
        for source, target in zip(
            stage.workload.sources.tolist(), stage.workload.targets.tolist(), strict=True
        )
    ]


def _columns(pairs: list[tuple[int, int]]) -> tuple[Ints, Ints]:
    table = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return table[:, 0], table[:, 1]
