"""Tasks of a node share processes, those that exchange most first."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import OBSERVED, make_snapshot
from thalweg_scheduling.model.arrays import Bools
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.matrices import DependencyMatrix
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.pairing import paired
from thalweg_scheduling.place.problem import problem_of

SHARED = Limits(placement=PlacementLimits(shared_processes=True))
ALL = np.ones(4, dtype=np.bool_)
HEAVY = {(0, 1): 5.0, (1, 2): 9.0, (2, 3): 5.0, (0, 3): 1.0}


def four_tasks(rates: Mapping[tuple[int, int], float], cpu: float = 0.5) -> Snapshot:
    snapshot = make_snapshot({"a": 1, "b": 1, "c": 1, "d": 1}, cpu=cpu, limits=SHARED)
    pairs = {pair: (per_s, per_s) for pair, per_s in rates.items()}
    return replace(snapshot, traffic=DependencyMatrix.from_pairs(4, pairs, OBSERVED))


def processes(
    snapshot: Snapshot, node: list[int], most: int = 2, movable: Bools = ALL
) -> list[int]:
    return [int(each) for each in paired(problem_of(snapshot, movable), np.array(node), most)]


@pytest.mark.parametrize(
    ("node", "most", "expected"),
    [
        pytest.param([0, 0, 0, 0], 2, [0, 1, 1, 0], id="heaviest pair first"),
        pytest.param([0, 0, 1, 1], 2, [0, 0, 2, 2], id="never across nodes"),
        pytest.param([0, 1, 0, 1], 2, [0, 1, 2, 3], id="who does not talk does not share"),
        pytest.param([0, 0, 0, 0], 1, [0, 1, 2, 3], id="one task a process"),
        pytest.param([UNPLACED] * 4, 2, [0, 1, 2, 3], id="nowhere"),
    ],
)
def test_pairs(node: list[int], most: int, expected: list[int]) -> None:
    assert processes(four_tasks(HEAVY), node, most) == expected


def test_a_process_has_one_core() -> None:
    assert processes(four_tasks(HEAVY, cpu=0.6), [0, 0, 0, 0]) == [0, 1, 2, 3]


def test_without_leave_each_has_its_own() -> None:
    separate = replace(four_tasks(HEAVY), limits=Limits())
    assert processes(separate, [0, 0, 0, 0]) == [0, 1, 2, 3]


def test_who_stays_keeps_its_process_and_others_may_join() -> None:
    snapshot = replace(
        four_tasks(HEAVY, cpu=0.25),
        placement=np.array([0, 0, UNPLACED, 0]),
        process=np.array([7, 8, 9, 7]),
    )
    movable = np.array([False, False, True, False])
    assert processes(snapshot, [0, 0, 0, 0], 2, movable) == [0, 1, 1, 0]
    assert processes(snapshot, [0, 0, 0, 0], 4, movable) == [0, 1, 1, 0]
