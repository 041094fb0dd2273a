"""What a strategy is shown of a running stage: samples, with noise, of a window.

What a tuple costs is never among them: a strategy sees what tasks do, not what they are.
"""

from dataclasses import dataclass, replace

import numpy as np

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.matrices import DependencyMatrix, NodeLatency, Observed, TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate.stage import Counts, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Sight:
    """How well a strategy sees."""

    noise: float = 0.05
    """Standard deviation of each sample, as a share of what is true."""
    latency_noise: float = 0.01
    """The same between nodes; smaller, because probes never stop and are averaged for long."""
    declared_only: bool = False
    """What Storm's own schedulers see: requests and nodes, nothing that was measured."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryUse:
    """What tasks and processes keep in memory; it does not depend on the rate."""

    process_bytes: float = 0.0
    task_bytes: float = 0.0

    def on_nodes(self, stage: Stage) -> Floats:
        """Shape (nodes,): bytes in use."""
        _, first = np.unique(stage.process, return_index=True)
        nodes = len(stage.snapshot.nodes)
        tasks = np.bincount(stage.node, minlength=nodes)
        processes = np.bincount(stage.node[first], minlength=nodes)
        return self.task_bytes * tasks + self.process_bytes * processes

    def of_tasks(self, stage: Stage) -> Floats:
        """Shape (tasks,): the same, a process shared out among its tasks."""
        _, position, count = np.unique(stage.process, return_inverse=True, return_counts=True)
        each = self.task_bytes + self.process_bytes / count[position.reshape(-1)]
        return np.asarray(each, dtype=np.float64)


@np.errstate(all="ignore")
def sampled(
    stage: Stage,
    counts: Counts,
    sight: Sight,
    memory: MemoryUse,
    rng: np.random.Generator,
    *,
    now_s: float,
) -> Snapshot:
    """The snapshot that a strategy gets at the end of a window."""
    if sight.declared_only or counts.span_s <= 0:
        return stage.snapshot
    observed = Observed(at_s=now_s, window_s=counts.span_s, samples=1, coverage=1.0)

    def seen(values: Floats, *, most: float = np.inf) -> Floats:
        noisy = values * (1 + sight.noise * rng.standard_normal(len(values)))
        return np.clip(noisy, 0.0, most)

    span_s, workload = counts.span_s, stage.workload
    rate = seen(counts.processed / span_s)
    busy = seen(counts.served_s / span_s, most=1.0)
    sent = seen(counts.sent / span_s)
    return replace(
        stage.snapshot,
        traffic=DependencyMatrix(
            indptr=workload.indptr,
            targets=workload.targets,
            tuples_per_s=sent,
            bytes_per_s=sent * workload.tuple_bytes,
            observed=observed,
        ),
        loads=TaskLoad(
            cpu_cores=seen(counts.cpu_s / span_s),
            memory_bytes=seen(memory.of_tasks(stage)),
            busy_share=busy,
            backpressured_share=seen(counts.blocked_s / span_s, most=1.0),
            wait_s=seen(counts.waited_s / counts.processed),
            processed_per_s=rate,
            true_rate_per_s=np.where(busy > 0, rate / busy, np.nan),
            queue_tuples=counts.queued + counts.backlog,
            observed=observed,
        ),
        latency=_seen_latency(stage.snapshot, sight, observed, rng),
    )


def _seen_latency(
    snapshot: Snapshot, sight: Sight, observed: Observed, rng: np.random.Generator
) -> NodeLatency:
    nodes = len(snapshot.nodes)
    true = snapshot.node_cost_s
    noisy = np.abs(true * (1 + sight.latency_noise * rng.standard_normal((nodes, nodes))))
    return replace(snapshot.latency, pairs_s=noisy, observed=observed)
