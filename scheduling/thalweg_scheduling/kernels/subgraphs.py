"""Annealing of subgraphs: one task at a time to another subgraph, weighed by what it changes.

Weights are shares of all traffic, so that what is cut and what is inside add up to one. The chance
comes in as arrays of numbers, so that it is the same in both twins.
"""

import math
from typing import NamedTuple

from thalweg_scheduling.kernels.layout import Graph, Tries
from thalweg_scheduling.model.arrays import Floats, Ints


class Subgraphs(NamedTuple):
    """A partition under change, and the best that was seen."""

    of: Ints
    """Shape (tasks,): the subgraph of each task."""
    inside: Floats
    """Shape (subgraphs,): the traffic within each."""
    best: Ints
    """Shape (tasks,)."""
    cost: Floats
    """Shape (1,): the objective of `best`."""


def anneal_subgraphs(
    graph: Graph, parts: Subgraphs, pool: Ints, tries: Tries, weight: Floats
) -> None:
    """Try to move one task of the `pool` at each step.

    `weight` holds what a unit of cut costs, and what a unit of deviation costs.
    """
    of, inside, other, share = parts.of, parts.inside, graph.other, graph.weight
    chance, luck, heat = tries.chance, tries.luck, tries.heat
    count = len(inside)
    total, squares = sums(inside)
    present = objective(total, squares, count, weight)
    for step in range(len(luck)):
        task = pool[int(chance[step, 0] * len(pool))]
        here = of[task]
        there = int(chance[step, 1] * (count - 1))
        if there >= here:
            there += 1
        out, into = 0.0, 0.0
        for entry in range(graph.indptr[task], graph.indptr[task + 1]):
            at = of[other[entry]]
            if at == here:
                out += share[entry]
            elif at == there:
                into += share[entry]
        left, grown = inside[here] - out, inside[there] + into
        new_total = total - out + into
        new_squares = (
            squares
            - inside[here] * inside[here]
            - inside[there] * inside[there]
            + left * left
            + grown * grown
        )
        change = objective(new_total, new_squares, count, weight) - present
        if change <= 0.0 or luck[step] * heat[step] < -change:
            of[task] = there
            inside[here], inside[there] = left, grown
            total, squares = new_total, new_squares
            present += change
            if present < parts.cost[0] - 1e-12:
                parts.cost[0] = present
                parts.best[:] = of


def sums(inside: Floats) -> tuple[float, float]:
    """The traffic within all subgraphs, and the sum of its squares."""
    total, squares = 0.0, 0.0
    for subgraph in range(len(inside)):
        total += inside[subgraph]
        squares += inside[subgraph] * inside[subgraph]
    return total, squares


def objective(total: float, squares: float, count: int, weight: Floats) -> float:
    """What is cut, and how unevenly the rest is spread."""
    mean = total / count
    spread = squares / count - mean * mean
    deviation = math.sqrt(spread) if spread > 0.0 else 0.0
    value: float = weight[0] * (1.0 - total) + weight[1] * deviation
    return value


KERNELS = (sums, objective, anneal_subgraphs)
