"""Trying a layout: what the simulator says of it, and what a strategy would have measured of it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from bench.papers.setting import NOW_S, OBSERVED, Setting
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.matrices import DependencyMatrix, TaskLoad
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate import (
    Analysis,
    Workload,
    declared_workload,
    simulate_analytically,
)

NOISE = 0.03
"""Relative standard deviation of what strategies see."""


def _by_grouping() -> Mapping[int, Floats]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Layout:
    """Where everything runs and who sends what part to whom."""

    setting: Setting
    node: Ints
    process: Ints
    shares: Mapping[int, Floats] = field(default_factory=_by_grouping)
    """By edge: shape (senders, receivers), rows sum to 1; the grouping decides where absent."""

    @property
    def nodes_used(self) -> int:
        """How many nodes have any task."""
        return len(np.unique(self.node[self.node != UNPLACED]))


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a layout at a rate."""

    analysis: Analysis
    latency_s: float
    """Complete, with the fixed part."""
    component_s: float
    """Md-Stream's."""
    waiting_s: float
    """The part of it before tuples are processed."""
    limit_per_s: float
    throughput_per_s: float
    nodes: int
    cpu: float
    """Mean CPU utilisation of the nodes that are used."""
    memory: float
    """The same of memory."""
    remote_share: float
    """Share of the tuples that leave their node."""


def try_out(layout: Layout, rate_per_s: float) -> Outcome:
    """Run a layout on paper."""
    setting = layout.setting
    snapshot = setting.snapshot()
    workload = workload_of(layout, rate_per_s)
    analysis = simulate_analytically(
        snapshot, workload, layout.node, layout.process, parameters=setting.parameters
    )
    used = np.unique(layout.node[layout.node != UNPLACED])
    return Outcome(
        analysis=analysis,
        latency_s=setting.constants.fixed_s + analysis.complete_latency_s,
        component_s=setting.constants.fixed_s + analysis.component_latency_s,
        waiting_s=_waiting_s(snapshot, analysis),
        limit_per_s=analysis.limit_per_s,
        throughput_per_s=analysis.throughput_per_s,
        nodes=len(used),
        cpu=float(analysis.node_utilization[used].mean()),
        memory=float((memory_bytes(layout) / _memory(setting))[used].mean()),
        remote_share=_remote(layout, workload, analysis),
    )


def workload_of(layout: Layout, rate_per_s: float) -> Workload:
    """What the tasks are asked to do, with the shares of this layout."""
    setting, snapshot = layout.setting, layout.setting.snapshot()
    workload = declared_workload(
        snapshot, setting.vertex_profiles(rate_per_s), setting.edge_profiles, layout.node
    )
    if not layout.shares:
        return workload
    sent = np.array(workload.sent_per_tuple)
    source, target = snapshot.vertex_of[workload.sources], snapshot.vertex_of[workload.targets]
    for position, shares in layout.shares.items():
        edge = snapshot.edges[position]
        ends = snapshot.vertices[edge.source].name, snapshot.vertices[edge.target].name
        mine = (source == edge.source) & (target == edge.target)
        # Pairs are sorted by sender, then receiver, as the rows of the shares are.
        sent[mine] = setting.edge_profiles[ends].selectivity * shares.ravel()
    return replace(workload, sent_per_tuple=sent)


def measured(
    layout: Layout,
    rate_per_s: float,
    rng: np.random.Generator,
    *,
    now_s: float = NOW_S,
    noise: float = NOISE,
) -> Snapshot:
    """What a strategy sees of a running layout: rates and loads with noise, never the costs."""
    analysis = try_out(layout, rate_per_s).analysis
    workload = workload_of(layout, rate_per_s)
    tasks = len(layout.node)
    observed = replace(OBSERVED, at_s=now_s)

    def noisy(values: Floats) -> Floats:
        return values * np.exp(rng.normal(0.0, noise, values.shape))

    flow = noisy(analysis.rate_per_s[workload.sources] * workload.sent_per_tuple)
    kept = flow > 0
    counts = np.bincount(workload.sources[kept], minlength=tasks)
    return replace(
        layout.setting.snapshot(),
        placement=layout.node,
        process=layout.process,
        traffic=DependencyMatrix(
            indptr=np.concatenate([[0], np.cumsum(counts)]),
            targets=workload.targets[kept],
            tuples_per_s=flow[kept],
            bytes_per_s=flow[kept] * workload.tuple_bytes[kept],
            observed=observed,
        ),
        loads=TaskLoad(
            cpu_cores=noisy(analysis.cpu_cores),
            memory_bytes=np.full(tasks, task_memory_bytes(layout.setting)),
            busy_share=np.minimum(1.0, noisy(analysis.utilization)),
            backpressured_share=np.full(tasks, _held_back(analysis)),
            wait_s=noisy(analysis.wait_s),
            processed_per_s=noisy(analysis.rate_per_s),
            true_rate_per_s=noisy(1 / analysis.service_s),
            queue_tuples=analysis.rate_per_s * analysis.wait_s,
            observed=observed,
        ),
    )


def memory_bytes(layout: Layout) -> Floats:
    """Shape (nodes,): processes and tasks, whatever the rate."""
    constants = layout.setting.constants
    used = np.zeros(len(layout.setting.machines))
    placed = layout.node != UNPLACED
    np.add.at(used, layout.node[placed], constants.task_bytes)
    _, first = np.unique(layout.process, return_index=True)
    np.add.at(used, layout.node[first[placed[first]]], constants.process_bytes)
    return used


def task_memory_bytes(setting: Setting) -> float:
    """What a task is seen to use: its own, and its part of a process that two share."""
    return setting.constants.task_bytes + setting.constants.process_bytes / 2


def _waiting_s(snapshot: Snapshot, analysis: Analysis) -> float:
    """Waiting in one task of every vertex, the busier ones counting more."""
    vertices = len(snapshot.vertices)
    waited = np.bincount(snapshot.vertex_of, analysis.rate_per_s * analysis.wait_s, vertices)
    flowing = np.bincount(snapshot.vertex_of, analysis.rate_per_s, vertices)
    return float(np.sum(waited / flowing))


def _held_back(analysis: Analysis) -> float:
    if analysis.offered_per_s <= 0:
        return 0.0
    return max(0.0, 1 - analysis.throughput_per_s / analysis.offered_per_s)


def _memory(setting: Setting) -> Floats:
    return np.array([machine.memory_bytes for machine in setting.machines])


def _remote(layout: Layout, workload: Workload, analysis: Analysis) -> float:
    flow = analysis.rate_per_s[workload.sources] * workload.sent_per_tuple
    apart = layout.node[workload.sources] != layout.node[workload.targets]
    total = float(flow.sum())
    return float(flow[apart].sum()) / total if total > 0 else float("nan")
