"""KFM: the paper's worked example, and what holds for every graph."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.partition.acyclic import (
    Refinement,
    acyclic_blocks,
    heaviest_allowed,
    improve_pair,
    refine,
)
from thalweg_scheduling.partition.dependencies import Dependencies
from thalweg_scheduling.partition.division import Division
from thalweg_scheduling.partition.topological import consecutive_blocks, topological_order

# The paper's nine tasks; its figure is lost, these edges satisfy all that its text says of them.
EXAMPLE = {
    (1, 2): 1,
    (1, 3): 1,
    (2, 5): 1,
    (3, 4): 4,
    (3, 5): 2,
    (4, 6): 2,
    (5, 7): 3,
    (6, 7): 2,
    (6, 9): 3,
    (7, 8): 1,
    (7, 9): 2,
    (8, 9): 1,
}
FIRST = np.repeat([0, 1, 2], 3)
LMAX = 5.0

either_way = pytest.mark.parametrize("rolls_back", [False, True], ids=["line 17", "rolled back"])


class WatchedDivision(Division):
    """Looks after every move whether anybody sends to an earlier block."""

    def __init__(self, graph: Dependencies, block: Ints, blocks: int, most: float) -> None:
        super().__init__(graph, block, blocks, most)
        self.graph, self.moves = graph, 0

    def move(self, task: int, pair: tuple[int, int], enabled: Bools) -> list[int]:
        newcomers = super().move(task, pair, enabled)
        self.moves += 1
        assert_in_order(self.graph, self.block)
        return newcomers


def graph_of(strengths: dict[tuple[int, int], int], tasks: int) -> Dependencies:
    """Tasks counted from 1, as the paper does, each of weight 1."""
    pairs = np.array(list(strengths), dtype=np.int64).reshape(-1, 2) - 1
    return Dependencies(
        source=pairs[:, 0],
        target=pairs[:, 1],
        strength=np.array(list(strengths.values()), dtype=np.float64),
        weight=np.ones(tasks),
    )


def example() -> Dependencies:
    return graph_of(EXAMPLE, 9)


def assert_in_order(graph: Dependencies, block: Ints) -> None:
    assert np.all(block[graph.source] <= block[graph.target])


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


@st.composite
def graphs(draw: st.DrawFn) -> Dependencies:
    tasks = draw(st.integers(2, 14))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shuffled = generator.permutation(tasks)
    low, high = np.triu_indices(tasks, 1)
    kept = generator.random(len(low)) < draw(st.sampled_from([0.1, 0.3, 0.8]))
    return Dependencies(
        source=shuffled[low[kept]],
        target=shuffled[high[kept]],
        strength=np.round(generator.random(int(kept.sum())) * 4, 1),
        weight=generator.choice([0.5, 1.0, 2.0], size=tasks),
    )


def test_the_example_starts_as_the_paper_says() -> None:
    graph = example()
    assert np.array_equal(consecutive_blocks(np.arange(9), graph.weight, 3), FIRST)
    assert graph.cut(FIRST) == 15
    assert heaviest_allowed(graph, 3, 2 / 3) == pytest.approx(LMAX)


def test_the_example_queue_is_v3_v5_v4_v2() -> None:
    division = Division(example(), FIRST, 3, LMAX)
    gains = {task + 1: division.gain(task, (0, 1)) for task in division.candidates((0, 1)).tolist()}
    assert gains == {2: 0, 3: 5, 4: 2, 5: 3}
    assert sorted(gains, key=lambda task: -gains[task]) == [3, 5, 4, 2]


def test_the_example_moves_v3_locks_v4_and_v5_and_leaves_v2_and_v1() -> None:
    division, enabled = WatchedDivision(example(), FIRST, 3, LMAX), np.ones(9, dtype=np.bool_)
    assert improve_pair(division, (0, 1), enabled, rng())
    assert division.block.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2]
    assert np.flatnonzero(~enabled).tolist() == [2, 3, 4]
    assert example().cut(division.block) == 10
    assert not division.may_move(0, (0, 1))
    assert not division.improves(1, division.gain(1, (0, 1)), (0, 1))


@either_way
def test_the_example_ends_at_six_whatever_the_seed(rolls_back: bool) -> None:
    graph, how = example(), Refinement(imbalance=2 / 3, rolls_back=rolls_back)
    for seed in range(200):
        division = WatchedDivision(graph, FIRST, 3, LMAX)
        refine(division, how, rng(seed))
        assert graph.cut(division.block) == 6
        assert division.block.tolist() == [0, 0, 1, 1, 2, 2, 2, 2, 2]
        assert division.moves >= 3


@either_way
@settings(max_examples=25, derandomize=True, deadline=None)
@given(graph=graphs(), blocks=st.integers(2, 4), seed=st.integers(0, 99))
def test_no_move_makes_a_circle_or_a_worse_division(
    rolls_back: bool, graph: Dependencies, blocks: int, seed: int
) -> None:
    order = topological_order(graph, rng(seed))
    first = consecutive_blocks(order, graph.weight, blocks)
    most = heaviest_allowed(graph, blocks, 0.2)
    division = WatchedDivision(graph, first, blocks, most)
    assert_in_order(graph, first)
    refine(division, Refinement(rolls_back=rolls_back), rng(seed))
    assert graph.cut(division.block) <= graph.cut(first) + 1e-9
    assert division.load == pytest.approx(
        np.bincount(division.block, weights=graph.weight, minlength=blocks)
    )
    before = np.bincount(first, weights=graph.weight, minlength=blocks)
    assert np.all(division.load <= np.maximum(before, most) + 1e-9)
    assert set(division.block.tolist()) >= set(first.tolist())


@settings(max_examples=25, derandomize=True, deadline=None)
@given(graph=graphs(), seed=st.integers(0, 99))
def test_a_topological_order_has_everyone_after_all_that_send_to_it(
    graph: Dependencies, seed: int
) -> None:
    order = topological_order(graph, rng(seed))
    assert sorted(order.tolist()) == list(range(graph.tasks))
    at = np.argsort(order)
    assert np.all(at[graph.source] < at[graph.target])


def test_restarts_take_the_least_cut_and_the_same_seed_gives_the_same() -> None:
    graph = example()
    tries = [acyclic_blocks(graph, 3, rng(seed), Refinement(restarts=1)) for seed in range(8)]
    best = acyclic_blocks(graph, 3, rng(0), Refinement(restarts=20))
    assert graph.cut(best) <= min(graph.cut(each) for each in tries)
    assert np.array_equal(best, acyclic_blocks(graph, 3, rng(0), Refinement(restarts=20)))


def test_one_block_holds_everything() -> None:
    assert acyclic_blocks(example(), 1, rng()).tolist() == [0] * 9


def test_moves_that_cost_nothing_even_the_blocks_out() -> None:
    division = Division(graph_of({}, 4), np.array([0, 0, 0, 1]), 2, 3.0)
    refine(division, Refinement(), rng())
    assert sorted(division.load.tolist()) == [2, 2]


def test_a_circle_of_tasks_is_refused() -> None:
    with pytest.raises(InvalidSnapshot, match="circle"):
        topological_order(graph_of({(1, 2): 1, (2, 1): 1}, 2), rng())
