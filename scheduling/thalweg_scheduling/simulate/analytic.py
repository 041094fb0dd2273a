"""The analytic mode: what a placement does to a workload in its steady state.

    flow         λ(j) = Σ sent per tuple(i, j) · λ(i)
    CPU          d(i) = own CPU + sending and receiving, for what leaves or enters the process
    crowding     S(i) = d(i) · slowdown by what shares the node or the process + held(i)
    queue        ρ = λ·S,  W = (ca² + cs²)/2 · ρS/(1 - ρ),  R = W + S
    hops         0 in a process, else the node pair's latency and the time on the wire
    limit        the largest source rate at which no task, process, node or wire is full

When more is offered than the limit, the limit flows and queues are as full as credit allows.
Unknown is NaN and spreads to whatever depends on it.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.plan import Prediction
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate.demand import Pairs, crowd_of, demand_of, hops_s, largest_share
from thalweg_scheduling.simulate.measured import measured_workload
from thalweg_scheduling.simulate.parameters import DEFAULTS, Parameters
from thalweg_scheduling.simulate.paths import Paths, Sojourn
from thalweg_scheduling.simulate.queueing import waiting_s
from thalweg_scheduling.simulate.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Analysis:
    """What the simulator says; arrays over tasks, nodes, or pairs of the workload."""

    rate_per_s: Floats
    """Shape (tasks,): tuples that each task processes."""
    service_s: Floats
    wait_s: Floats
    utilization: Floats
    """Shape (tasks,): share of the time in which each task is busy."""
    cpu_cores: Floats
    """Shape (tasks,)."""
    node_utilization: Floats
    """Shape (nodes,)."""
    hop_s: Floats
    """Shape (pairs,)."""
    offered_per_s: float
    throughput_per_s: float
    """Tuples that all sources together get through."""
    limit_per_s: float
    """The most that they could, in the proportions in which it is offered."""
    latency_s: float
    """From source to sink, the mean over what arrives at the sinks."""
    complete_latency_s: float
    """Until everything that a tuple caused has been acknowledged."""
    component_latency_s: float
    """Md-Stream's: waiting and processing in one task of every vertex, without the network."""
    cross_domain_share: float
    """Share of the tuples between tasks that leave their domain."""

    @property
    def backlog_per_s(self) -> float:
        """How fast tuples pile up in front of the sources."""
        return self.offered_per_s - self.throughput_per_s


# Divisions by nothing are answered, by infinity or NaN; they are no accidents.
@np.errstate(all="ignore")
def simulate_analytically(
    snapshot: Snapshot,
    workload: Workload,
    node: Ints,
    process: Ints,
    *,
    parameters: Parameters = DEFAULTS,
) -> Analysis:
    """Run the workload with each task on `node` in `process`, on paper."""
    paths = Paths.of(snapshot, workload)
    rate = paths.flow(workload.offered_per_s)
    pairs = Pairs.of(snapshot, workload, node, process)
    crowd = crowd_of(snapshot, node, process, parameters)
    demand = demand_of(workload, rate, pairs, crowd, parameters)
    limit = largest_share(demand)
    share = float(np.minimum(1.0, limit))
    service = demand.service_s(share)
    busy = demand.utilization(share, service)
    wait = waiting_s(
        busy, service, arrival_cv2=parameters.arrival_cv2, service_cv2=parameters.service_cv2
    )
    sojourn = Sojourn(
        wait_s=np.minimum(wait, parameters.credit_tuples * service),
        service_s=service,
        hop_s=hops_s(snapshot, pairs, share * demand.wire, workload, parameters),
    )
    offered = float(workload.offered_per_s.sum())
    load = demand.load(share)
    return Analysis(
        rate_per_s=share * rate,
        service_s=service,
        wait_s=sojourn.wait_s,
        utilization=busy,
        cpu_cores=load,
        node_utilization=_part_of(crowd.on_nodes(load), crowd.cores),
        hop_s=sojourn.hop_s,
        offered_per_s=offered,
        throughput_per_s=share * offered,
        limit_per_s=limit * offered if offered > 0 else float("nan"),
        latency_s=paths.latency_s(sojourn, workload.offered_per_s),
        complete_latency_s=paths.complete_latency_s(sojourn, workload.offered_per_s),
        component_latency_s=paths.component_latency_s(sojourn, rate),
        cross_domain_share=_crossing(pairs, workload, rate),
    )


def predict(
    snapshot: Snapshot, node: Ints, process: Ints, *, parameters: Parameters = DEFAULTS
) -> Prediction:
    """What to expect of a placement, from what was measured of the present one."""
    workload = measured_workload(snapshot, parameters)
    analysis = simulate_analytically(snapshot, workload, node, process, parameters=parameters)
    return Prediction(
        latency_s=analysis.latency_s,
        throughput_per_s=analysis.throughput_per_s,
        cross_domain_share=analysis.cross_domain_share,
        busiest_node=float(np.max(analysis.node_utilization, initial=0.0)),
        nodes_used=len(np.unique(node[node != UNPLACED])),
    )


def _crossing(pairs: Pairs, workload: Workload, rate_per_s: Floats) -> float:
    sent = rate_per_s[pairs.sources] * workload.sent_per_tuple
    total = float(sent.sum())
    if total == 0:
        return float("nan")
    return float(np.sum(np.where(sent == 0, 0.0, sent * pairs.other_domain))) / total


def _part_of(used: Floats, cores: Floats) -> Floats:
    return np.where(used == 0, 0.0, used / cores)
