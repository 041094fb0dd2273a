"""Workers made equally full in all dimensions: tasks dealt out, then exchanged while that helps.

What a worker carries is counted in what the worst worker must carry at least, so that dimensions
can be compared; a high power makes the fullest dimension of the fullest worker count most. State
and network may be further from even than compute before they count as much, as CAPS' ceilings
have it.
"""

import numpy as np

from bench.caps_search import Workers
from thalweg_scheduling.model.arrays import Floats, Ints

TINY = 1e-12
SQUARINGS = 4
"""A load counts with the power of two that so many squarings make."""
LEEWAY = (1.0, 1.1, 1.4)
"""By dimension: how uneven counts as much as evenly spread compute."""
EXCHANGES_A_WORKER = 4
HEAVIEST = 8
"""Of so many workers, the heaviest, one must find an exchange that helps, or it is the end."""


def least_possible(workers: Workers) -> Floats:
    """Shape (3,): what the worst worker carries at least: the mean, or an uneven vertex's part."""
    mean = (workers.tasks[:, None] * workers.cost).sum(axis=0) / workers.count
    parts = np.ceil(workers.tasks / workers.count)[:, None] * workers.cost
    return np.asarray(np.maximum(mean, parts.max(axis=0)))


def balanced(workers: Workers) -> Ints:
    """Counts of shape (vertices, workers) by which no worker is much fuller than it has to be."""
    cost = workers.cost / np.maximum(least_possible(workers) * LEEWAY, TINY)
    counts = _dealt(workers, cost)
    for _ in range(EXCHANGES_A_WORKER * workers.count):
        if not _exchange(cost, counts, workers.slots):
            break
    return counts


def _dealt(workers: Workers, cost: Floats) -> Ints:
    """The largest tasks first, each to the worker where it weighs least."""
    counts = np.zeros((len(cost), workers.count), dtype=np.int64)
    load, weight = np.zeros((workers.count, 3)), np.zeros(workers.count)
    for vertex in np.argsort(-cost.max(axis=1), kind="stable"):
        for _ in range(workers.tasks[vertex]):
            after = _weight(load + cost[vertex])
            full = counts.sum(axis=0) >= workers.slots
            worker = int(np.argmin(np.where(full, np.inf, after - weight)))
            counts[vertex, worker] += 1
            load[worker] += cost[vertex]
            weight[worker] = after[worker]
    return counts


def _exchange(cost: Floats, counts: Ints, slots: int) -> bool:
    """Let the heaviest worker for which it helps give a task away, or swap one; whether any did."""
    demand = np.vstack([cost, np.zeros(3)])
    load = counts.T @ cost
    weight = _weight(load)
    # Whoever has a slot left may give nothing in return, and whoever has none may not.
    there = np.vstack([counts > 0, counts.sum(axis=0) < slots])
    for worker in np.argsort(-weight, kind="stable")[:HEAVIEST]:
        # Shapes (given, taken, 3) and (given, taken, workers, 3).
        moved = demand[:-1, None, :] - demand[None, :, :]
        here = _weight(load[worker] - moved)
        away = _weight(load + moved[:, :, None, :])
        change = here[:, :, None] - weight[worker] + away - weight
        change[counts[:, worker] == 0] = np.inf
        change[:, ~there] = np.inf
        change[:, :, worker] = np.inf
        position = int(np.argmin(change))
        if change.flat[position] < -1e-9:
            given, taken, other = np.unravel_index(position, change.shape)
            counts[given, worker] -= 1
            counts[given, other] += 1
            if taken < len(counts):
                counts[taken, other] -= 1
                counts[taken, worker] += 1
            return True
    return False


def _weight(load: Floats) -> Floats:
    raised = load
    for _ in range(SQUARINGS):
        raised = np.square(raised)
    total: Floats = raised.sum(axis=-1)
    return total
