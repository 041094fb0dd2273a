"""Our own placement of small topologies: greedy starts, then tabu search from each."""

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.dense import Dense, dense_of
from thalweg_scheduling.place.greedy import busiest_first, largest_first, place_greedily
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.tabu import Search

SMALL_TASKS = 96
SMALL_TABLE = 6_000
"""Tasks × nodes up to which every move is weighed at each step."""


def is_small(problem: Problem) -> bool:
    """Whether full tables pay."""
    tasks, nodes = problem.snapshot.eligible.shape
    return bool(tasks <= SMALL_TASKS and tasks * nodes <= SMALL_TABLE)


def place_small(problem: Problem, rng: np.random.Generator) -> Ints:
    """The best placement found, tasks left UNPLACED where none was found for all."""
    starts = [
        place_greedily(problem, busiest_first(problem))[0],
        place_greedily(problem, largest_first(problem))[0],
    ]
    if not problem.movable.any() or not problem.snapshot.nodes:
        return starts[0]
    present = problem.snapshot.placement
    if np.all(present != UNPLACED):
        starts.insert(0, np.array(present))
    dense = dense_of(problem)
    found = [start for start in starts if problem.is_feasible(start)]
    for start in starts:
        search = Search(problem, dense, _completed(dense, start))
        search.run(steps=25 * len(start) + 50, patience=6 * len(start) + 20, rng=rng)
        if search.best is not None and problem.is_feasible(search.best):
            found.append(search.best)
    return min(found, key=problem.score)


def _completed(dense: Dense, start: Ints) -> Ints:
    """Put what fitted nowhere where it overloads least; the search has to mend it."""
    node = np.array(start)
    used = np.zeros_like(dense.capacity)
    placed = np.flatnonzero(node != UNPLACED)
    np.add.at(used, node[placed], dense.demand[placed])
    for task in np.flatnonzero((node == UNPLACED) & ~dense.ghost):
        over = np.maximum(used + dense.demand[task] - dense.capacity, 0.0).sum(axis=1)
        over[~dense.allowed[task]] = np.inf
        node[task] = int(np.argmin(over))
        used[node[task]] += dense.demand[task]
    return node
