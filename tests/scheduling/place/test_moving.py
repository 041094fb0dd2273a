"""The way from one placement to another."""

from dataclasses import replace

import numpy as np
from hypothesis import HealthCheck, given, settings

from thalweg_generators import Cluster, make_snapshot, snapshots
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.aligning import aligned
from thalweg_scheduling.place.moving import best_prefix, steps_towards, urgent_tasks
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.strategies.even import place_evenly


def whole(snapshot: Snapshot) -> Problem:
    return problem_of(snapshot, np.ones(len(snapshot.tasks), dtype=np.bool_))


def nobody(snapshot: Snapshot) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    return np.zeros(len(snapshot.tasks), dtype=np.bool_)


def test_a_task_waits_until_another_has_made_room() -> None:
    """One cpu each on nodes of one: b must leave before a can come."""
    snapshot = make_snapshot(
        {"a": 1, "b": 1}, cluster=Cluster(nodes=3, cpu=1.0), cpu=1.0, placement=[0, 1]
    )
    steps = steps_towards(whole(snapshot), np.array([1, 2]), nobody(snapshot))
    assert [(step.task, step.source, step.target) for step in steps] == [(1, 1, 2), (0, 0, 1)]


def test_who_wait_for_each_other_stay() -> None:
    snapshot = make_snapshot(
        {"a": 1, "b": 1}, cluster=Cluster(nodes=2, cpu=1.0), cpu=1.0, placement=[0, 1]
    )
    assert steps_towards(whole(snapshot), np.array([1, 0]), nobody(snapshot)) == []


def test_the_urgent_go_first() -> None:
    snapshot = make_snapshot({"a": 1, "b": 1}, placement=[0, 1])
    barred = np.array(snapshot.eligible)
    barred[1, 1] = False
    problem = whole(replace(snapshot, eligible=barred))
    urgent = urgent_tasks(problem, np.array([2, 3]))
    assert urgent.tolist() == [False, True]
    steps = steps_towards(problem, np.array([2, 3]), urgent)
    assert steps[0].task == 1


def test_tasks_of_a_vertex_in_too_few_domains_are_urgent_where_that_can_be_mended() -> None:
    snapshot = make_snapshot(
        {"a": 2, "b": 2}, cluster=Cluster(nodes=4, domains=2), placement=[0, 0, 0, 3]
    )
    limits = Limits(placement=PlacementLimits(min_domains=2))
    problem = whole(replace(snapshot, limits=limits))
    near, far = (
        int(np.flatnonzero(snapshot.domain_of == domain)[-1])
        for domain in (snapshot.domain_of[0], 1 - snapshot.domain_of[0])
    )
    mended = np.array([0, far, 0, 3])
    assert urgent_tasks(problem, mended).tolist() == [True, True, False, False]
    assert not urgent_tasks(problem, np.array([0, near, 0, 3])).any()
    steps = steps_towards(problem, mended, urgent_tasks(problem, mended))
    taken = best_prefix(
        steps, urgent_tasks(problem, mended), present_value=float("-inf"), most=None
    )
    assert [step.task for step in taken] == [1], "whatever it does to J"


@settings(
    max_examples=20, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(snapshot=snapshots(placed=True))
def test_each_step_says_what_it_leads_to(snapshot: Snapshot) -> None:
    problem = whole(snapshot)
    target = place_evenly(snapshot, movable=problem.movable, rng=np.random.default_rng(0)).node
    node = np.array(snapshot.placement)
    scale = abs(problem.score(node)[1]) + 1.0
    for step in steps_towards(problem, target, urgent_tasks(problem, target)):
        assert node[step.task] == step.source
        node[step.task] = step.target
        assert abs(problem.score(node)[1] - step.value) < 1e-9 * scale


def test_the_best_prefix_ends_where_the_value_is_least() -> None:
    snapshot = make_snapshot({"a": 2, "b": 1}, placement=[0, 1, 2])
    steps = steps_towards(whole(snapshot), np.array([2, 2, 2]), nobody(snapshot))
    present = whole(snapshot).score(snapshot.placement)[1]
    assert len(best_prefix(steps, nobody(snapshot), present_value=present, most=None)) == 2
    assert len(best_prefix(steps, nobody(snapshot), present_value=present, most=1)) == 1
    assert best_prefix(steps, nobody(snapshot), present_value=present, most=0) == []
    assert best_prefix(steps, nobody(snapshot), present_value=0.0, most=None) == []


def test_a_price_on_moves_is_in_the_value() -> None:
    limits = Limits(placement=PlacementLimits(move_cost=1000.0))
    snapshot = make_snapshot({"a": 1, "b": 1}, placement=[0, 1], limits=limits)
    steps = steps_towards(whole(snapshot), np.array([1, 1]), nobody(snapshot))
    assert steps[0].value > 1000.0


def test_equal_nodes_are_renamed_so_that_tasks_stay() -> None:
    snapshot = make_snapshot(
        {"a": 4, "b": 4}, cluster=Cluster(nodes=4, domains=2), placement=[0, 0, 2, 2, 1, 1, 3, 3]
    )
    problem = whole(snapshot)
    elsewhere = np.array([3, 3, 1, 1, 0, 0, 2, 2])
    renamed = aligned(problem, elsewhere)
    assert problem.moves(renamed) == 0


@settings(
    max_examples=20, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(snapshot=snapshots(placed=True))
def test_renaming_changes_neither_worth_nor_feasibility(snapshot: Snapshot) -> None:
    problem = whole(replace(snapshot, limits=Limits()))
    node = place_evenly(snapshot, movable=problem.movable, rng=np.random.default_rng(0)).node
    renamed = aligned(problem, node)
    scale = abs(problem.score(node)[1]) + 1.0
    assert abs(problem.score(renamed)[1] - problem.score(node)[1]) < 1e-9 * scale
    assert problem.is_feasible(renamed) == problem.is_feasible(node)
    assert problem.moves(renamed) <= problem.moves(node)
