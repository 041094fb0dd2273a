"""The surest first, each on its likeliest node that has room."""

from dataclasses import replace

import numpy as np

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.likely import place_likeliest
from thalweg_scheduling.place.problem import problem_of

LIKELY = np.array([[0.6, 0.4], [0.9, 0.1], [0.7, 0.3]])


def three(*, cpu: float = 1.0) -> Snapshot:
    return make_snapshot({"a": 3}, [], Cluster(nodes=3, domains=1, cpu=2.0), rates={}, cpu=cpu)


def placed(snapshot: Snapshot, likely: Floats = LIKELY, most: float = 9.0) -> list[int]:
    """On n2 and n0, each task of weight 1."""
    problem = problem_of(snapshot, snapshot.placement == UNPLACED)
    found = place_likeliest(
        problem,
        likely,
        np.array([2, 0]),
        weight=np.ones(len(likely)),
        most=np.full(2, most),
    )
    return [int(node) for node in found]


def test_the_surest_get_their_node_and_the_others_the_next_likely_one() -> None:
    assert placed(three()) == [0, 2, 2]


def test_a_node_gets_no_more_than_its_share() -> None:
    assert placed(three(), most=1.0) == [UNPLACED, 2, 0]


def test_of_the_undecided_a_node_gets_some_of_each_vertex() -> None:
    pairs = make_snapshot({"a": 2, "b": 2}, cluster=Cluster(nodes=3, domains=1), cpu=0.1)
    assert placed(pairs, np.full((4, 2), 0.5), most=2.0) == [2, 0, 2, 0]


def test_who_fits_nowhere_is_left_out() -> None:
    assert placed(three(cpu=2.0)) == [UNPLACED, 2, 0]


def test_eligibility_counts() -> None:
    eligible = np.ones((3, 3), dtype=np.bool_)
    eligible[1, 2] = False
    assert placed(replace(three(), eligible=eligible)) == [2, 0, 2]


def test_who_may_not_move_takes_its_room() -> None:
    assert placed(replace(three(), placement=np.array([2, UNPLACED, UNPLACED]))) == [2, 2, 0]


def test_a_rounding_error_decides_nothing() -> None:
    even = np.full((3, 2), 0.5)
    assert placed(three(), even + np.array([0, 1e-9])) == placed(three(), even) == [2, 2, 0]
