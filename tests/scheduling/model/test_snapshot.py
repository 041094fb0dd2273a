"""A snapshot is whole and cannot be changed, or it is refused."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import make_snapshot
from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.graph import Edge
from thalweg_scheduling.model.matrices import (
    DependencyMatrix,
    LatencyClasses,
    NodeLatency,
    Observed,
    TaskLoad,
)
from thalweg_scheduling.model.snapshot import Snapshot

SNAPSHOT = make_snapshot({"a": 1, "b": 2})
FOR_TWO = DependencyMatrix.from_pairs(2, {})
OF_TWO = NodeLatency(pairs_s=np.zeros((2, 2)))


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (lambda: replace(SNAPSHOT, placement=np.array([0, 0])), "placement has shape"),
        (lambda: replace(SNAPSHOT, placement=np.array([0, 0, 9])), "placement points outside"),
        (lambda: replace(SNAPSHOT, domain_of=np.arange(4)), "domain_of points outside"),
        (lambda: replace(SNAPSHOT, demand=np.full((3, 2), np.nan)), "demand must be known"),
        (lambda: replace(SNAPSHOT, demand=np.full((3, 2), -1.0)), "demand must be known"),
        (lambda: replace(SNAPSHOT, capacity=np.full((4, 2), np.inf)), "capacity must be known"),
        (lambda: replace(SNAPSHOT, eligible=np.ones((3, 3), np.bool_)), "eligible has shape"),
        (lambda: replace(SNAPSHOT, nodes=("x", "x", "y", "z")), "must be unique"),
        (lambda: replace(SNAPSHOT, edges=(Edge(source=0, target=7),)), "an edge names vertex"),
        (lambda: replace(SNAPSHOT, process=np.array([0])), "process has shape"),
        (lambda: replace(SNAPSHOT, loads=TaskLoad.unknown(2)), "loads are about 2 tasks"),
        (lambda: replace(SNAPSHOT, traffic=FOR_TWO), "traffic is about 2 tasks"),
        (lambda: replace(SNAPSHOT, latency=OF_TWO), "latency has shape"),
    ],
)
def test_facts_that_contradict_each_other_are_refused(
    broken: Callable[[], Snapshot], words: str
) -> None:
    with pytest.raises(InvalidSnapshot, match=words):
        broken()


def test_arrays_cannot_be_written() -> None:
    with pytest.raises(ValueError, match="read-only"):
        SNAPSHOT.placement[0] = 1


def test_tasks_are_named_vertex_by_vertex() -> None:
    assert SNAPSHOT.task_names == ("a-0", "b-0", "b-1")
    assert tuple(task.name for task in SNAPSHOT.tasks) == SNAPSHOT.task_names
    assert SNAPSHOT.vertex_of.tolist() == [0, 1, 1]


@pytest.mark.parametrize("bad", [np.nan, -0.1, np.inf])
def test_latency_classes_must_be_known(bad: float) -> None:
    with pytest.raises(InvalidSnapshot, match="latency classes"):
        LatencyClasses(cross_domain_s=bad)


@pytest.mark.parametrize(
    ("age_s", "fresh"), [(0.0, True), (45.0, True), (46.0, False), (-45.0, True), (-46.0, False)]
)
def test_the_future_is_as_bad_as_the_past(age_s: float, fresh: bool) -> None:
    observed = Observed(at_s=1000.0 - age_s, window_s=60, samples=1, coverage=1.0)
    assert observed.is_fresh(1000.0, 45.0) is fresh


def test_coverage_that_is_unknown_is_not_enough() -> None:
    assert not Observed(at_s=0, window_s=60, samples=1, coverage=np.nan).is_whole(0.9)


@pytest.mark.parametrize(
    ("indptr", "words"),
    [([0, 2], "from 0 to the number"), ([0, 2, 1], "must not fall"), ([], "from 0 to the number")],
)
def test_a_dependency_matrix_is_a_csr_matrix(indptr: list[int], words: str) -> None:
    with pytest.raises(InvalidSnapshot, match=words):
        DependencyMatrix(
            indptr=np.array(indptr, dtype=np.int64),
            targets=np.array([0]),
            tuples_per_s=np.array([1.0]),
            bytes_per_s=np.array([1.0]),
        )


def test_unknown_pairs_get_the_seconds_of_their_class() -> None:
    pairs = np.array([[np.nan, 0.2], [-1.0, np.nan]])
    filled = NodeLatency(pairs_s=pairs).filled_s(np.array([0, 0]))
    assert filled.tolist() == [[0.0001, 0.2], [0.0005, 0.0001]]
