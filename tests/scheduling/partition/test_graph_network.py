"""The graph network: its loss against the paper's own formula, and what it learns."""

import numpy as np
import pytest

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.partition import graph_network
from thalweg_scheduling.partition.dependencies import Dependencies
from thalweg_scheduling.partition.graph_network import (
    PartLoss,
    Parts,
    Training,
    affordable_steps,
    part_probabilities,
    undecided,
)


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def any_graph(tasks: int = 7) -> Dependencies:
    source, target = np.triu_indices(tasks, 1)
    return Dependencies(
        source=source,
        target=target,
        strength=rng().random(len(source)),
        weight=rng(8).random(tasks),
    )


def two_cliques(each: int, between: float = 0.05) -> Dependencies:
    """Even tasks talk with even ones, odd with odd; 0 and 1 also with each other."""
    source, target = np.triu_indices(2 * each, 1)
    together = source % 2 == target % 2
    strength = np.where(together, 1.0, np.where(source + target == 1, between, 0.0))
    kept = strength > 0
    return Dependencies(
        source=source[kept],
        target=target[kept],
        strength=strength[kept],
        weight=np.ones(2 * each),
    )


def free(tasks: int) -> Ints:
    return np.full(tasks, UNPLACED, dtype=np.int64)


def equal_parts(graph: Dependencies, count: int) -> Parts:
    return Parts(capacity=np.ones(count), certain=free(graph.tasks))


def some_probabilities(tasks: int, parts: int) -> Floats:
    drawn = rng(9).random((tasks, parts))
    shares: Floats = drawn / drawn.sum(axis=1, keepdims=True)
    return shares


def test_the_sparse_form_of_the_loss_is_the_papers() -> None:
    graph, likely = any_graph(), some_probabilities(7, 3)
    exchanged = np.zeros((7, 7))
    exchanged[graph.source, graph.target] = graph.strength
    exchanged += exchanged.T
    volume = likely.T @ exchanged.sum(axis=1)
    cut = float((((likely / volume) @ (1 - likely).T) * exchanged).sum())
    size = graph.weight * 7 / graph.weight.sum()
    over = size @ likely - 7 * np.array([1, 2, 1]) / 4
    loss = PartLoss(graph, Parts(capacity=np.array([1.0, 2.0, 1.0]), certain=free(7)))
    assert loss.of(likely)[0] == pytest.approx(cut + 3 / 49 * float(over @ over))


def test_the_slope_is_that_of_the_loss() -> None:
    graph, likely = any_graph(), some_probabilities(7, 3)
    loss = PartLoss(graph, Parts(capacity=np.array([1.0, 2.0, 1.0]), certain=free(7)))
    slope = loss.of(likely)[1]
    for task in range(7):
        for part in range(3):
            step = np.zeros_like(likely)
            step[task, part] = 1e-6
            rise = loss.of(likely + step)[0] - loss.of(likely - step)[0]
            assert slope[task, part] == pytest.approx(rise / 2e-6, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_it_tells_two_cliques_apart(seed: int) -> None:
    graph = two_cliques(6)
    part = part_probabilities(graph, equal_parts(graph, 2), rng(seed)).argmax(axis=1)
    assert graph.cut(part) == pytest.approx(0.05)
    assert np.bincount(part).tolist() == [6, 6]


def test_probabilities_are_probabilities_and_follow_from_the_seed() -> None:
    graph = any_graph()
    likely = part_probabilities(graph, equal_parts(graph, 3), rng())
    assert likely.shape == (7, 3)
    assert likely.sum(axis=1) == pytest.approx(np.ones(7))
    assert np.array_equal(likely, part_probabilities(graph, equal_parts(graph, 3), rng()))


def test_parts_are_as_large_as_their_capacities() -> None:
    lonely = Dependencies(
        source=np.zeros(0, dtype=np.int64),
        target=np.zeros(0, dtype=np.int64),
        strength=np.zeros(0),
        weight=np.ones(40),
    )
    parts = Parts(capacity=np.array([3.0, 1.0]), certain=free(40))
    expected = part_probabilities(lonely, parts, rng()).sum(axis=0)
    # Within a tenth; `place.likely` then sees to it that no part gets more than its share.
    assert expected == pytest.approx([30, 10], abs=4)


def test_whoever_may_not_move_draws_its_partners() -> None:
    graph = two_cliques(6)
    certain = free(12)
    certain[0], certain[1] = 1, 0
    likely = part_probabilities(graph, Parts(capacity=np.ones(2), certain=certain), rng())
    assert likely[0].tolist() == [0, 1]
    assert likely[1].tolist() == [1, 0]
    assert likely.argmax(axis=1).tolist() == [1, 0] * 6


def test_being_undecided_has_a_price() -> None:
    assert undecided(np.full((3, 4), 0.25)) == pytest.approx(0.75)
    assert undecided(np.eye(3)) == 0


def test_sparse_and_full_matrices_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, few = two_cliques(6), Training(steps=5)
    full = part_probabilities(graph, equal_parts(graph, 2), rng(), few)
    monkeypatch.setattr(graph_network, "DENSE_FROM", 2.0)
    assert part_probabilities(graph, equal_parts(graph, 2), rng(), few) == pytest.approx(full)


def test_large_graphs_get_fewer_steps() -> None:
    assert affordable_steps(any_graph(), 4, 64) > 10_000
    assert 40 <= affordable_steps(any_graph(1000), 64, 64) <= 150


def test_one_part_or_no_tasks_need_no_training() -> None:
    graph = any_graph()
    assert part_probabilities(graph, equal_parts(graph, 1), rng()).tolist() == [[1.0]] * 7
    empty = any_graph(0)
    assert part_probabilities(empty, equal_parts(empty, 3), rng()).shape == (0, 3)
