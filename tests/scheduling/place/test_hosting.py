"""Who belongs together shares a process, as long as one core is enough."""

from dataclasses import replace

import numpy as np

from thalweg_generators import make_snapshot
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.hosting import hosted
from thalweg_scheduling.place.problem import problem_of


def sharing(*, cpu: float = 0.5, shared: bool = True) -> Snapshot:
    snapshot = make_snapshot({"a": 3, "b": 3}, cpu=cpu)
    limits = snapshot.limits
    return replace(
        snapshot,
        limits=replace(limits, placement=replace(limits.placement, shared_processes=shared)),
    )


def processes(snapshot: Snapshot, node: list[int], group: list[int]) -> list[int]:
    problem = problem_of(snapshot, snapshot.placement == UNPLACED)
    return [int(each) for each in hosted(problem, np.array(node), np.array(group))]


def test_a_group_on_one_node_is_one_process_named_after_its_first_task() -> None:
    found = processes(sharing(cpu=0.1), [0, 0, 1, 1, 0, 1], [0, 0, 0, 0, 1, 1])
    assert found == [0, 0, 2, 2, 4, 5]


def test_a_process_has_one_core() -> None:
    assert processes(sharing(cpu=0.5), [0] * 6, [0] * 6) == [0, 0, 2, 2, 4, 4]
    assert processes(sharing(cpu=2.0), [0] * 6, [0] * 6) == [0, 1, 2, 3, 4, 5]


def test_nobody_shares_where_the_user_does_not_allow_it() -> None:
    assert processes(sharing(cpu=0.1, shared=False), [0] * 6, [0] * 6) == list(range(6))


def test_tasks_without_a_node_share_nothing() -> None:
    assert processes(sharing(cpu=0.1), [UNPLACED] * 6, [0] * 6) == list(range(6))


def test_who_stays_keeps_its_process() -> None:
    snapshot = replace(
        sharing(cpu=0.1),
        placement=np.array([0, 0, 0, UNPLACED, UNPLACED, UNPLACED]),
        process=np.array([7, 8, 7, 1, 2, 3]),
    )
    assert processes(snapshot, [0] * 6, [0] * 6) == [0, 1, 0, 3, 3, 3]
