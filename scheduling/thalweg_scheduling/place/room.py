"""Who still fits where: the one place that knows capacity, eligibility and domain limits."""

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.plan import Missing
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

# Requests are sums of decimal fractions: what fits on paper must fit here too.
TOLERANCE = 1e-9


class Room:
    """What is left on each node while tasks are put down one by one."""

    def __init__(self, snapshot: Snapshot, staying: Bools) -> None:
        """Count the tasks that stay; the others are still to be put down."""
        self._snapshot = snapshot
        self._slack = TOLERANCE * np.maximum(1.0, np.abs(snapshot.capacity))
        self.free = np.array(snapshot.capacity)
        self.tasks_on = np.zeros(len(snapshot.nodes), dtype=np.int64)
        vertices, domains = len(snapshot.vertices), len(snapshot.domains)
        self._in_domain = np.zeros((vertices, domains), dtype=np.int64)
        self._to_come = np.bincount(snapshot.vertex_of, minlength=vertices)
        for task in np.flatnonzero(staying & (snapshot.placement != UNPLACED)):
            self.put(int(task), int(snapshot.placement[task]))

    def put(self, task: int, node: int) -> None:
        """Take the room that the task needs, whether there is enough or not."""
        vertex = self._snapshot.vertex_of[task]
        self.free[node] -= self._snapshot.demand[task]
        self.tasks_on[node] += 1
        self._in_domain[vertex, self._snapshot.domain_of[node]] += 1
        self._to_come[vertex] -= 1

    def fitting(self, task: int) -> Bools:
        """Shape (nodes,): where the task may go now."""
        near: Bools = self._domain_allows(task)[self._snapshot.domain_of]
        fits: Bools = self._snapshot.eligible[task] & self._has_capacity(task) & near
        return fits

    def missing(self, task: int) -> Missing:
        """Why the task fits nowhere, by the first thing that no node can give."""
        snapshot, name = self._snapshot, self._snapshot.tasks[task].name
        able = snapshot.eligible[task]
        if not able.any():
            return Missing(
                task=name,
                resource="nodes",
                message=f"no node may run {name}: taints, selectors, cordons or volumes exclude "
                f"all {len(snapshot.nodes)}",
            )
        roomy = self._has_capacity(task)
        if (able & roomy).any():
            return Missing(
                task=name,
                resource="domains",
                message=f"{name} has room only in domains that its vertex may not use any more "
                "(placement.minDomains, placement.maxSharePercent)",
            )
        return self._missing_resource(task, np.flatnonzero(able))

    def _has_capacity(self, task: int) -> Bools:
        demand = self._snapshot.demand[task]
        # What is not asked for cannot be missing, even on a node that is over-committed in it.
        enough: Bools = (demand <= self.free + self._slack) | (demand == 0)
        return np.asarray(enough.all(axis=1), dtype=np.bool_)

    def _domain_allows(self, task: int) -> Bools:
        limits = self._snapshot.limits.placement
        vertex = int(self._snapshot.vertex_of[task])
        replicas = self._snapshot.vertices[vertex].replicas
        present = self._in_domain[vertex]
        most = max(1, int(np.floor(replicas * limits.max_share_percent / 100 + TOLERANCE)))
        allowed: Bools = present < most
        needed = min(limits.min_domains, replicas, len(self._snapshot.domains))
        if needed - np.count_nonzero(present) >= self._to_come[vertex]:
            allowed = allowed & (present == 0)
        return allowed

    def _missing_resource(self, task: int, nodes: Ints) -> Missing:
        snapshot = self._snapshot
        lacking = snapshot.demand[task] - self.free[nodes]
        # The resource that fails on most of the nodes is the one to add.
        fails = (lacking > self._slack[nodes]) & (snapshot.demand[task] > 0)
        resource = int(np.argmax(fails.sum(axis=0)))
        name, word = snapshot.tasks[task].name, snapshot.resources[resource]
        most_free = float(np.max(self.free[nodes, resource]))
        return Missing(
            task=name,
            resource=word,
            message=f"{name} asks for {word} {snapshot.demand[task, resource]:g}; the most that is "
            f"free on any of {len(nodes)} eligible nodes is {max(0.0, most_free):g}",
        )
