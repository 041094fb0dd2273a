"""A workload from what is known of a program, rather than from what was measured of it."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from thalweg_scheduling.group.near_source import routed_shares
from thalweg_scheduling.group.receivers import NOWHERE, Origin, Receiver
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.graph import Edge, GroupingType
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexProfile:
    """What is declared of a vertex."""

    cpu_s: float
    held_s: float = 0.0
    offered_per_s: float = 0.0
    """What arrives from outside, over all its tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeProfile:
    """What is declared of an edge."""

    selectivity: float = 1.0
    """Tuples sent for one tuple processed; for Broadcast, to each receiver."""
    tuple_bytes: float = 100.0
    shares: tuple[float, ...] | None = None
    """What each receiving task gets, where routes say so; otherwise the grouping decides.

    By NearSource each sender makes its own of them, as it does while a topology runs.
    """


def declared_workload(
    snapshot: Snapshot,
    vertices: Mapping[str, VertexProfile],
    edges: Mapping[tuple[str, str], EdgeProfile],
    node: Ints,
) -> Workload:
    """Spread each edge over its tasks by its grouping.

    NearSource and LoadAwareLocal look at `node`. NearSource shares as it does in a real topology:
    a node keeps as much as its receivers' part of the whole. LoadAwareLocal sends to receivers on
    the same node, else in the same domain, else anywhere, evenly.
    """
    profiles = [vertices[vertex.name] for vertex in snapshot.vertices]
    replicas = np.array([max(1, vertex.replicas) for vertex in snapshot.vertices])
    offered = np.array([profile.offered_per_s for profile in profiles]) / replicas
    pairs = [_spread(snapshot, edge, edges, node) for edge in snapshot.edges]
    rows, columns, sent, size = (
        (np.concatenate([np.zeros(0), *part]) for part in zip(*pairs, strict=True))
        if pairs
        else (np.zeros(0),) * 4
    )
    order = np.lexsort((columns, rows))
    tasks = len(snapshot.vertex_of)
    counts = np.bincount(rows.astype(np.int64), minlength=tasks)
    return Workload(
        offered_per_s=offered[snapshot.vertex_of],
        cpu_s=np.array([profile.cpu_s for profile in profiles])[snapshot.vertex_of],
        held_s=np.array([profile.held_s for profile in profiles])[snapshot.vertex_of],
        indptr=np.concatenate(([0], np.cumsum(counts))),
        targets=columns[order].astype(np.int64),
        sent_per_tuple=sent[order],
        tuple_bytes=size[order],
    )


def _spread(
    snapshot: Snapshot, edge: Edge, edges: Mapping[tuple[str, str], EdgeProfile], node: Ints
) -> tuple[Ints, Ints, Floats, Floats]:
    """The pairs of one edge: senders, receivers, tuples for a tuple, bytes."""
    ends = snapshot.vertices[edge.source].name, snapshot.vertices[edge.target].name
    senders = np.flatnonzero(snapshot.vertex_of == edge.source)
    receivers = np.flatnonzero(snapshot.vertex_of == edge.target)
    profile = edges[ends]
    shape = len(senders), len(receivers)
    if edge.grouping is GroupingType.NEAR_SOURCE and receivers.size:
        weights = profile.shares or (1.0,) * len(receivers)
        shares = _routed(snapshot, senders, receivers, weights, node)
    elif profile.shares is not None:
        shares = np.broadcast_to(np.array(profile.shares), shape)
    elif edge.grouping is GroupingType.LOAD_AWARE_LOCAL:
        shares = _nearest(snapshot, node[senders], node[receivers])
    elif edge.grouping is GroupingType.GLOBAL:
        shares = np.broadcast_to(np.arange(shape[1]) == 0, shape).astype(np.float64)
    else:
        copies = edge.grouping is GroupingType.BROADCAST
        shares = np.full(shape, 1.0 if copies else 1 / max(1, shape[1]))
    sent = profile.selectivity * shares.ravel()
    return (
        np.repeat(senders, shape[1]),
        np.tile(receivers, shape[0]),
        sent,
        np.full(sent.shape, profile.tuple_bytes),
    )


def _routed(
    snapshot: Snapshot, senders: Ints, receivers: Ints, weights: Sequence[float], node: Ints
) -> Floats:
    """Shape (senders, receivers): what NearSource makes of the weights where each sender is."""
    where = [_origin(snapshot, task, node) for task in range(len(node))]
    crowd = [
        Receiver(
            name=snapshot.task_names[task],
            node=where[task].node,
            domain=where[task].domain,
            process=where[task].process,
            weight=weight,
        )
        for task, weight in zip(receivers.tolist(), weights, strict=True)
    ]
    hosts = {one.process for one in crowd}
    origins = [
        origin if origin.process in hosts else replace(origin, process="")
        for origin in (where[task] for task in senders.tolist())
    ]
    # Senders in one place share alike, and there may be hundreds of them.
    counts = Counter(origins)
    found = {origin: routed_shares(crowd, origin, counts) for origin in counts}
    return np.array([found[origin] for origin in origins]).reshape(len(senders), len(receivers))


def _origin(snapshot: Snapshot, task: int, node: Ints) -> Origin:
    at = int(node[task])
    if at == UNPLACED:
        return NOWHERE
    process = task if snapshot.process is None else int(snapshot.process[task])
    domain = snapshot.domains[int(snapshot.domain_of[at])]
    return Origin(node=snapshot.nodes[at], domain=domain, process=str(process))


def _nearest(snapshot: Snapshot, senders: Ints, receivers: Ints) -> Floats:
    """Shape (senders, receivers): even shares of the receivers that are nearest."""
    same_node = (senders[:, None] == receivers[None, :]) & (senders >= 0)[:, None]
    domain = np.append(snapshot.domain_of, -1)
    same_domain = domain[senders][:, None] == domain[receivers][None, :]
    chosen: Bools = np.ones(same_node.shape, dtype=np.bool_)
    for near in (same_domain, same_node):
        chosen = np.where(near.any(axis=1, keepdims=True), near, chosen)
    shares: Floats = chosen / np.maximum(1, chosen.sum(axis=1, keepdims=True))
    return shares
