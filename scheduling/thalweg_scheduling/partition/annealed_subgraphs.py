"""Subgraphs by simulated annealing: little traffic between them, about equally much in each.

f = ε · r + (1 − ε) · σ / w        r  cut traffic ÷ all traffic
                                   σ  standard deviation of the traffic within the subgraphs
                                   w  all traffic ÷ number of subgraphs
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.kernels import subgraphs
from thalweg_scheduling.kernels.compiling import can_compile, compiled
from thalweg_scheduling.kernels.layout import Graph, Tries
from thalweg_scheduling.kernels.subgraphs import Subgraphs
from thalweg_scheduling.measure.rates import Rates
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.place.neighbours import graph_of

MOST_LOOKS = 100_000_000
"""About how many task pairs are looked at in all, compiled."""
MOST_LOOKS_INTERPRETED = 60_000
"""The same where there is no compiler."""

TRIES_AT_ONCE = 200_000
"""For so many, chance is drawn together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Annealing:
    """How hot it begins, how fast it cools, and what counts how much."""

    cut_weight: float
    first_heat: float
    """In units of what a task has to do with f on average, which is 1 ÷ tasks."""
    last_heat: float
    cooling: float
    """The heat is multiplied by it again and again."""
    tries_per_task: int
    """At each heat."""

    def heats(self) -> Floats:
        """From the first heat down to the last."""
        steps = int(np.ceil(np.log(self.last_heat / self.first_heat) / np.log(self.cooling)))
        return np.array([self.first_heat * self.cooling**step for step in range(max(steps, 1))])


def anneal_into_subgraphs(
    rates: Rates,
    start: Ints,
    count: int,
    *,
    movable: Bools,
    annealing: Annealing,
    rng: np.random.Generator,
) -> Ints:
    """The best partition seen on the way from `start`; only movable tasks change their subgraph."""
    graph = _shares(graph_of(rates, len(start)))
    pool = np.flatnonzero(movable)
    if count < 2 or pool.size == 0 or len(graph.other) == 0:
        return np.array(start)
    weight = np.array([annealing.cut_weight, (1.0 - annealing.cut_weight) * count])
    kernels = compiled(subgraphs) if can_compile() else subgraphs
    heats = annealing.heats() / len(pool)
    tries = _tries_per_heat(annealing, pool, graph, len(heats))
    of = np.array(start)
    inside = _inside(graph, of, count)
    total, squares = subgraphs.sums(inside)
    parts = Subgraphs(
        of=of,
        inside=inside,
        best=of.copy(),
        cost=np.array([subgraphs.objective(total, squares, count, weight)]),
    )
    at_once = max(TRIES_AT_ONCE // tries, 1)
    for first in range(0, len(heats), at_once):
        heat = np.repeat(heats[first : first + at_once], tries)
        # The logarithm is taken here: compiled, its last digit might be another.
        luck = np.log1p(-rng.random(len(heat)))
        step = Tries(chance=rng.random((len(heat), 2)), luck=luck, heat=heat)
        # Anew now and then, so that rounding does not add up.
        parts.inside[:] = _inside(graph, parts.of, count)
        kernels.anneal_subgraphs(graph, parts, pool, step, weight)
    return parts.best


def cost_of(rates: Rates, of: Ints, count: int, cut_weight: float) -> float:
    """The objective of a partition."""
    graph = _shares(graph_of(rates, len(of)))
    total, squares = subgraphs.sums(_inside(graph, of, count))
    weight = np.array([cut_weight, (1.0 - cut_weight) * count])
    return subgraphs.objective(total, squares, count, weight)


def _tries_per_heat(annealing: Annealing, pool: Ints, graph: Graph, heats: int) -> int:
    """As many as were asked for, or as can be afforded."""
    most = MOST_LOOKS if can_compile() else MOST_LOOKS_INTERPRETED
    degree = len(graph.other) / max(len(graph.split), 1)
    affordable = int(most / (max(degree, 1.0) * heats))
    return max(min(annealing.tries_per_task * len(pool), affordable), 1)


def _shares(graph: Graph) -> Graph:
    """Weights as shares of all traffic; each pair of tasks is in both rows, and counts once."""
    most = float(graph.weight.max(initial=0.0))
    if most <= 0:
        return graph
    # Twice, because the sum of what is measured may be beyond all numbers.
    weight = graph.weight / most
    return graph._replace(weight=weight / (0.5 * float(weight.sum())))


def _inside(graph: Graph, of: Ints, count: int) -> Floats:
    """Shape (subgraphs,): the traffic within each."""
    own = np.repeat(np.arange(len(of)), np.diff(graph.indptr))
    within = of[own] == of[graph.other]
    inside = np.zeros(count)
    np.add.at(inside, of[own[within]], 0.5 * graph.weight[within])
    return inside
