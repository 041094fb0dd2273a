"""As few subgraphs as the load needs, none of them over the threshold if that can be helped."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.scale.merging import Subgraphs, Thresholds, merged_and_relieved

PAPER = Thresholds(under=0.60, over=0.75)


def regrouped(
    of: list[int], load: list[float], most: int, *, stays: set[int] | None = None
) -> Ints:
    """A pipeline of as many tasks as there are loads, each sending to the next."""
    names = [f"v{position:03}" for position in range(len(of))]
    snapshot = make_snapshot(dict.fromkeys(names, 1), cluster=Cluster(nodes=most))
    movable = np.array([task not in (stays or set()) for task in range(len(of))])
    return merged_and_relieved(
        Subgraphs(of=np.array(of), most=most, load=np.array(load), movable=movable),
        PAPER,
        Neighbours(problem_of(snapshot, np.ones(len(of), dtype=np.bool_))),
        lambda tasks: len(tasks) > 0,
    )


def loads_of(of: Ints, load: list[float]) -> Floats:
    sums = np.bincount(of, load)
    return np.sort(sums[sums > 0])


def test_merged_subgraphs_are_merged_again_while_there_is_little_in_them() -> None:
    """14 subgraphs of a quarter need 5 nodes; merging pairs alone would stop at 7."""
    of = regrouped(list(range(14)), [0.25] * 14, 14)
    assert len(np.unique(of)) == 5
    assert loads_of(of, [0.25] * 14).max() <= 0.75


def test_the_match_is_the_fullest_that_still_fits() -> None:
    of = regrouped([0, 1, 2, 3], [0.1, 0.2, 0.58, 0.62], 4, stays={0})
    # 0.62 and 0.1 fit and are more than 0.58 and 0.1; 0.2 and 0.58 are too much.
    assert of[0] == of[3]
    assert of[1] != of[2]


def test_an_underloaded_one_is_dealt_out_where_others_have_room() -> None:
    of = regrouped([0, 0, 1, 1, 1, 2, 2, 2], [0.175] * 8, 3)
    assert sorted(np.bincount(of)) == [0, 4, 4]


def test_of_equally_full_ones_the_one_that_talks_most_is_taken() -> None:
    of = regrouped([0, 1, 2, 3], [0.3, 0.31, 0.31, 0.31], 4)
    # Task 0 sends to task 1 only.
    assert of[0] == of[1]


def test_an_overloaded_subgraph_gives_away_what_it_will_miss_least() -> None:
    of = regrouped([0, 0, 0, 1], [0.3, 0.3, 0.3, 0.1], 2)
    # In the pipeline 0 → 1 → 2 the ends have one neighbour inside, the middle two.
    assert of[0] == 1
    assert of[1] == of[2] == 0


def test_where_nobody_takes_more_another_node_is_used() -> None:
    of = regrouped([0] * 6, [0.3] * 6, 4)
    sums = loads_of(of, [0.3] * 6)
    assert sums.max() <= 0.75
    assert len(sums) == 3


def test_an_overload_that_nothing_can_help_is_left() -> None:
    assert len(np.unique(regrouped([0, 0, 1, 1], [0.5] * 4, 2))) == 2
    assert regrouped([0], [0.9], 3).tolist() == [0]


def test_a_lone_small_subgraph_ends() -> None:
    assert regrouped([2, 2], [0.1, 0.1], 3).tolist() == [2, 2]


def test_who_may_not_move_is_not_given_away() -> None:
    of = regrouped([0, 0, 0, 1], [0.3, 0.3, 0.3, 0.1], 2, stays={0})
    assert of[0] == 0
    assert of[2] == 1


def test_an_underloaded_one_without_partner_gets_tasks_from_who_can_spare_them() -> None:
    of = regrouped([0, 1, 1, 1, 1, 1, 1], [0.5] + [0.15] * 6, 2)
    sums = loads_of(of, [0.5] + [0.15] * 6)
    assert sums.tolist() == pytest.approx([0.65, 0.75])


@settings(max_examples=40, derandomize=True, deadline=None)
@given(
    load=st.lists(st.sampled_from([0.0, 0.05, 0.1, 0.2, 0.4, 0.7]), min_size=1, max_size=12),
    most=st.integers(1, 8),
    seed=st.integers(0, 1000),
)
def test_it_ends_and_overloads_nothing_that_was_not(
    load: list[float], most: int, seed: int
) -> None:
    start = np.random.default_rng(seed).integers(0, most, len(load))
    of = regrouped(start.tolist(), load, most)
    before = np.bincount(start, load, minlength=most).max()
    assert np.bincount(of, load, minlength=most).max() <= max(before, 0.75) + 1e-9
    assert of.min() >= 0
    assert of.max() < most
