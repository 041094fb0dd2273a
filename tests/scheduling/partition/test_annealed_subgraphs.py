"""Subgraphs by annealing: the objective, the search, and its two twins."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.kernels import subgraphs
from thalweg_scheduling.kernels.compiling import can_compile, compiled
from thalweg_scheduling.kernels.layout import Graph, Tries
from thalweg_scheduling.measure.rates import Rates, search_rates
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.partition.annealed_subgraphs import (
    Annealing,
    anneal_into_subgraphs,
    cost_of,
)

ANNEALING = Annealing(
    cut_weight=0.7, first_heat=1.0, last_heat=1e-3, cooling=0.95, tries_per_task=10
)
# Two triangles that talk much, and a little with each other.
TRIANGLES = Rates(
    source=np.array([0, 1, 2, 3, 4, 5, 2]),
    target=np.array([1, 2, 0, 4, 5, 3, 3]),
    per_s=np.array([10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 4.0]),
)


def annealed(rates: Rates, start: Ints, count: int, seed: int = 1) -> Ints:
    return anneal_into_subgraphs(
        rates,
        start,
        count,
        movable=np.ones(len(start), dtype=np.bool_),
        annealing=ANNEALING,
        rng=np.random.default_rng(seed),
    )


def test_the_objective_is_the_cut_and_the_deviation_both_as_ratios() -> None:
    apart = np.array([0, 0, 0, 1, 1, 1])
    # 4 of 64 are cut, and both sides have the same within.
    assert cost_of(TRIANGLES, apart, 2, 0.7) == pytest.approx(0.7 * 4 / 64)
    together = np.zeros(6, dtype=np.int64)
    # Nothing is cut; 64 and 0 deviate by 32 from their mean, which is 32.
    assert cost_of(TRIANGLES, together, 2, 0.7) == pytest.approx(0.3)


def test_one_subgraph_with_everything_is_not_the_best() -> None:
    word_count = search_rates(make_snapshot(cluster=Cluster(nodes=14)))
    everything = np.zeros(10, dtype=np.int64)
    found = annealed(word_count, np.arange(10), 14)
    assert cost_of(word_count, found, 14, 0.7) < cost_of(word_count, everything, 14, 0.7)
    assert np.bincount(found).max() <= 3


@pytest.mark.parametrize("seed", range(5))
def test_what_talks_much_comes_together(seed: int) -> None:
    found = annealed(TRIANGLES, np.array([0, 1, 0, 1, 0, 1]), 2, seed)
    assert len(set(found[:3])) == len(set(found[3:])) == 1
    assert found[0] != found[3]


def test_the_result_is_never_worse_than_the_start() -> None:
    start = np.array([0, 0, 0, 1, 1, 1])
    hot = replace(ANNEALING, first_heat=1e6, last_heat=1e5)
    found = anneal_into_subgraphs(
        TRIANGLES,
        start,
        2,
        movable=np.ones(6, dtype=np.bool_),
        annealing=hot,
        rng=np.random.default_rng(0),
    )
    assert cost_of(TRIANGLES, found, 2, 0.7) <= cost_of(TRIANGLES, start, 2, 0.7)


def test_who_may_not_move_stays() -> None:
    start = np.array([0, 1, 0, 1, 0, 1])
    movable = np.array([False, True, True, False, True, True])
    found = anneal_into_subgraphs(
        TRIANGLES, start, 2, movable=movable, annealing=ANNEALING, rng=np.random.default_rng(0)
    )
    assert found.tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize("per_s", [0.0, 1e300])
def test_odd_rates_are_survived(per_s: float) -> None:
    rates = replace(TRIANGLES, per_s=np.full(7, per_s))
    found = annealed(rates, np.array([0, 1, 0, 1, 0, 1]), 2)
    assert set(found.tolist()) == {0, 1}


def test_the_compiled_twin_does_the_same() -> None:
    assert can_compile()
    rng = np.random.default_rng(3)
    graph = Graph(
        indptr=np.array([0, 2, 4, 6, 8]),
        split=np.array([1, 3, 5, 7]),
        other=np.array([1, 3, 2, 0, 3, 1, 0, 2]),
        weight=np.array([0.4, 0.3, 0.1, 0.4, 0.2, 0.1, 0.3, 0.2]),
    )
    tries = Tries(
        chance=rng.random((500, 2)), luck=np.log1p(-rng.random(500)), heat=np.full(500, 0.05)
    )
    ends = []
    for kernels in (subgraphs, compiled(subgraphs)):
        parts = subgraphs.Subgraphs(
            of=np.array([0, 1, 2, 2]),
            inside=np.array([0.0, 0.0, 0.2]),
            best=np.array([0, 1, 2, 2]),
            cost=np.array([1.0]),
        )
        kernels.anneal_subgraphs(graph, parts, np.arange(4), tries, np.array([0.7, 0.9]))
        ends.append((parts.of.tolist(), parts.best.tolist(), parts.cost[0], parts.inside.tolist()))
    assert ends[0] == ends[1]
