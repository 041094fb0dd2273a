"""Hd-Stream's Algorithm 2, by hand."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.model.matrices import DependencyMatrix
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.boundary import Boundary, Groups
from thalweg_scheduling.place.problem import problem_of


def on_two_groups(
    pairs: dict[tuple[int, int], float], placement: list[int], cpu: float = 0.5
) -> Snapshot:
    """Nodes 0 and 1 are the first group, 2 and 3 the second; each node has two cores."""
    tasks = len(placement)
    snapshot = make_snapshot(
        {f"v{place}": 1 for place in range(tasks)},
        [],
        Cluster(nodes=4, domains=1, cpu=2.0),
        rates={},
        cpu=cpu,
        placement=placement,
    )
    flows = {pair: (per_s, 0.0) for pair, per_s in pairs.items()}
    return replace(snapshot, traffic=DependencyMatrix.from_pairs(tasks, flows))


def boundary_of(
    snapshot: Snapshot, *, stays: tuple[int, ...] = (), groups: Sequence[int] = (0, 0, 1, 1)
) -> Boundary:
    movable = np.ones(len(snapshot.tasks), dtype=np.bool_)
    movable[list(stays)] = False
    of = Groups(
        of=np.array(groups),
        sequence=tuple(range(max(groups) + 1)),
        weight=snapshot.demand[:, 0],
        capacity=snapshot.capacity[:, 0],
    )
    return Boundary(problem_of(snapshot, movable), of)


def migrated(snapshot: Snapshot, *, stays: tuple[int, ...] = ()) -> list[int]:
    boundary = boundary_of(snapshot, stays=stays)
    boundary.keep(np.flatnonzero(snapshot.placement != UNPLACED))
    boundary.migrate()
    return [int(node) for node in boundary.node]


def test_a_task_goes_to_where_it_talks_and_there_to_the_node_that_is_used_least() -> None:
    # Task 0 exchanges 3 with its own group and 5 with the other, where node 3 is empty.
    snapshot = on_two_groups({(0, 1): 3.0, (0, 2): 5.0}, [0, 0, 2])
    assert migrated(snapshot, stays=(1, 2)) == [3, 0, 2]


def test_a_group_that_has_emptied_is_skipped() -> None:
    # First 1 joins 0; then 2, which talks with both, has the first group for its neighbour.
    snapshot = on_two_groups({(0, 1): 5.0, (1, 2): 5.0}, [0, 1, 2])
    boundary = boundary_of(snapshot, stays=(0,), groups=[0, 1, 2, 2])
    boundary.keep(np.array([1, 2]))
    assert boundary.migrate() == 2
    assert boundary.node.tolist() == [0, 0, 0]


def test_no_gain_no_move() -> None:
    snapshot = on_two_groups({(0, 1): 5.0, (0, 2): 5.0}, [0, 0, 2])
    assert migrated(snapshot, stays=(1, 2)) == [0, 0, 2]


def test_the_largest_gain_goes_first_and_changes_the_others() -> None:
    # 2 gains 12 by joining 0 and 1; then 1, which would have gained 4 by joining 2, stays.
    snapshot = on_two_groups({(0, 2): 8.0, (1, 2): 4.0}, [0, 1, 2])
    assert migrated(snapshot, stays=(0,)) == [0, 1, 0]


def test_who_has_no_room_is_passed_over_and_the_next_goes() -> None:
    # Both want to the second group; what 0 needs is not free there.
    snapshot = on_two_groups({(0, 2): 9.0, (1, 3): 5.0}, [0, 1, 2, 3])
    demand = np.array(snapshot.demand)
    demand[:, 0] = [1.8, 0.2, 0.5, 0.5]
    after = migrated(replace(snapshot, demand=demand), stays=(2, 3))
    assert after[0] == 0
    assert after[1] in (2, 3)


def test_who_may_not_move_does_not() -> None:
    snapshot = on_two_groups({(0, 1): 9.0}, [0, 2])
    assert migrated(snapshot, stays=(0, 1)) == [0, 2]


def test_first_the_first_group_is_filled() -> None:
    snapshot = on_two_groups({}, [UNPLACED] * 6, cpu=1.0)
    boundary = boundary_of(snapshot)
    boundary.deal(list(range(6)))
    assert boundary.node.tolist() == [0, 1, 0, 1, 2, 3]


def test_who_is_where_it_may_not_be_is_not_kept() -> None:
    eligible = np.ones((2, 4), dtype=np.bool_)
    eligible[0, 0] = False
    snapshot = replace(on_two_groups({}, [0, 0]), eligible=eligible)
    boundary = boundary_of(snapshot)
    boundary.keep(np.arange(2))
    assert boundary.node.tolist() == [UNPLACED, 0]
