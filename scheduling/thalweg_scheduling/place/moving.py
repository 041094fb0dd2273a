"""The way from one placement to another, in steps that can each be taken.

A move is made before it is broken: the new pod needs its room while the old one still has its own.
So moves are ordered, and those that wait for each other in a circle are left out.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.measure.needs import overloaded
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room
from thalweg_scheduling.place.spread import torn_vertices

LOOK_AGAIN = 1_000
"""With more moves than this, what each gains is looked at once and not after every other move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One task's move, and J + move cost once it is done."""

    task: int
    source: int
    target: int
    value: float


def steps_towards(problem: Problem, target: Ints, urgent: Bools) -> list[Step]:
    """All moves that can be made: urgent ones first, then at each point the one that helps most."""
    return _Journey(problem, target, urgent).steps()


def best_prefix(
    steps: list[Step], urgent: Bools, *, present_value: float, most: int | None
) -> list[Step]:
    """The urgent steps, and as many others as end in the least value, the fewest if it is a tie."""
    within = steps if most is None else steps[: max(most, 0)]
    length = max((n for n, step in enumerate(within, start=1) if urgent[step.task]), default=0)
    best = within[length - 1].value if length else present_value
    for position, step in enumerate(within, start=1):
        if position > length and step.value < best - 1e-12 * abs(best):
            best, length = step.value, position
    return within[:length]


def urgent_tasks(problem: Problem, target: Ints | None = None) -> Bools:
    """Tasks on nodes that may not run them or have too little for them.

    And those of vertices that break their bounds on domains, if `target` would keep them; and all
    that have to go along with one of these.
    """
    snapshot, present = problem.snapshot, problem.snapshot.placement
    placed = np.flatnonzero(present != UNPLACED)
    urgent = np.zeros(len(present), dtype=np.bool_)
    urgent[placed] = ~snapshot.eligible[placed, present[placed]]
    urgent[placed] |= overloaded(problem.needs, present)[present[placed]]
    if problem.spread.binds:
        torn = torn_vertices(snapshot, present)
        if target is not None:
            torn = torn & ~torn_vertices(snapshot, target)
        urgent[placed] |= torn[snapshot.vertex_of[placed]]
    if snapshot.limits.placement.whole_processes and snapshot.process is not None:
        urgent |= np.isin(snapshot.process, snapshot.process[urgent])
    return urgent


class _Journey:
    """Which tasks still have to move, and which of them wait for room."""

    def __init__(self, problem: Problem, target: Ints, urgent: Bools) -> None:
        snapshot = problem.snapshot
        self._problem, self._target, self._urgent = problem, target, urgent
        self._node = np.array(snapshot.placement)
        self._room = Room(snapshot, np.ones(len(self._node), dtype=np.bool_))
        self._near = Neighbours(problem)
        self._value = problem.score(self._node)[1]
        leaving = (self._node != target) & (self._node != UNPLACED) & (target != UNPLACED)
        self._pending = {int(task) for task in np.flatnonzero(leaving)}
        self._looks_again = len(self._pending) <= LOOK_AGAIN
        self._waiting: dict[int, list[int]] = {}
        self._heap = [self._promise(task) for task in sorted(self._pending)]
        heapq.heapify(self._heap)

    def steps(self) -> list[Step]:
        done = []
        while self._heap:
            promise = heapq.heappop(self._heap)
            task = promise[-1]
            if task not in self._pending:
                continue
            actual = self._promise(task)
            if actual > promise and self._looks_again:
                heapq.heappush(self._heap, actual)
                continue
            source, target = int(self._node[task]), int(self._target[task])
            if not self._room.can_move(task, source, target):
                self._waiting.setdefault(target, []).append(task)
                continue
            self._value += actual[1]
            self._carry_out(task, source, target)
            done.append(Step(task=task, source=source, target=target, value=self._value))
        return done

    def _carry_out(self, task: int, source: int, target: int) -> None:
        self._room.take(task, source)
        self._room.put(task, target)
        self._node[task] = target
        self._pending.discard(task)
        if self._looks_again:
            self._look_again_at(self._near.of(task).tolist())
        # Bounds on domains can be freed by any move, room only by one that leaves the node.
        freed = list(self._waiting) if self._problem.spread.binds else [source]
        for node in freed:
            self._look_again_at(self._waiting.pop(node, []))

    def _look_again_at(self, tasks: list[int]) -> None:
        for task in tasks:
            if task in self._pending:
                heapq.heappush(self._heap, self._promise(task))

    def _promise(self, task: int) -> tuple[bool, float, int]:
        """Sorts urgent tasks first, then by what the move changes; ties by position."""
        here, there = int(self._node[task]), int(self._target[task])
        costs = self._near.costs(task, self._node, np.array([here, there]))
        delta = float(costs[1] - costs[0]) + self._problem.move_cost
        return not self._urgent[task], delta, task
