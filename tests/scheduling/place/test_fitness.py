"""Subgraphs go to the node with most to spare."""

from dataclasses import replace

import numpy as np

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.model.arrays import Bools
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.fitness import Surplus, place_subgraphs
from thalweg_scheduling.place.problem import problem_of

ALL = np.ones(4, dtype=np.bool_)


def pairs(capacity: list[float]) -> Snapshot:
    """Two tasks that send to two others, half a core each, on nodes of these sizes."""
    snapshot = make_snapshot({"a": 2, "b": 2}, cluster=Cluster(nodes=len(capacity)))
    return replace(snapshot, capacity=np.array([[cores, 110.0] for cores in capacity]))


def placed(snapshot: Snapshot, of: list[int], movable: Bools = ALL) -> list[int]:
    cpu = snapshot.capacity[:, 0]
    surplus = Surplus(task=np.full(4, 0.5) / cpu.mean(), node=cpu / cpu.mean())
    node = place_subgraphs(problem_of(snapshot, movable), np.array(of), surplus)
    return [int(each) for each in node]


def test_the_node_that_keeps_most_free_is_the_fittest() -> None:
    assert placed(pairs([2.0, 4.0, 3.0]), [0, 0, 0, 1]) == [1, 1, 1, 2]


def test_a_node_that_lacks_anything_is_not_fit_at_all() -> None:
    large = replace(pairs([2.0, 4.0]), capacity=np.array([[2.0, 110.0], [4.0, 1.0]]))
    assert placed(large, [0, 0, 1, 1]) == [0, 0, 0, 0]


def test_a_node_that_a_task_may_not_use_is_not_fit() -> None:
    snapshot = pairs([2.0, 4.0])
    eligible = np.ones((4, 2), dtype=np.bool_)
    eligible[1, 1] = False
    assert placed(replace(snapshot, eligible=eligible), [0, 0, 1, 1]) == [0, 0, 1, 1]


def test_of_equally_fit_nodes_the_cheapest_is_taken() -> None:
    # Nodes 0 and 2 are in one domain.
    assert placed(pairs([2.0, 2.0, 2.0]), [0, 0, 1, 1]) == [0, 0, 2, 2]


def test_what_fits_on_no_node_is_left() -> None:
    assert placed(pairs([1.0, 1.0]), [0, 0, 0, 1]) == [UNPLACED, UNPLACED, UNPLACED, 0]


def test_a_subgraph_goes_where_its_members_are_that_may_not_move() -> None:
    snapshot = replace(pairs([2.0, 4.0]), placement=np.array([0, 0, UNPLACED, UNPLACED]))
    movable = np.array([False, False, True, True])
    assert placed(snapshot, [0, 0, 0, 1], movable) == [0, 0, 0, 1]
