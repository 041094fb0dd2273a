"""Traffic between tasks when vertices get other numbers of them."""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.matrices import DependencyMatrix
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.flow import known


@dataclass(frozen=True, slots=True, kw_only=True)
class _Block:
    """The traffic from one vertex to another: entries, and numbers of senders and receivers."""

    rows: Ints
    columns: Ints
    before: tuple[int, int]
    after: tuple[int, int]
    grouping: GroupingType


def respread(snapshot: Snapshot, traffic: DependencyMatrix, new: Ints) -> DependencyMatrix:
    """The traffic with `new` tasks of each vertex, pair of vertices by pair of vertices.

    A pair whose two vertices stay as they are keeps what was measured; of the others the sum is
    kept (or, for Broadcast, what each receiver gets), spread by the grouping.
    """
    old = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.int64)
    starts_old, starts_new = (np.concatenate(([0], np.cumsum(n))) for n in (old, new))
    senders, receivers = traffic.sources, traffic.targets
    pair = snapshot.vertex_of[senders] * len(old) + snapshot.vertex_of[receivers]
    by_pair = np.argsort(pair, kind="stable")
    bounds = np.flatnonzero(np.diff(pair[by_pair], prepend=-1, append=-1))
    groupings = {(edge.source, edge.target): edge.grouping for edge in reversed(snapshot.edges)}
    pieces: list[tuple[Ints, Ints, Floats, Floats]] = []
    for begin, end in pairwise(bounds):
        entries = by_pair[begin:end]
        source, target = divmod(int(pair[entries[0]]), len(old))
        block = _Block(
            rows=senders[entries] - starts_old[source],
            columns=receivers[entries] - starts_old[target],
            before=(int(old[source]), int(old[target])),
            after=(int(new[source]), int(new[target])),
            grouping=groupings.get((source, target), GroupingType.SHUFFLE),
        )
        tuples, bytes_ = traffic.tuples_per_s[entries], traffic.bytes_per_s[entries]
        rows, columns = block.rows, block.columns
        if block.before != block.after:
            rows, columns = np.indices(block.after).reshape(2, -1)
            tuples, bytes_ = _spread(block, tuples), _spread(block, bytes_)
        pieces.append((rows + starts_new[source], columns + starts_new[target], tuples, bytes_))
    return _to_csr(pieces, int(new.sum()), traffic)


def _spread(block: _Block, measured: Floats) -> Floats:
    """What each sender sends to each receiver, row by row."""
    rates = known(measured)
    total = rates.sum()
    sent = _sums(block.rows, rates, block.before[0])
    received = _sums(block.columns, rates, block.before[1])
    receivers = block.after[1]
    to = _shares(received, receivers)
    if block.grouping is GroupingType.BROADCAST:
        total = total * receivers / max(block.before[1], 1)
        to = np.full(receivers, 1 / max(receivers, 1))
    elif block.grouping is GroupingType.GLOBAL and receivers:
        to = np.zeros(receivers)
        hit = int(np.argmax(np.nan_to_num(received)))
        to[hit if hit < receivers else 0] = 1.0
    spread: Floats = total * np.outer(_shares(sent, block.after[0]), to).ravel()
    return spread


def _sums(positions: Ints, rates: Floats, length: int) -> Floats:
    sums = np.zeros(length)
    np.add.at(sums, positions, rates)
    return sums


def _shares(seen: Floats, tasks: int) -> Floats:
    """Each task's share: as it was where the number is the same, even otherwise."""
    total = float(seen.sum())
    if len(seen) == tasks and total > 0:
        return np.divide(seen, total)
    return np.full(tasks, 1 / max(tasks, 1))


def _to_csr(
    pieces: list[tuple[Ints, Ints, Floats, Floats]], tasks: int, traffic: DependencyMatrix
) -> DependencyMatrix:
    rows = columns = np.zeros(0, dtype=np.int64)
    tuples = bytes_ = np.zeros(0)
    if pieces:
        rows, columns, tuples, bytes_ = (np.concatenate(part) for part in zip(*pieces, strict=True))
    order = np.lexsort((columns, rows))
    return DependencyMatrix(
        indptr=np.concatenate(([0], np.cumsum(np.bincount(rows, minlength=tasks)))),
        targets=columns[order],
        tuples_per_s=tuples[order],
        bytes_per_s=bytes_[order],
        observed=traffic.observed,
    )
