"""Who still fits where, while tasks are put down one by one."""

import numpy as np

from thalweg_scheduling.measure.needs import TOLERANCE, needs, taken
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.plan import Missing
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.spread import spread_of, tasks_by_domain


class Room:
    """What is left on each node, and in which domains each vertex may still be put."""

    def __init__(self, snapshot: Snapshot, staying: Bools) -> None:
        """Count the tasks that stay; the others are still to be put down."""
        self._snapshot = snapshot
        self._needs = needs(snapshot)
        self._spread = spread_of(snapshot)
        there = np.where(staying, snapshot.placement, UNPLACED)
        here = np.flatnonzero(there != UNPLACED)
        self.free = self._needs.capacity - taken(self._needs, there)
        self.tasks_on = np.bincount(there[here], minlength=len(snapshot.nodes))
        self._in_domain = tasks_by_domain(snapshot, there)
        waiting = np.bincount(snapshot.vertex_of, minlength=len(snapshot.vertices))
        self._to_come = waiting - self._in_domain.sum(axis=1)

    def put(self, task: int, node: int) -> None:
        """Take the room that the task needs, whether there is enough or not."""
        self._count(task, node, 1)

    def take(self, task: int, node: int) -> None:
        """Give the task's room back."""
        self._count(task, node, -1)

    def fitting(self, task: int) -> Bools:
        """Shape (nodes,): where the task may go now."""
        near: Bools = self._domain_allows(task)[self._snapshot.domain_of]
        fits: Bools = self._snapshot.eligible[task] & self.has_capacity(task) & near
        return fits

    def has_capacity(self, task: int) -> Bools:
        """Shape (nodes,): where there is enough left of everything that the task needs."""
        demand = self._needs.demand[task]
        # What is not asked for cannot be missing, even on a node that is over-committed in it.
        enough: Bools = (demand <= self.free) | (demand == 0)
        return np.asarray(enough.all(axis=1), dtype=np.bool_)

    def can_move(self, task: int, source: int, target: int) -> bool:
        """Whether the task may go there while its old pod is still where it was."""
        demand = self._needs.demand[task]
        if not self._snapshot.eligible[task, target]:
            return False
        if np.any((demand > self.free[target]) & (demand > 0)):
            return False
        self.take(task, source)
        allowed = bool(self._domain_allows(task)[self._snapshot.domain_of[target]])
        self.put(task, source)
        return allowed

    def missing(self, task: int) -> Missing:
        """Why the task fits nowhere, by the first thing that no node can give."""
        snapshot, name = self._snapshot, self._snapshot.task_names[task]
        able = snapshot.eligible[task]
        if not able.any():
            return Missing(
                task=name,
                resource="nodes",
                message=f"no node may run {name}: taints, selectors, cordons or volumes exclude "
                f"all {len(snapshot.nodes)}",
            )
        if (able & self.has_capacity(task)).any():
            return Missing(
                task=name,
                resource="domains",
                message=f"{name} has room only in domains that its vertex may not use any more "
                "(placement.minDomains, placement.maxSharePercent)",
            )
        return self._missing_resource(task, np.flatnonzero(able))

    def _count(self, task: int, node: int, sign: int) -> None:
        vertex = self._snapshot.vertex_of[task]
        self.free[node] -= sign * self._needs.demand[task]
        self.tasks_on[node] += sign
        self._in_domain[vertex, self._snapshot.domain_of[node]] += sign
        self._to_come[vertex] -= sign

    def _domain_allows(self, task: int) -> Bools:
        vertex = int(self._snapshot.vertex_of[task])
        present = self._in_domain[vertex]
        allowed: Bools = present < self._spread.most[vertex]
        needed = self._spread.least[vertex] - np.count_nonzero(present)
        if needed >= self._to_come[vertex] and needed > 0:
            allowed = allowed & (present == 0)
        return allowed

    def _missing_resource(self, task: int, nodes: Ints) -> Missing:
        demand = self._needs.demand[task]
        # The resource that fails on most of the nodes is the one to add.
        fails = (demand > self.free[nodes]) & (demand > 0)
        column = int(np.argmax(fails.sum(axis=0)))
        name, word = self._snapshot.task_names[task], self._needs.words[column]
        # Without the tolerance, which is nothing that anybody could use.
        spare = self.free[nodes, column] - TOLERANCE * np.maximum(
            1.0, self._needs.capacity[nodes, column]
        )
        most_free = float(np.max(np.round(spare, 6)))
        return Missing(
            task=name,
            resource=word,
            message=f"{name} asks for {word} {demand[column]:g}; the most that is "
            f"free on any of {len(nodes)} eligible nodes is {max(0.0, most_free):.6g}",
        )
