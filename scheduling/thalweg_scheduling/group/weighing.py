"""The planner's side: shares for the edges whose grouping has weights.

`weigh_by_load` is Sgp-Stream's (Weighted edges), `weigh_near_source` is Ns-Stream's (NearSource
edges). Both leave out an edge of which too little is known: unknown is never zero.

The near-source caps are dealt out for all senders at once. Each sender alone, as in the paper,
would find the same free receiver and fill it as often as there are senders.
"""

from types import MappingProxyType

import numpy as np

from thalweg_scheduling.group.near_source import ALPHA
from thalweg_scheduling.group.receivers import Nearness
from thalweg_scheduling.group.weighted import WEIGHT_STEPS, WeightSteps, updated_weights
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.graph import Edge, GroupingType
from thalweg_scheduling.model.plan import EdgeWeights
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

ROUNDS = 8
"""How often a circle's spare caps are offered again to the senders that are left with tuples."""


def weigh(
    snapshot: Snapshot,
    node: Ints,
    process: Ints | None = None,
    *,
    steps: WeightSteps = WEIGHT_STEPS,
) -> tuple[EdgeWeights, ...]:
    """The shares of all edges that have weights, each by its own grouping."""
    return (
        *weigh_by_load(snapshot, node, process, steps=steps),
        *weigh_near_source(snapshot, node, process),
    )


def weigh_by_load(
    snapshot: Snapshot,
    node: Ints,  # noqa: ARG001
    process: Ints | None = None,  # noqa: ARG001
    *,
    steps: WeightSteps = WEIGHT_STEPS,
) -> tuple[EdgeWeights, ...]:
    """The next shares of Weighted edges: less for tasks in which tuples take long.

    The present weights are read off the traffic, the mean being the initial weight.
    """
    found = []
    for edge in _edges(snapshot, GroupingType.WEIGHTED):
        got = edge_traffic(snapshot, edge)
        if got is None or snapshot.loads is None or not np.any(got > 0):
            continue
        receivers = np.flatnonzero(snapshot.vertex_of == edge.target)
        share = got.sum(axis=0) / got.sum()
        present = np.clip(steps.initial * len(receivers) * share, steps.least, steps.most)
        with np.errstate(divide="ignore"):
            tuple_s = snapshot.loads.wait_s + 1 / snapshot.loads.true_rate_per_s
        weights = updated_weights(present.tolist(), tuple_s[receivers].tolist(), steps=steps)
        found.append(_weights(snapshot, edge, np.array(weights)))
    return tuple(found)


def weigh_near_source(
    snapshot: Snapshot, node: Ints, process: Ints | None = None, *, alpha: float = ALPHA
) -> tuple[EdgeWeights, ...]:
    """The shares of NearSource edges if every sender keeps as near as the caps allow.

    Who shares no process with anybody need not be told apart from who is alone: without `process`
    the node is the nearest circle.
    """
    found = []
    for edge in _edges(snapshot, GroupingType.NEAR_SOURCE):
        flows = near_source_flows(snapshot, edge, node, process=process, alpha=alpha)
        if flows is not None and np.any(flows > 0):
            found.append(_weights(snapshot, edge, flows.sum(axis=0)))
    return tuple(found)


def near_source_flows(
    snapshot: Snapshot,
    edge: Edge,
    node: Ints,
    *,
    process: Ints | None = None,
    alpha: float = ALPHA,
) -> Floats | None:
    """Shape (senders, receivers): tuples/s from each to each, nothing where rates are unknown."""
    got = edge_traffic(snapshot, edge)
    if got is None or snapshot.loads is None:
        return None
    receivers = np.flatnonzero(snapshot.vertex_of == edge.target)
    pace = _pace_per_s(snapshot.loads.true_rate_per_s[receivers])
    if pace is None:
        return None
    cap = alpha * pace
    senders = np.flatnonzero(snapshot.vertex_of == edge.source)
    near = _nearness(snapshot, node, process, senders, receivers)
    return fill_nearest(got.sum(axis=1), cap, near)


def _pace_per_s(true_rate_per_s: Floats) -> Floats | None:
    """What each receiver could process; who got nothing to show it is as fast as the others.

    Else whoever is left out once stays out: nothing is known of it, and so nothing is sent to it.
    """
    seen = np.isfinite(true_rate_per_s) & (true_rate_per_s > 0)
    if not seen.any():
        return None
    return np.where(seen, true_rate_per_s, true_rate_per_s[seen].mean())


def fill_nearest(sends_per_s: Floats, cap_per_s: Floats, near: Ints) -> Floats:
    """Shape (senders, receivers): circle by circle, each cap shared by those who want it.

    What is left when all caps are full is spread so that all receivers are over by the same factor,
    which is what sending to the least busy one comes to.
    """
    flows = np.zeros(near.shape)
    for circle in Nearness:
        reachable: Bools = near == int(circle)
        for _ in range(ROUNDS):
            left = sends_per_s - flows.sum(axis=1)
            spare = np.maximum(0.0, cap_per_s - flows.sum(axis=0))
            wants = reachable & (left > 1e-9 * sends_per_s)[:, None] & (spare > 0)
            if not wants.any():
                break
            offers = np.where(wants, spare / np.maximum(1, wants.sum(axis=0)), 0.0)
            offered = offers.sum(axis=1)
            taken = np.minimum(left, offered) / np.where(offered > 0, offered, 1.0)
            flows += offers * taken[:, None]
    left = np.maximum(0.0, sends_per_s - flows.sum(axis=1))
    full: Floats = flows + left[:, None] * cap_per_s / cap_per_s.sum()
    return full


def edge_traffic(snapshot: Snapshot, edge: Edge) -> Floats | None:
    """Shape (senders, receivers): the measured tuples/s of an edge, if all of it is known."""
    traffic = snapshot.traffic
    if traffic is None:
        return None
    senders = np.flatnonzero(snapshot.vertex_of == edge.source)
    receivers = np.flatnonzero(snapshot.vertex_of == edge.target)
    if senders.size == 0 or receivers.size == 0:
        return None
    source, target = traffic.sources, traffic.targets
    mine = (snapshot.vertex_of[source] == edge.source) & (snapshot.vertex_of[target] == edge.target)
    rates = np.zeros((len(senders), len(receivers)))
    rates[source[mine] - senders[0], target[mine] - receivers[0]] = traffic.tuples_per_s[mine]
    return rates if np.all(np.isfinite(rates)) and np.all(rates >= 0) else None


def _nearness(
    snapshot: Snapshot, node: Ints, process: Ints | None, senders: Ints, receivers: Ints
) -> Ints:
    """Shape (senders, receivers): the circle of each pair; who has no node is far from all."""
    domain = np.append(snapshot.domain_of, UNPLACED)[node]
    near = np.full((len(senders), len(receivers)), int(Nearness.ELSEWHERE))
    for circle, place in (
        (Nearness.DOMAIN, domain),
        (Nearness.NODE, node),
        (Nearness.PROCESS, process),
    ):
        if place is not None:
            together = place[senders][:, None] == place[receivers][None, :]
            both = (node[senders] != UNPLACED)[:, None] & (node[receivers] != UNPLACED)[None, :]
            near[together & both] = int(circle)
    return near


def _edges(snapshot: Snapshot, grouping: GroupingType) -> list[Edge]:
    return [edge for edge in snapshot.edges if edge.grouping is grouping]


def _weights(snapshot: Snapshot, edge: Edge, weights: Floats) -> EdgeWeights:
    receivers = np.flatnonzero(snapshot.vertex_of == edge.target)
    shares = weights / weights.sum()
    return EdgeWeights(
        source=snapshot.vertices[edge.source].name,
        target=snapshot.vertices[edge.target].name,
        shares=MappingProxyType(
            {
                snapshot.task_names[task]: float(share)
                for task, share in zip(receivers, shares, strict=True)
            }
        ),
    )
