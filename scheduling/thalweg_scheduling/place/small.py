"""Our own placement of small topologies: greedy starts, tabu search from the best, and a proof."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.dense import Dense, dense_of
from thalweg_scheduling.place.exact import prove
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.shortlist import on_nodes, shortlist
from thalweg_scheduling.place.starts import starts
from thalweg_scheduling.place.tabu import Search

QUICK_STEPS = 200
"""Steps of branch and bound before anything else: the smallest topologies need no more."""
SMALL_TASKS = 40
SMALL_TABLE = 1_200
"""Tasks × nodes up to which every move is weighed at each step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Care:
    """How hard to try; in steps, not in seconds, so that it ends at the same point everywhere."""

    starts: int
    """From so many beginnings, the best ones, a search is made."""
    weighings: int
    """Steps of one search times tasks."""
    exact_steps: int
    """Steps of branch and bound at the end, to prove the best found or to find a better one."""


MEASURED = Care(starts=3, weighings=12_000, exact_steps=1_500)
GUESSED = Care(starts=1, weighings=4_000, exact_steps=0)
"""Where no traffic was measured J is a guess: the best of a guess is not worth the time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """A placement, and whether nothing is better."""

    node: Ints
    proven: bool


def place_few(problem: Problem, rng: np.random.Generator) -> Found | None:
    """The same for few tasks on however many nodes; nothing where there are too many of both."""
    tasks, nodes = problem.snapshot.eligible.shape
    if tasks > SMALL_TASKS:
        return None
    if tasks * nodes <= SMALL_TABLE:
        return place_small(problem, rng)
    listed = shortlist(problem, SMALL_TABLE // max(tasks, 1))
    if listed is None or tasks * len(listed) > 4 * SMALL_TABLE:
        return None
    found = place_small(on_nodes(problem, listed), rng)
    if np.any(found.node == UNPLACED):
        return None
    return Found(node=listed[found.node], proven=False)


def place_small(problem: Problem, rng: np.random.Generator) -> Found:
    """The best placement found, tasks left UNPLACED where none was found for all."""
    begun = starts(problem)
    if not problem.movable.any() or not problem.snapshot.nodes:
        return Found(node=begun[0], proven=False)
    present = np.array(problem.snapshot.placement)
    if np.all(present != UNPLACED):
        begun.insert(0, present)
    dense = dense_of(problem)
    found = _proven(problem, dense, begun, QUICK_STEPS)
    if found.proven:
        return found
    guessed = problem.snapshot.traffic is None and not problem.score(begun[0])[0]
    care = GUESSED if guessed else MEASURED
    searched = [_searched(problem, dense, start, rng, care) for start in begun[: care.starts]]
    return _proven(problem, dense, [found.node, *searched], care.exact_steps)


def _proven(problem: Problem, dense: Dense, known: list[Ints], steps: int) -> Found:
    """The best of what is known, or something better, by branch and bound."""
    feasible = [node for node in known if problem.is_feasible(node)]
    best = min(feasible, key=problem.score) if feasible else known[-1]
    homeless, value = problem.score(best)
    verdict = prove(problem, dense, value if feasible and not homeless else np.inf, steps)
    if verdict.node is not None and problem.is_feasible(verdict.node):
        best = verdict.node
    return Found(node=best, proven=verdict.proven and not np.any(best == UNPLACED))


def _searched(
    problem: Problem, dense: Dense, start: Ints, rng: np.random.Generator, care: Care
) -> Ints:
    search = Search(problem, dense, _completed(dense, start))
    # A step weighs every pair of tasks: the more there are, the fewer steps.
    steps = min(25 * len(start) + 50, care.weighings // max(len(start), 1))
    search.run(steps=steps, patience=6 * len(start) + 20, rng=rng)
    return start if search.best is None else search.best


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
