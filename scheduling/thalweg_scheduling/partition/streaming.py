"""Tasks into processes one after the other, as a stream: linear deterministic greedy.

A task goes to the process with which it exchanges most, times the share of it that is free; to the
least loaded one where it knows nobody. A process takes only what some node can host together.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.pairing import CORES_PER_PROCESS, cores_of
from thalweg_scheduling.place.problem import Problem

_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How much there is to share out, and how much of it a process takes."""

    load: Floats
    """Shape (tasks,)."""
    capacity: float
    processes_per_node: int
    """So many processes' worth of tasks may stay on a node that has tasks which may not move."""


def stream_into_processes(problem: Problem, order: Iterable[int], sizes: Sizes) -> Ints:
    """Shape (tasks,): the process of each task.

    There are as many processes as the load fills, and more where none takes a task. Tasks that may
    not move are together in the first ones, one for each of their nodes.
    """
    hosts = _Hosts(problem, sizes)
    near = Neighbours(problem)
    for task in order:
        if problem.movable[task]:
            hosts.put(task, hosts.pick(task, near))
    return hosts.process


class _Hosts:
    """The processes, what is in them, and on which nodes each could still be."""

    def __init__(self, problem: Problem, sizes: Sizes) -> None:
        snapshot = problem.snapshot
        self._problem, self._sizes = problem, sizes
        shared = snapshot.limits.placement.shared_processes
        self._cores = cores_of(snapshot) if shared else np.zeros(len(snapshot.placement))
        stays = ~problem.movable & (snapshot.placement != UNPLACED)
        homes = np.unique(snapshot.placement[stays])
        left = float(sizes.load.sum()) - sizes.processes_per_node * sizes.capacity * len(homes)
        fresh = max(1, int(np.ceil(left / max(sizes.capacity, 1e-300) - _ROUNDING)))
        count = len(homes) + min(fresh, len(snapshot.placement))
        self.process = np.full(len(snapshot.placement), UNPLACED)
        self._load, self._busy = np.zeros(count), np.zeros(count)
        self._taken = np.zeros((count, problem.needs.demand.shape[1]))
        self._able = np.ones((count, len(snapshot.nodes)), dtype=np.bool_)
        self._size = np.full(count, sizes.capacity)
        for position, home in enumerate(homes):
            self._able[position] = np.arange(len(snapshot.nodes)) == home
            self._size[position] = sizes.processes_per_node * sizes.capacity
            for task in np.flatnonzero(stays & (snapshot.placement == home)):
                self._count(int(task), position)
        # What stays has processes of its own already; only newcomers are counted from here on.
        self._busy[: len(homes)] = 0.0

    def pick(self, task: int, near: Neighbours) -> int:
        """The process that suits the task best."""
        roomy = self._load + self._sizes.load[task] <= self._size + _ROUNDING
        roomy &= self._busy + self._cores[task] <= CORES_PER_PROCESS + _ROUNDING
        there = self.process[near.of(task)]
        known = there != UNPLACED
        talk = np.bincount(there[known], near.exchanged(task)[known], minlength=len(self._load))
        share = self._load / np.maximum(self._size, 1e-300)
        value = talk * np.maximum(1.0 - share, 0.0)
        for process in np.lexsort((share, -value)):
            if roomy[process] and self._can_host(int(process), task):
                return int(process)
        return self._another(task)

    def put(self, task: int, process: int) -> None:
        """Put the task into it."""
        self._able[process] &= self._problem.snapshot.eligible[task]
        self._count(task, process)

    def _count(self, task: int, process: int) -> None:
        self.process[task] = process
        self._load[process] += self._sizes.load[task]
        self._busy[process] += self._cores[task]
        self._taken[process] += self._problem.needs.demand[task]

    def _can_host(self, process: int, task: int) -> bool:
        """Whether the process could be on some node with this task in it."""
        wanted = self._taken[process] + self._problem.needs.demand[task]
        fits = ((wanted <= self._problem.needs.capacity) | (wanted == 0)).all(axis=1)
        eligible = self._problem.snapshot.eligible[task]
        return bool((fits & self._able[process] & eligible).any())

    def _another(self, task: int) -> int:
        """An empty process, there already or new."""
        for process in np.flatnonzero((self._load == 0) & (self._busy == 0)):
            if self._can_host(int(process), task):
                return int(process)
        self._load, self._busy = np.append(self._load, 0.0), np.append(self._busy, 0.0)
        self._size = np.append(self._size, self._sizes.capacity)
        self._taken = np.vstack([self._taken, np.zeros(self._taken.shape[1])])
        self._able = np.vstack([self._able, np.ones(self._able.shape[1], dtype=np.bool_)])
        return len(self._load) - 1
