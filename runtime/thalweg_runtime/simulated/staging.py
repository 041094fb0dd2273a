"""A topology in the placement that is really there, as the planner's simulator wants it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg_runtime.simulated.facts import EdgeFact, NodeFact, Receiver, TopologyFact
from thalweg_runtime.simulated.hidden import KEY_GROUPS, Hidden, Traits
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.graph import Edge, GroupingType, Vertex
from thalweg_scheduling.model.matrices import NodeLatency
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate import EdgeProfile, VertexProfile, Workload, declared_workload
from thalweg_scheduling.simulate.paths import Paths

_LOCAL = frozenset({GroupingType.NEAR_SOURCE, GroupingType.LOAD_AWARE_LOCAL})
_ALIKE = Receiver(incarnation=0, weight=1.0, key_groups=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """Everything about a topology that stays as it is until a pod, a route or the network changes.

    Task t of the snapshot is `fact.pods[t]`: tasks without a pod are not there at all.
    """

    fact: TopologyFact
    snapshot: Snapshot
    workload: Workload
    """With nothing offered, and without the noise of a tick."""
    paths: Paths
    process: Ints
    traits: tuple[Traits, ...]
    """Of each task's vertex."""
    source_of: Ints
    """Shape (tasks,): the position in `fact.sources` of each task's vertex, or -1."""
    is_sink: Bools
    is_stalled: bool
    """Whether some vertex has nobody to send to: then nothing flows."""


def stage_of(
    fact: TopologyFact, nodes: Sequence[NodeFact], latency_s: Floats, hidden: Hidden
) -> Stage:
    """Build the stage; `latency_s` is between `nodes`, which have every pod's node among them."""
    position = {node.name: number for number, node in enumerate(nodes)}
    used = sorted({position[pod.node] for pod in fact.pods})
    snapshot = _snapshot(fact, [nodes[at] for at in used], latency_s[np.ix_(used, used)])
    of_vertex = {
        vertex: hidden.traits(fact.name, vertex, fact.traits.get(vertex, {}))
        for vertex in fact.vertices
    }
    workload = _workload(fact, snapshot, of_vertex, hidden)
    sources = {vertex: number for number, vertex in enumerate(fact.sources)}
    return Stage(
        fact=fact,
        snapshot=snapshot,
        workload=workload,
        paths=Paths.of(snapshot, workload),
        process=np.arange(len(fact.pods), dtype=np.int64),
        traits=tuple(of_vertex[pod.vertex] for pod in fact.pods),
        source_of=np.array([sources.get(pod.vertex, -1) for pod in fact.pods], dtype=np.int64),
        is_sink=np.array([pod.vertex in fact.sinks for pod in fact.pods], dtype=np.bool_),
        is_stalled=any(_is_stalled(fact, edge) for edge in fact.edges),
    )


def _snapshot(fact: TopologyFact, nodes: Sequence[NodeFact], latency_s: Floats) -> Snapshot:
    place = {vertex: number for number, vertex in enumerate(fact.vertices)}
    counts = [sum(pod.vertex == vertex for pod in fact.pods) for vertex in fact.vertices]
    names = tuple(node.name for node in nodes)
    at = {name: number for number, name in enumerate(names)}
    domain = [node.labels.get(fact.domain_label) or node.name for node in nodes]
    domains = tuple(sorted(set(domain)))
    tasks = len(fact.pods)
    return Snapshot(
        topology=fact.name,
        vertices=tuple(
            Vertex(name=name, replicas=count)
            for name, count in zip(fact.vertices, counts, strict=True)
        ),
        edges=tuple(
            Edge(source=place[edge.source], target=place[edge.target], grouping=edge.grouping)
            for edge in fact.edges
        ),
        nodes=names,
        domains=domains,
        domain_of=np.array([domains.index(one) for one in domain], dtype=np.int64),
        resources=("cpu",),
        demand=np.zeros((tasks, 1)),
        capacity=np.array([node.cores for node in nodes], dtype=np.float64).reshape(-1, 1),
        eligible=np.ones((tasks, len(nodes)), dtype=np.bool_),
        placement=np.array([at[pod.node] for pod in fact.pods], dtype=np.int64),
        process=_processes(fact),
        latency=NodeLatency(pairs_s=latency_s),
    )


def _processes(fact: TopologyFact) -> Ints:
    """Tasks with the same number share a pod, and hand over in memory."""
    first: dict[str, int] = {}
    numbers = [first.setdefault(pod.name, number) for number, pod in enumerate(fact.pods)]
    return np.array(numbers, dtype=np.int64)


def _workload(
    fact: TopologyFact, snapshot: Snapshot, traits: Mapping[str, Traits], hidden: Hidden
) -> Workload:
    vertices = {
        name: VertexProfile(cpu_s=one.cpu_s, held_s=one.held_s) for name, one in traits.items()
    }
    edges = {
        (edge.source, edge.target): EdgeProfile(
            selectivity=traits[edge.source].selectivity,
            tuple_bytes=traits[edge.source].tuple_bytes,
            shares=_shares(fact, edge, hidden, traits[edge.target].skew),
        )
        for edge in fact.edges
    }
    plain = declared_workload(snapshot, vertices, edges, snapshot.placement)
    own = np.array(
        [
            hidden.task_factor(fact.name, pod.task) * hidden.node_factor(pod.node)
            for pod in fact.pods
        ]
    )
    return Workload(
        offered_per_s=plain.offered_per_s,
        cpu_s=plain.cpu_s * own,
        held_s=plain.held_s,
        indptr=plain.indptr,
        targets=plain.targets,
        sent_per_tuple=plain.sent_per_tuple,
        tuple_bytes=plain.tuple_bytes,
    )


def receivers_of(fact: TopologyFact, edge: EdgeFact) -> list[Receiver | None]:
    """For each running task of the target, how the routes know it; None where they do not."""
    pods = [pod for pod in fact.pods if pod.vertex == edge.target]
    if edge.receivers is None:
        return [_ALIKE for _ in pods]
    return [edge.receivers.get(pod.task) for pod in pods]


def _is_stalled(fact: TopologyFact, edge: EdgeFact) -> bool:
    has_senders = any(pod.vertex == edge.source for pod in fact.pods)
    return has_senders and not any(receivers_of(fact, edge))


def _shares(
    fact: TopologyFact, edge: EdgeFact, hidden: Hidden, skew: float
) -> tuple[float, ...] | None:
    """What each receiver gets of an edge; None where the simulator picks the nearest."""
    receivers = receivers_of(fact, edge)
    routed = [float(one is not None) for one in receivers]
    if edge.grouping in _LOCAL and all(routed):
        return None
    if edge.grouping is GroupingType.BROADCAST:
        return tuple(routed)
    if edge.grouping is GroupingType.GLOBAL:
        first = routed.index(1.0) if any(routed) else -1
        return tuple(float(number == first) for number in range(len(routed)))
    if edge.grouping is GroupingType.FIELDS:
        popular = hidden.popularity(fact.name, edge.target, skew)
        return _normal([_owned(one, popular) for one in _with_groups(receivers)])
    return _normal([one.weight if one is not None else 0.0 for one in receivers])


def _with_groups(receivers: Sequence[Receiver | None]) -> list[Receiver | None]:
    """Where nobody dealt out the key groups, each receiver has an even range of them."""
    if any(one is not None and one.key_groups for one in receivers):
        return list(receivers)
    bounds = [number * KEY_GROUPS // max(1, len(receivers)) for number in range(len(receivers) + 1)]
    return [
        None
        if one is None
        else Receiver(
            incarnation=one.incarnation,
            weight=one.weight,
            key_groups=((bounds[number], bounds[number + 1] - 1),),
        )
        for number, one in enumerate(receivers)
    ]


def _owned(receiver: Receiver | None, popular: Floats) -> float:
    if receiver is None:
        return 0.0
    return float(sum(popular[first : last + 1].sum() for first, last in receiver.key_groups))


def _normal(weights: Sequence[float]) -> tuple[float, ...]:
    """Shares of one; what a missing task would have got, the others get."""
    total = sum(weights)
    if total <= 0:
        return tuple(1 / len(weights) for _ in weights)
    return tuple(weight / total for weight in weights)
