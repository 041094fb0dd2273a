"""Hd-Stream's Algorithm 2: between neighbouring groups of nodes, tasks go to where they talk.

Groups are taken in their sequence, two neighbours at a time. A task is on the boundary if it talks
with one in the other group. The one that gains most goes over, each at most once for a pair.

Where the paper errs or is silent:

- (6) counts only the other group of the pair: with every group it would count what stays cut;
- a group that has no task (any more) has no neighbours: its place in the sequence is skipped;
- a task goes over for a gain above 0: for one of 0 it would go to and fro;
- a task that has no room over there is passed over; as printed, it ends the pair;
- inside of a group, a task goes to the node that is used least.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Groups:
    """The nodes' groups and how much of every node is used."""

    of: Ints
    """Shape (nodes,): the group of each node."""
    sequence: tuple[int, ...]
    weight: Floats
    """Shape (tasks,): what each task takes, as one number."""
    capacity: Floats
    """Shape (nodes,): what each node has, in the same unit."""


class Boundary:
    """Where every task is while tasks are dealt to groups and go over boundaries."""

    def __init__(self, problem: Problem, groups: Groups) -> None:
        """Who may not move is where it is; everybody else is nowhere yet."""
        self._problem, self._groups = problem, groups
        self._near = Neighbours(problem)
        self._room = Room(problem.snapshot, ~problem.movable)
        self.node = np.where(problem.movable, UNPLACED, problem.snapshot.placement)
        placed = self.node != UNPLACED
        self._load = np.zeros(len(groups.capacity))
        np.add.at(self._load, self.node[placed], groups.weight[placed])

    def keep(self, tasks: Ints) -> None:
        """Put down, where they are now, those that may be and fit there: the present subgraphs."""
        present = self._problem.snapshot.placement
        for task in tasks.tolist():
            here = int(present[task])
            if here != UNPLACED and self._room.fitting(task)[here]:
                self._put(task, here)

    def deal(self, order: list[int]) -> None:
        """Put everybody else down, in the first group of the sequence that has room."""
        for task in order:
            if self.node[task] != UNPLACED or not self._problem.movable[task]:
                continue
            for group in self._groups.sequence:
                node = self._least_used(task, group)
                if node != UNPLACED:
                    self._put(task, node)
                    break

    def migrate(self) -> int:
        """Lines 2 to 20; how many tasks went over."""
        moved, before = 0, UNPLACED
        for group in self._groups.sequence:
            if before != UNPLACED:
                moved += self._between(before, group)
            if np.any(self._where() == group):
                before = group
        return moved

    def _between(self, one: int, two: int) -> int:
        """Lines 3 to 19 for one pair of groups: the largest gain first (Eq 6 to 8)."""
        where = self._where()
        may_go = self._problem.movable & ((where == one) | (where == two))
        talk = {group: self._talk_with(where == group) for group in (one, two)}
        moved = 0
        while True:
            gain = np.where(where == one, talk[two] - talk[one], talk[one] - talk[two])
            task = int(np.argmax(np.where(may_go, gain, -np.inf)))
            if not may_go[task] or gain[task] <= _ROUNDING * (talk[one][task] + talk[two][task]):
                return moved
            may_go[task] = False
            group, other = int(where[task]), two if where[task] == one else one
            target = self._least_used(task, other)
            if target == UNPLACED:
                continue
            self._go_over(task, target)
            where[task] = other
            np.subtract.at(talk[group], self._near.of(task), self._near.exchanged(task))
            np.add.at(talk[other], self._near.of(task), self._near.exchanged(task))
            moved += 1

    def _talk_with(self, members: Bools) -> Floats:
        """Shape (tasks,): what each exchanges with these, either way."""
        rates, talk = self._problem.rates, np.zeros(len(members))
        for mine, other in ((rates.source, rates.target), (rates.target, rates.source)):
            there = members[other] & (mine != other)
            np.add.at(talk, mine[there], rates.per_s[there])
        return talk

    def _where(self) -> Ints:
        """Shape (tasks,): the group of each."""
        where: Ints = np.append(self._groups.of, UNPLACED)[self.node]
        return where

    def _least_used(self, task: int, group: int) -> int:
        """A node of the group that has room, or UNPLACED."""
        here = int(self.node[task])
        # A task that goes over leaves its place in its domain.
        if here != UNPLACED:
            self._room.take(task, here)
        able = np.flatnonzero(self._room.fitting(task) & (self._groups.of == group))
        if here != UNPLACED:
            self._room.put(task, here)
        if able.size == 0:
            return UNPLACED
        after = self._load[able] + self._groups.weight[task]
        use = np.round(after / np.maximum(self._groups.capacity[able], 1e-300), 9)
        return int(able[np.argmin(use)])

    def _go_over(self, task: int, target: int) -> None:
        source = int(self.node[task])
        self._room.take(task, source)
        self._load[source] -= self._groups.weight[task]
        self._put(task, target)

    def _put(self, task: int, node: int) -> None:
        self._room.put(task, node)
        self._load[node] += self._groups.weight[task]
        self.node[task] = node
