"""Who talks with whom, by task."""

from functools import lru_cache

import numpy as np

from thalweg_scheduling.kernels import summing
from thalweg_scheduling.kernels.compiling import SUM_FROM, can_compile, compiled
from thalweg_scheduling.kernels.layout import Graph
from thalweg_scheduling.measure.distance import seconds_between
from thalweg_scheduling.measure.rates import Rates, flow_of
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.problem import Problem


@lru_cache(maxsize=1)
def graph_of(rates: Rates, tasks: int) -> Graph:
    """All traffic by task: first what it sends, then what it gets."""
    if len(rates.per_s) > SUM_FROM and can_compile():
        graph: Graph = compiled(summing).both_ways(flow_of(rates), tasks)
        return graph
    apart = (rates.source != rates.target) & (rates.per_s > 0)
    source, target, per_s = rates.source[apart], rates.target[apart], rates.per_s[apart]
    order = np.argsort(np.concatenate([2 * source, 2 * target + 1]), kind="stable")
    sends, gets = np.bincount(source, minlength=tasks), np.bincount(target, minlength=tasks)
    indptr = np.concatenate([[0], np.cumsum(sends + gets)]).astype(np.int64)
    return Graph(
        indptr=indptr,
        split=indptr[:-1] + sends,
        other=np.concatenate([target, source])[order],
        weight=np.concatenate([per_s, per_s])[order],
    )


class Neighbours:
    """The traffic of one task at a time."""

    def __init__(self, problem: Problem) -> None:
        """Sort the rates by either end once."""
        self._far = problem.far
        self._graph = graph_of(problem.rates, len(problem.movable))

    def of(self, task: int) -> Ints:
        """Everyone whom the task talks with; twice who answers."""
        graph = self._graph
        return graph.other[graph.indptr[task] : graph.indptr[task + 1]]

    def exchanged(self, task: int) -> Floats:
        """What it exchanges with each of them."""
        graph = self._graph
        return graph.weight[graph.indptr[task] : graph.indptr[task + 1]]

    def costs(self, task: int, node: Ints, candidates: Ints) -> Floats:
        """What the task's traffic with placed tasks would cost on each candidate node."""
        there = node[self.of(task)]
        sends = int(self._graph.split[task] - self._graph.indptr[task])
        weight = np.where(there == UNPLACED, 0.0, self.exchanged(task))
        away, here = there[:, None], candidates[None, :]
        total = weight[:sends] @ seconds_between(self._far, here, away[:sends])
        total = total + weight[sends:] @ seconds_between(self._far, away[sends:], here)
        return np.asarray(total, dtype=np.float64)
