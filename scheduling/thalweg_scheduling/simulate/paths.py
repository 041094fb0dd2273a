"""The ways that tuples take from task to task, and the time it takes them.

Pairs of tasks are kept in the order in which tuples reach them, all pairs of one level of the
graph side by side, so that a pass over the graph is a pass over a few slices.
"""

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.flow import vertices_in_order
from thalweg_scheduling.simulate.queueing import harmonic
from thalweg_scheduling.simulate.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Sojourn:
    """The time that a tuple spends in each task, and between each pair."""

    wait_s: Floats
    service_s: Floats
    hop_s: Floats
    """Shape (pairs,), in the order of the workload."""

    @property
    def response_s(self) -> Floats:
        """Shape (tasks,): from arriving at a task to being done there."""
        return self.wait_s + self.service_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Paths:
    """The pairs of a workload by level."""

    vertex_of: Ints
    is_sink: Bools
    order: Ints
    """Position in the workload of each pair here."""
    sources: Ints
    targets: Ints
    sent: Floats
    """Tuples for one tuple of the sender."""
    levels: tuple[slice, ...]

    @staticmethod
    def of(snapshot: Snapshot, workload: Workload) -> "Paths":
        """Sort the pairs; those that lead backwards carry nothing."""
        depth, sends = _depths(snapshot)
        level = depth[snapshot.vertex_of]
        sources, targets = workload.sources, workload.targets
        order = np.lexsort((targets, sources, level[sources]))
        sources, targets = sources[order], targets[order]
        forward = level[targets] > level[sources]
        starts = np.searchsorted(level[sources], np.arange(depth.max(initial=0) + 2))
        return Paths(
            vertex_of=snapshot.vertex_of,
            is_sink=~sends[snapshot.vertex_of],
            order=order,
            sources=sources,
            targets=targets,
            sent=np.where(forward, workload.sent_per_tuple[order], 0.0),
            levels=tuple(
                slice(int(begin), int(end)) for begin, end in pairwise(starts) if begin < end
            ),
        )

    def flow(self, offered_per_s: Floats) -> Floats:
        """Shape (tasks,): the rate of every task when that much is offered to the sources."""
        rate = np.array(offered_per_s)
        for level in self.levels:
            passed = _times(self.sent[level], rate[self.sources[level]])
            np.add.at(rate, self.targets[level], passed)
        return rate

    def latency_s(self, sojourn: Sojourn, offered_per_s: Floats) -> float:
        """Source to sink: the mean over the tuples that arrive at sinks."""
        response, hop = sojourn.response_s, sojourn.hop_s[self.order]
        arriving = self.is_sink.astype(np.float64)
        spent = np.where(self.is_sink, response, 0.0)
        for level in reversed(self.levels):
            source, target, sent = self.sources[level], self.targets[level], self.sent[level]
            np.add.at(arriving, source, _times(sent, arriving[target]))
            onward = _times(arriving[target], hop[level]) + spent[target]
            np.add.at(spent, source, _times(sent, onward))
            senders = np.unique(source)
            spent[senders] += _times(arriving[senders], response[senders])
        return _mean(_times(offered_per_s, spent), _times(offered_per_s, arriving))

    def complete_latency_s(self, sojourn: Sojourn, offered_per_s: Floats) -> float:
        """Until the last thing that a tuple caused is done and its acknowledgement is back.

        Acknowledgements go back the way the tuples came. Of several edges the slower counts; of
        several tuples on one edge, the slowest, as if their times were exponential.
        """
        response, hop = sojourn.response_s, sojourn.hop_s[self.order]
        complete = np.array(response)
        for level in reversed(self.levels):
            source, target, sent = self.sources[level], self.targets[level], self.sent[level]
            vertex = self.vertex_of[target]
            first = np.flatnonzero(
                np.diff(source, prepend=-1).astype(np.bool_)
                | np.diff(vertex, prepend=-1).astype(np.bool_)
            )
            copies = np.add.reduceat(sent, first)
            there_and_back = _times(sent, 2 * hop[level] + complete[target])
            mean = np.add.reduceat(there_and_back, first) / copies
            last = np.add.reduceat(_times(sent, response[target]), first) / copies
            slowest = mean * np.minimum(1.0, copies) + last * (
                harmonic(np.maximum(1.0, copies)) - 1
            )
            longest = np.zeros(len(complete))
            np.maximum.at(longest, source[first], np.where(copies == 0, 0.0, slowest))
            complete += longest
        return _mean(_times(offered_per_s, complete), offered_per_s)

    def component_latency_s(self, sojourn: Sojourn, rate_per_s: Floats) -> float:
        """The sum over the vertices of waiting and processing in one task of each."""
        vertices = int(self.vertex_of.max(initial=-1)) + 1
        flowing = np.zeros(vertices)
        np.add.at(flowing, self.vertex_of, rate_per_s)
        # Where nothing flows, every task counts alike.
        weight = np.where(flowing[self.vertex_of] == 0, 1.0, rate_per_s)
        total, spent = np.zeros(vertices), np.zeros(vertices)
        np.add.at(total, self.vertex_of, weight)
        np.add.at(spent, self.vertex_of, _times(weight, sojourn.response_s))
        return float(np.sum(spent / total)) if vertices else float("nan")


def _depths(snapshot: Snapshot) -> tuple[Ints, Bools]:
    """For each vertex, the longest way to it, and whether anything leads on from it."""
    depth = np.zeros(len(snapshot.vertices), dtype=np.int64)
    sends = np.zeros(len(snapshot.vertices), dtype=np.bool_)
    receivers: list[list[int]] = [[] for _ in snapshot.vertices]
    for edge in snapshot.edges:
        receivers[edge.source].append(edge.target)
        sends[edge.source] = True
    for vertex in vertices_in_order(snapshot):
        for target in receivers[vertex]:
            depth[target] = max(depth[target], depth[vertex] + 1)
    return depth, sends


def _times(weight: Floats, value: Floats) -> Floats:
    """The product, in which what has no weight counts for nothing even if it is unknown."""
    return np.where(weight == 0, 0.0, weight * value)


def _mean(weighted: Floats, weight: Floats) -> float:
    total = float(weight.sum())
    return float(weighted.sum()) / total if total != 0 else float("nan")
