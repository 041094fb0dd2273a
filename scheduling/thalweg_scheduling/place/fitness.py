"""Whole subgraphs to nodes, each to the node that has most left once it is there.

The fitness of a node is 0 where a subgraph asks for more than is left of any resource, and else the
weighted sum of what stays free, in units of a mean node. That keeps room for a rising stream.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Surplus:
    """What subgraphs take and nodes have, as one number for comparing."""

    task: Floats
    """Shape (tasks,): the weighted share of a mean node that each task takes."""
    node: Floats
    """Shape (nodes,): the weighted share of a mean node that each node has."""


class Fitness:
    """Who has how much left, while subgraphs are put down."""

    def __init__(self, problem: Problem, surplus: Surplus) -> None:
        """Nothing is put down yet; who may not move is put down with its subgraph."""
        self._problem, self._surplus = problem, surplus
        self._near = Neighbours(problem)
        self._free = np.array(problem.needs.capacity)
        self._left = np.array(surplus.node)
        self.node = np.full(len(problem.movable), UNPLACED)

    def able(self, tasks: Ints) -> Bools:
        """Shape (nodes,): where all of these may be and fit together, as things stand."""
        problem = self._problem
        snapshot = problem.snapshot
        wanted = problem.needs.demand[tasks].sum(axis=0)
        able: Bools = ((wanted <= self._free) | (wanted == 0)).all(axis=1)
        for task in tasks:
            if problem.movable[task]:
                able &= snapshot.eligible[task]
            elif snapshot.placement[task] != UNPLACED:
                able &= np.arange(len(able)) == snapshot.placement[task]
        return able

    def put_down(self, tasks: Ints) -> None:
        """Put a subgraph on the fittest node, if there is one; of equals, on the cheapest."""
        able = np.flatnonzero(self.able(tasks))
        if able.size == 0:
            return
        surplus = np.round(self._left[able] - self._surplus.task[tasks].sum(), 9)
        fittest = able[surplus == surplus.max()]
        cost = sum(
            (self._near.costs(int(task), self.node, fittest) for task in tasks),
            np.zeros(len(fittest)),
        )
        best = int(fittest[np.argmin(cost)])
        self.node[tasks] = best
        self._free[best] -= self._problem.needs.demand[tasks].sum(axis=0)
        self._left[best] -= self._surplus.task[tasks].sum()


def place_subgraphs(problem: Problem, of: Ints, surplus: Surplus) -> Ints:
    """A node for the tasks of each subgraph, UNPLACED where no node takes all of it.

    Subgraphs of tasks that may not move come first, then the largest: a node that is large enough
    for them is not wasted on others.
    """
    fitness = Fitness(problem, surplus)
    placed = ~problem.movable & (problem.snapshot.placement != UNPLACED)
    groups = [np.flatnonzero(of == each) for each in np.unique(of)]
    groups.sort(key=lambda tasks: (not placed[tasks].any(), -surplus.task[tasks].sum(), tasks[0]))
    for tasks in groups:
        fitness.put_down(tasks)
    return fitness.node
