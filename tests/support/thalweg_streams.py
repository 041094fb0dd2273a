"""Small snapshots with measured flows, built from a few numbers per vertex."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thalweg_scheduling.model.graph import Edge, GroupingType, Vertex
from thalweg_scheduling.model.limits import Limits
from thalweg_scheduling.model.matrices import DependencyMatrix, Observed, TaskLoad
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

NOW_S = 1_000_000.0
NAN = float("nan")


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """What the tasks of one vertex were seen to do, all alike."""

    tasks: int
    processed_per_s: float = NAN
    """All tasks together."""
    true_rate_per_s: float = NAN
    """One task."""
    queue_tuples: float = 0.0
    backpressured: float = 0.0
    least: int = 1
    most: int = 1024

    @property
    def busy_share(self) -> float:
        """What follows from the rates."""
        return self.processed_per_s / self.tasks / self.true_rate_per_s


def seen(coverage: float = 1.0, age_s: float = 1.0) -> Observed:
    """A good measurement, unless told otherwise."""
    return Observed(at_s=NOW_S - age_s, window_s=30.0, samples=10, coverage=coverage)


def streaming(
    flows: Mapping[str, Flow],
    sent: Mapping[tuple[str, str], float],
    *,
    groupings: Mapping[tuple[str, str], GroupingType] | None = None,
    limits: Limits | None = None,
    loads_seen: Observed | None = None,
    traffic_seen: Observed | None = None,
    last_scaled_at_s: float | None = None,
) -> Snapshot:
    """A topology on one roomy node; `sent` is tuples/s between vertices."""
    names = list(flows)
    vertices = tuple(
        Vertex(name=name, replicas=flow.tasks, min_replicas=flow.least, max_replicas=flow.most)
        for name, flow in flows.items()
    )
    edges = tuple(
        Edge(
            source=names.index(a),
            target=names.index(b),
            grouping=(groupings or {}).get((a, b), GroupingType.SHUFFLE),
        )
        for a, b in sent
    )
    tasks = sum(flow.tasks for flow in flows.values())
    return Snapshot(
        topology="streaming",
        vertices=vertices,
        edges=edges,
        nodes=("n0",),
        domains=("d0",),
        domain_of=np.zeros(1, dtype=np.int64),
        resources=("cpu",),
        demand=np.full((tasks, 1), 0.1),
        capacity=np.full((1, 1), 1000.0),
        eligible=np.ones((tasks, 1), dtype=np.bool_),
        placement=np.full(tasks, UNPLACED),
        traffic=_traffic(flows, sent, traffic_seen or seen()),
        loads=_loads(list(flows.values()), loads_seen or seen()),
        limits=limits or Limits(),
        last_scaled_at_s=last_scaled_at_s,
    )


def working(tasks: int, load: float, *, spare: float, most: int = 1024) -> Snapshot:
    """A source and tasks of 100/s, `load` of them used, that may be taken away at once.

    The source could do `spare` times what it does.
    """
    rate = 100 * load
    limits = Limits()
    return streaming(
        {
            "read": Flow(tasks=1, processed_per_s=rate, true_rate_per_s=spare * rate),
            "work": Flow(tasks=tasks, processed_per_s=rate, true_rate_per_s=100, most=most),
        },
        {("read", "work"): rate},
        limits=replace(limits, scaling=replace(limits.scaling, scale_down_after_s=0.0)),
    )


def _traffic(
    flows: Mapping[str, Flow], sent: Mapping[tuple[str, str], float], observed: Observed
) -> DependencyMatrix:
    starts = dict(zip(flows, np.cumsum([0] + [f.tasks for f in flows.values()]), strict=False))
    pairs = {}
    for (a, b), rate in sent.items():
        share = rate / (flows[a].tasks * flows[b].tasks)
        for i in range(flows[a].tasks):
            for j in range(flows[b].tasks):
                pairs[int(starts[a]) + i, int(starts[b]) + j] = (share, 100 * share)
    return DependencyMatrix.from_pairs(sum(f.tasks for f in flows.values()), pairs, observed)


def _loads(flows: Sequence[Flow], observed: Observed) -> TaskLoad:
    def each(values: Sequence[float]) -> "np.typing.NDArray[np.float64]":
        return np.repeat(np.array(values, dtype=np.float64), [flow.tasks for flow in flows])

    busy = each([flow.busy_share for flow in flows])
    return TaskLoad(
        cpu_cores=busy,
        memory_bytes=np.full(len(busy), 1e8),
        busy_share=busy,
        backpressured_share=each([flow.backpressured for flow in flows]),
        wait_s=np.full(len(busy), NAN),
        processed_per_s=each([flow.processed_per_s / flow.tasks for flow in flows]),
        true_rate_per_s=each([flow.true_rate_per_s for flow in flows]),
        queue_tuples=each([flow.queue_tuples / flow.tasks for flow in flows]),
        observed=observed,
    )
