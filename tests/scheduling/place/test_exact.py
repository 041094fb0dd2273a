"""Branch and bound against trying everything."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings

from thalweg_generators import Cluster, make_snapshot, snapshots
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.dense import dense_of
from thalweg_scheduling.place.exact import prove
from thalweg_scheduling.place.kin import rooms_for
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.small import place_few, place_small


def whole(snapshot: Snapshot) -> Problem:
    return problem_of(snapshot, np.ones(len(snapshot.tasks), dtype=np.bool_))


def least(problem: Problem) -> float:
    """The best of all placements, infinite where there is none."""
    tasks, nodes = problem.snapshot.eligible.shape
    values = [
        problem.score(np.array(each))[1]
        for each in product(range(nodes), repeat=tasks)
        if problem.is_feasible(np.array(each))
    ]
    return min(values, default=np.inf)


@settings(max_examples=25, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(snapshot=snapshots(most_tasks=3))
def test_what_is_proven_is_the_optimum(snapshot: Snapshot) -> None:
    problem = whole(snapshot)
    assume(len(snapshot.tasks) > 0 and not problem.spread.binds)
    best = least(problem)
    verdict = prove(problem, dense_of(problem), np.inf, 100_000)
    if not np.isfinite(best):
        assert verdict.node is None
        return
    assert verdict.node is not None
    assert verdict.proven
    assert problem.is_feasible(verdict.node)
    assert problem.score(verdict.node)[1] == pytest.approx(best, rel=1e-6, abs=1e-12)


@settings(max_examples=20, derandomize=True, deadline=None, suppress_health_check=list(HealthCheck))
@given(snapshot=snapshots(most_tasks=3))
def test_a_small_search_finds_it_too(snapshot: Snapshot) -> None:
    problem = whole(snapshot)
    assume(len(snapshot.tasks) > 0)
    best = least(problem)
    assume(best < np.inf)
    found = place_small(problem, np.random.default_rng(0))
    assert problem.is_feasible(found.node)
    homeless, value = problem.score(found.node)
    assert homeless == 0
    assert value == pytest.approx(best, rel=1e-6, abs=1e-12)


def test_nothing_is_proven_when_steps_run_out() -> None:
    problem = whole(make_snapshot())
    verdict = prove(problem, dense_of(problem), np.inf, 3)
    assert not verdict.proven
    assert verdict.node is None


def test_a_known_optimum_is_confirmed() -> None:
    snapshot = make_snapshot(cluster=Cluster(nodes=3, cpu=2.0))
    problem = whole(snapshot)
    found = place_small(problem, np.random.default_rng(0))
    assert found.proven
    again = prove(problem, dense_of(problem), problem.score(found.node)[1], 100_000)
    assert again.node is None
    assert again.proven


def test_a_whole_topology_goes_where_it_fits_together() -> None:
    """Two small nodes near each other, a large one far away that holds everything."""
    snapshot = make_snapshot({"a": 2, "b": 3, "c": 3}, cluster=Cluster(nodes=3, domains=2))
    capacity = np.array([[2.0, 110.0], [4.0, 110.0], [2.0, 110.0]])
    roomy = replace(snapshot, capacity=capacity)
    assert set(place_small(whole(roomy), np.random.default_rng(0)).node.tolist()) == {1}


def test_of_many_nodes_the_roomiest_are_searched() -> None:
    snapshot = make_snapshot(cluster=Cluster(nodes=400, domains=4))
    capacity = np.array(snapshot.capacity)
    capacity[[217, 233], 0] = 5.0
    problem = whole(replace(snapshot, capacity=capacity))
    found = place_few(problem, np.random.default_rng(0))
    assert found is not None
    assert set(found.node.tolist()) == {217}


def test_a_task_that_may_run_on_one_small_node_gets_it() -> None:
    snapshot = make_snapshot(cluster=Cluster(nodes=400, domains=4))
    eligible = np.array(snapshot.eligible)
    eligible[0] = False
    eligible[0, 123] = True
    capacity = np.array(snapshot.capacity)
    capacity[123, 0] = 0.5
    problem = whole(replace(snapshot, eligible=eligible, capacity=capacity))
    found = place_few(problem, np.random.default_rng(0))
    assert found is not None
    assert found.node[0] == 123
    assert problem.is_feasible(found.node)


def test_many_tasks_are_not_for_this_search() -> None:
    assert place_few(whole(make_snapshot({"a": 30, "b": 30})), np.random.default_rng(0)) is None


def test_a_task_that_uses_next_to_nothing_fits_anywhere() -> None:
    # Smaller than any ordinary number: dividing by it overflows.
    fits = rooms_for(np.array([[4.0, 2.0], [0.0, 2.0]]), np.array([[1e-310, 1.0], [1.0, 1.0]]))
    assert fits.tolist() == [[2.0, 2.0], [2.0, 0.0]]
