"""What the papers weigh, as measured or as requested."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import make_snapshot
from thalweg_scheduling.measure.amounts import amounts
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot


def two_tasks(words: tuple[str, ...], demand: list[float], capacity: list[float]) -> Snapshot:
    return replace(
        make_snapshot({"a": 2}),
        resources=words,
        demand=np.tile(demand, (2, 1)),
        capacity=np.tile(capacity, (4, 1)),
    )


def test_what_is_measured_counts_and_else_what_is_requested() -> None:
    loads = replace(TaskLoad.unknown(2), cpu_cores=np.array([0.2, np.nan]))
    snapshot = replace(two_tasks(("cpu", "memory"), [1.0, 8.0], [4.0, 16.0]), loads=loads)
    known = amounts(snapshot)
    assert known.words == ("cpu", "memory")
    assert known.used.tolist() == [[0.2, 8.0], [1.0, 8.0]]


def test_the_weight_of_what_is_not_known_goes_to_the_others() -> None:
    known = amounts(two_tasks(("pods", "memory", "cpu"), [1.0, 8.0, 1.0], [110.0, 16.0, 4.0]))
    assert known.words == ("cpu", "memory")
    task, node = known.weighted_by(
        {"cpu": 0.5, "memory": 0.25, "network": 0.25}, np.array([4.0, 16.0])
    )
    assert task.tolist() == pytest.approx([2 / 3 * 0.25 + 1 / 3 * 0.5] * 2)
    assert node.tolist() == pytest.approx([1.0] * 4)


def test_resources_by_other_names_count_alike() -> None:
    known = amounts(two_tasks(("slots", "gpu"), [1.0, 2.0], [4.0, 4.0]))
    task, _ = known.weighted_by({"cpu": 1.0}, np.array([4.0, 4.0]))
    assert task.tolist() == pytest.approx([0.375] * 2)


def test_a_resource_of_which_there_is_none_weighs_nothing() -> None:
    known = amounts(two_tasks(("cpu", "memory"), [1.0, 0.0], [4.0, 0.0]))
    task, _ = known.weighted_by({"cpu": 0.5, "memory": 0.5}, np.array([4.0, 0.0]))
    assert task.tolist() == pytest.approx([0.125] * 2)
