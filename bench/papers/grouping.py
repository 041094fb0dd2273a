"""Groupings on paper: who sends what part to whom, once a layout has settled."""

from collections.abc import Sequence
from dataclasses import replace
from types import MappingProxyType

import numpy as np

from bench.papers.trial import NOISE, Layout, measured, try_out
from thalweg_scheduling.group import LoadAwareLocal, Origin, Receiver
from thalweg_scheduling.group.near_source import ALPHA
from thalweg_scheduling.group.weighing import near_source_flows, weigh_by_load
from thalweg_scheduling.group.weighted import WEIGHT_STEPS, WeightSteps
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.graph import GroupingType

ROUNDS = 3
"""Fewer tuples from afar make a task faster, which raises its cap: it settles quickly."""
WEIGHINGS = 20
"""How often weights follow the load before they are taken as settled."""
STILL = 1e-3
"""Shares that change by less have settled."""
LOOKS = 150
"""How often senders look at the load before their weights are taken as settled."""


def near_source(
    layout: Layout,
    rate_per_s: float,
    rng: np.random.Generator,
    *,
    edge: int = 0,
    alpha: float = ALPHA,
    noise: float = NOISE,
) -> Layout:
    """Ns-Stream's Algorithm 2 on one edge, the caps measured anew until they settle."""
    for _ in range(ROUNDS):
        snapshot = measured(layout, rate_per_s, rng, noise=noise)
        flows = near_source_flows(
            snapshot, snapshot.edges[edge], layout.node, process=layout.process, alpha=alpha
        )
        if flows is None:
            break
        layout = _with_shares(layout, edge, flows)
    return layout


def weighted_by_load(
    layout: Layout,
    rate_per_s: float,
    rng: np.random.Generator,
    *,
    edge: int = 0,
    steps: WeightSteps = WEIGHT_STEPS,
    noise: float = NOISE,
) -> Layout:
    """Sgp-Stream's Algorithm 2 on one edge, turn after turn until the shares stay as they are."""
    for _ in range(WEIGHINGS):
        snapshot = measured(layout, rate_per_s, rng, noise=noise)
        edges = list(snapshot.edges)
        edges[edge] = replace(edges[edge], grouping=GroupingType.WEIGHTED)
        found = weigh_by_load(replace(snapshot, edges=tuple(edges)), layout.node, steps=steps)
        ends = edges[edge]
        before = layout.shares.get(edge)
        for weights in found[:1]:
            share = np.array(list(weights.shares.values()))
            senders = int(np.count_nonzero(snapshot.vertex_of == ends.source))
            layout = _with_shares(layout, edge, np.tile(share, (senders, 1)))
        if not found or (before is not None and _moved(before, layout.shares[edge]) < STILL):
            break
    return layout


def _moved(before: Floats, after: Floats) -> float:
    return float(np.abs(after - before).max())


def load_aware_local(
    layout: Layout,
    rate_per_s: float,
    rng: np.random.Generator,
    *,
    edge: int = 0,
    noise: float = NOISE,
) -> Layout:
    """Storm's own shuffle on one edge: every sender looks at the load of the receivers it sees."""
    snapshot = layout.setting.snapshot()
    ends = snapshot.edges[edge]
    senders = np.flatnonzero(snapshot.vertex_of == ends.source)
    receivers = np.flatnonzero(snapshot.vertex_of == ends.target)
    crowd = [_receiver(layout, int(task)) for task in receivers]
    pickers = [LoadAwareLocal(crowd, _origin(layout, int(task))) for task in senders]
    layout = _with_shares(layout, edge, _drawn(pickers, len(receivers)))
    seen: Floats = np.zeros((len(senders), len(receivers)))
    for look in range(LOOKS):
        busy = try_out(layout, rate_per_s).analysis.utilization[receivers]
        loads = np.minimum(1.0, busy * np.exp(rng.normal(0.0, noise, len(busy))))
        pickers = [picker.observed(loads.tolist()) for picker in pickers]
        shares = _drawn(pickers, len(receivers))
        # It never comes to rest: what counts is the mean of the later half.
        seen = seen + shares if look >= LOOKS // 2 else shares
        layout = _with_shares(layout, edge, shares)
    return _with_shares(layout, edge, seen)


def _with_shares(layout: Layout, edge: int, flows: Floats) -> Layout:
    shares = flows / flows.sum(axis=1, keepdims=True)
    return replace(layout, shares=MappingProxyType({**layout.shares, edge: shares}))


def _drawn(pickers: Sequence[LoadAwareLocal], receivers: int) -> Floats:
    shares = np.zeros((len(pickers), receivers))
    for sender, picker in enumerate(pickers):
        for place, share in picker.shares:
            shares[sender, place] = share
    return shares


def _receiver(layout: Layout, task: int) -> Receiver:
    at, process, domain = _place(layout, task)
    return Receiver(name=f"r-{task}", node=at, process=process, domain=domain)


def _origin(layout: Layout, task: int) -> Origin:
    at, process, domain = _place(layout, task)
    return Origin(node=at, process=process, domain=domain)


def _place(layout: Layout, task: int) -> tuple[str, str, str]:
    machine: Ints = layout.node
    node = int(machine[task])
    domain = layout.setting.machines[node].domain
    return f"n{node}", f"p{int(layout.process[task])}", f"d{domain}"
