"""What is on the stage: where each task runs, and what it is asked to do there."""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate.declared import EdgeProfile, VertexProfile, declared_workload
from thalweg_scheduling.simulate.parameters import Parameters
from thalweg_scheduling.simulate.workload import Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What is true of a topology wherever it runs; strategies never see it."""

    vertices: Mapping[str, VertexProfile]
    """`offered_per_s` says in which proportion the sources get what a rate profile offers."""
    edges: Mapping[tuple[str, str], EdgeProfile]
    parameters: Parameters

    def workload(self, snapshot: Snapshot) -> Workload:
        """What the tasks do where the snapshot has them; subclasses may group by other rules."""
        edges = dict(self.edges)
        for weights in snapshot.weights:
            ends = weights.source, weights.target
            count = next(each.replicas for each in snapshot.vertices if each.name == ends[1])
            shares = tuple(weights.shares.get(f"{ends[1]}-{i}", 0.0) for i in range(count))
            if sum(shares) > 0:
                even = tuple(share / sum(shares) for share in shares)
                edges[ends] = replace(edges[ends], shares=even)
        return declared_workload(snapshot, self.vertices, edges, snapshot.placement)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """A placement of all tasks, and the workload that follows from it."""

    snapshot: Snapshot
    """With the placement and the processes of all tasks, and nothing measured."""
    workload: Workload
    parameters: Parameters

    @property
    def node(self) -> Ints:
        """Shape (tasks,): where each task runs."""
        return self.snapshot.placement

    @property
    def process(self) -> Ints:
        """Shape (tasks,): in which process."""
        if self.snapshot.process is None:
            return np.arange(len(self.node), dtype=np.int64)
        return self.snapshot.process

    @property
    def offered_share(self) -> Floats:
        """Shape (tasks,): which part of what is offered arrives at each task."""
        offered = self.workload.offered_per_s
        total = float(offered.sum())
        return offered / total if total > 0 else np.zeros(len(offered))


def stage_of(snapshot: Snapshot, program: Program) -> Stage:
    """Put the program on the nodes that the snapshot has its tasks on."""
    if np.any(snapshot.placement == UNPLACED):
        task = snapshot.task_names[int(snapshot.unplaced[0])]
        raise InvalidSnapshot(f"{task} has no node: only what is placed can be run")
    workload = program.workload(snapshot)
    return Stage(snapshot=snapshot, workload=workload, parameters=program.parameters)


@dataclass(frozen=True, slots=True, kw_only=True)
class Counts:
    """What happened on a stage in a span of time; arrays over tasks unless they say otherwise."""

    span_s: float
    offered: Floats
    processed: Floats
    waited_s: Floats
    """Seconds that the processed tuples have waited, all together."""
    served_s: Floats
    """The same of being processed."""
    cpu_s: Floats
    blocked_s: Floats
    """Seconds in which a task had tuples and no credit to send on."""
    sent: Floats
    """Shape (pairs,): in the order of the workload."""
    queued: Floats
    """Tuples in front of each task at the end."""
    backlog: Floats
    """Tuples outside that wait for a source, at the end."""
    latency_sum_s: float
    latencies: float
    complete_sum_s: float
    completed: float
    failed: float
    """Tuples from outside that took longer than the time-out."""

    def __add__(self, later: "Counts") -> "Counts":
        """Both spans together, on the same stage."""
        summed = {
            name: getattr(self, name) + getattr(later, name)
            for name in self.__slots__
            if name not in ("queued", "backlog")
        }
        return Counts(**summed, queued=later.queued, backlog=later.backlog)
