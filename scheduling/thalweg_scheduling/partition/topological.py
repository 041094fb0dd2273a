"""Md-Stream's Algorithm 1: a random topological order, cut into blocks of consecutive tasks."""

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.partition.dependencies import Dependencies


def topological_order(graph: Dependencies, rng: np.random.Generator) -> Ints:
    """Kahn's order, the next of those that wait for nobody being drawn by lot."""
    tasks = graph.tasks
    by_source = np.argsort(graph.source, kind="stable")
    receivers = graph.target[by_source]
    first = np.searchsorted(graph.source[by_source], np.arange(tasks + 1))
    waits_for = np.bincount(graph.target, minlength=tasks)
    free = np.flatnonzero(waits_for == 0).tolist()
    lots = rng.random(tasks).tolist()
    order: list[int] = []
    while free:
        drawn = int(lots[len(order)] * len(free))
        free[drawn], free[-1] = free[-1], free[drawn]
        task = free.pop()
        order.append(task)
        mine = receivers[first[task] : first[task + 1]]
        waits_for[mine] -= 1
        free.extend(mine[waits_for[mine] == 0].tolist())
    if len(order) < tasks:
        raise InvalidSnapshot("the tasks depend on each other in a circle")
    return np.array(order, dtype=np.int64)


def consecutive_blocks(order: Ints, weight: Floats, blocks: int) -> Ints:
    """Shape (tasks,): the block of each, blocks being runs of the order that weigh about the same.

    No task sends to an earlier block than its own, so the blocks' own graph has no circle.
    """
    each = np.where(weight.sum() > 0, weight, 1.0)[order]
    middle = np.cumsum(each) - each / 2
    number = np.floor(middle * blocks / max(each.sum(), 1e-300)).astype(np.int64)
    block = np.empty(len(order), dtype=np.int64)
    block[order] = np.clip(number, 0, blocks - 1)
    return block
