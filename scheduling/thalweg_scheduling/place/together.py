"""Moves of whole processes: tasks that share a pod go together, or stay.

The searches place task by task. Here each process takes the node that most of its tasks were given,
where there is room for all of them and J gets less by it.
"""

from collections import Counter

import numpy as np

from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.moving import Step
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room


def present_processes(problem: Problem) -> Ints:
    """Shape (tasks,): the process of each task as it is now."""
    process = problem.snapshot.process
    return np.arange(len(problem.snapshot.placement)) if process is None else process


def joined(snapshot: Snapshot, process: Ints) -> Ints:
    """The processes that there are, and beside them those of the tasks that have no node yet."""
    present = snapshot.process
    if present is None:
        return process
    fresh = 1 + int(present.max(initial=-1))
    return np.where(snapshot.placement == UNPLACED, fresh + process, present)


def value_of(problem: Problem, node: Ints) -> float:
    """J with the processes as they are, and what the moves cost."""
    cost = objective(problem.snapshot, node, present_processes(problem))
    return cost + problem.move_cost * problem.moves(node)


def steps_together(
    problem: Problem, wanted: Ints, urgent: Bools, *, most: int | None = None
) -> list[Step]:
    """The moves of the processes that gain by it, best first; urgent ones in any case."""
    node = np.array(problem.snapshot.placement)
    room = Room(problem.snapshot, np.ones(len(node), dtype=np.bool_))
    value, steps = value_of(problem, node), list[Step]()
    for _, _, tasks, target in sorted(_promises(problem, wanted, urgent)):
        if most is not None and len(steps) + len(tasks) > most:
            continue
        source, moved = int(node[tasks[0]]), node.copy()
        moved[list(tasks)] = target
        after = value_of(problem, moved)
        must = bool(urgent[list(tasks)].any())
        # Written so that an unknown J moves nothing.
        if not (must or after < value - 1e-12 * abs(value)):
            continue
        if not _carried(room, tasks, source, target):
            continue
        node, value = moved, after
        steps += [Step(task=t, source=source, target=target, value=value) for t in tasks]
    return steps


def _promises(
    problem: Problem, wanted: Ints, urgent: Bools
) -> list[tuple[bool, float, tuple[int, ...], int]]:
    """Each process that would go elsewhere: whether it can wait, J after it alone, and where to."""
    present, process = problem.snapshot.placement, present_processes(problem)
    promises = []
    for number in np.unique(process).tolist():
        tasks = tuple(np.flatnonzero(process == number).tolist())
        here = int(present[tasks[0]])
        votes = Counter(int(wanted[task]) for task in tasks if wanted[task] != UNPLACED)
        if here == UNPLACED or not votes:
            continue
        target = min(votes, key=lambda node: (-votes[node], node))
        if target == here:
            continue
        alone = np.array(present)
        alone[list(tasks)] = target
        waits = not urgent[list(tasks)].any()
        promises.append((bool(waits), value_of(problem, alone), tasks, target))
    return promises


def _carried(room: Room, tasks: tuple[int, ...], source: int, target: int) -> bool:
    """Take the room for all tasks at their target; or for none, if one of them does not fit."""
    done = []
    for task in tasks:
        if not room.can_move(task, source, target):
            break
        room.take(task, source)
        room.put(task, target)
        done.append(task)
    if len(done) == len(tasks):
        return True
    for task in done:
        room.take(task, target)
        room.put(task, source)
    return False
