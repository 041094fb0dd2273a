"""What a run has come to, window by window."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.reasons import Reason
from thalweg_scheduling.simulate.crowding import Crowd, cores_of
from thalweg_scheduling.simulate.stage import Counts, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A stretch of a run; what nothing was seen of is NaN."""

    at_s: float
    """Its end."""
    span_s: float
    offered_per_s: float
    throughput_per_s: float
    """What the sources got through."""
    delivered_per_s: float
    """What the sinks got through."""
    latency_s: float
    """From source to sink, the mean over what arrived at the sinks."""
    complete_latency_s: float
    """Until everything that a tuple caused had been acknowledged."""
    component_latency_s: float
    """Md-Stream's: waiting and processing in one task of every vertex, without the network."""
    completed: float
    """Tuples from outside of which everything has been acknowledged."""
    failed: float
    """Of these, what took longer than the time-out."""
    backlog_tuples: float
    """What waits outside."""
    queued_tuples: float
    utilization: float
    """CPU in use, the mean over the nodes that have tasks."""
    node_utilization: Floats
    """Shape (nodes,)."""
    network_utilization: Floats
    """Shape (nodes,): share of the bandwidth in use, in or out, whichever is more."""
    vertex_busy: Floats
    """Shape (vertices,): share of time that a task was busy; Storm's capacity."""
    memory_bytes: Floats
    """Shape (nodes,)."""
    nodes_used: int
    nodes_awake: int
    replicas: Mapping[str, int]
    moved: int
    """Tasks that went to another node at its beginning."""
    cross_domain_share: float
    remote_share: float
    """Share of the tuples between tasks that left their process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A whole run."""

    windows: tuple[Window, ...]
    decisions: tuple[tuple[float, tuple[Reason, ...]], ...]
    """When something was changed, and why."""
    mode: str

    def over(self, name: str) -> Floats:
        """Shape (windows,): one field of all windows."""
        return np.array([getattr(window, name) for window in self.windows], dtype=np.float64)

    def mean(self, name: str, begin_s: float = 0.0, end_s: float = float("inf")) -> float:
        """The mean of a field over the windows between two times; NaN where none is known.

        Latencies are weighted by how many tuples each window is about, all else by its length.
        """
        chosen = [
            window
            for window in self.windows
            if window.at_s - window.span_s >= begin_s - 1e-9 and window.at_s <= end_s + 1e-9
        ]
        values = np.array([getattr(window, name) for window in chosen], dtype=np.float64)
        weights = np.array([_weight(window, name) for window in chosen])
        known = np.isfinite(values) & (weights > 0)
        if not known.any():
            return float("nan")
        return float(np.average(values[known], weights=weights[known]))


def _weight(window: Window, name: str) -> float:
    if name == "latency_s":
        return window.delivered_per_s * window.span_s
    if name == "complete_latency_s":
        return window.completed
    return window.span_s


@np.errstate(all="ignore")
def window_of(
    stage: Stage,
    counts: Counts,
    *,
    at_s: float,
    moved: int,
    awake: int,
    memory_bytes: Floats,
) -> Window:
    """Sum up what has happened in a window."""
    vertices = len(stage.snapshot.vertices)
    vertex_of, span_s = stage.snapshot.vertex_of, counts.span_s

    def by_vertex(values: Floats) -> Floats:
        summed = np.zeros(vertices)
        np.add.at(summed, vertex_of, values)
        return summed

    receives, sends = _ends(stage)
    processed = by_vertex(counts.processed)
    response = by_vertex(counts.waited_s + counts.served_s) / processed
    busy = by_vertex(counts.served_s) / np.bincount(vertex_of, minlength=vertices) / span_s
    use = _node_utilization(stage, counts)
    used = np.unique(stage.node)
    return Window(
        at_s=at_s,
        span_s=span_s,
        offered_per_s=float(counts.offered.sum()) / span_s,
        throughput_per_s=float(processed[~receives].sum()) / span_s,
        delivered_per_s=float(processed[~sends].sum()) / span_s,
        latency_s=_ratio(counts.latency_sum_s, counts.latencies),
        complete_latency_s=_ratio(counts.complete_sum_s, counts.completed),
        component_latency_s=float(response.sum()),
        completed=counts.completed,
        failed=counts.failed,
        backlog_tuples=float(counts.backlog.sum()),
        queued_tuples=float(counts.queued.sum()),
        utilization=float(use[used].mean()),
        node_utilization=use,
        network_utilization=_network_utilization(stage, counts),
        vertex_busy=busy,
        memory_bytes=memory_bytes,
        nodes_used=len(used),
        nodes_awake=awake,
        replicas=MappingProxyType({each.name: each.replicas for each in stage.snapshot.vertices}),
        moved=moved,
        cross_domain_share=_sent_share(counts, _other_domain(stage)),
        remote_share=_sent_share(counts, _other_process(stage)),
    )


def _ends(stage: Stage) -> tuple[Bools, Bools]:
    vertices = len(stage.snapshot.vertices)
    receives, sends = np.zeros(vertices, dtype=np.bool_), np.zeros(vertices, dtype=np.bool_)
    receives[[edge.target for edge in stage.snapshot.edges]] = True
    sends[[edge.source for edge in stage.snapshot.edges]] = True
    return receives, sends


def _node_utilization(stage: Stage, counts: Counts) -> Floats:
    cores = cores_of(stage.snapshot)
    crowd = Crowd.of(cores, stage.node, stage.process, stage.parameters)
    used = crowd.on_nodes(counts.cpu_s / counts.span_s)
    return np.where(used == 0, 0.0, used / cores)


def _network_utilization(stage: Stage, counts: Counts) -> Floats:
    workload, nodes = stage.workload, len(stage.snapshot.nodes)
    source, target = stage.node[workload.sources], stage.node[workload.targets]
    per_s = np.where(source != target, counts.sent * workload.tuple_bytes / counts.span_s, 0.0)
    out = np.bincount(source, per_s, minlength=nodes)
    into = np.bincount(target, per_s, minlength=nodes)
    used: Floats = np.maximum(out, into) / stage.parameters.bandwidth_bytes_per_s
    return used


def _other_domain(stage: Stage) -> Bools:
    domain = stage.snapshot.domain_of[stage.node]
    other: Bools = domain[stage.workload.sources] != domain[stage.workload.targets]
    return other


def _other_process(stage: Stage) -> Bools:
    process = stage.process
    other: Bools = process[stage.workload.sources] != process[stage.workload.targets]
    return other


def _sent_share(counts: Counts, chosen: Bools) -> float:
    return _ratio(float(counts.sent[chosen].sum()), float(counts.sent.sum()))


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole > 0 else float("nan")
