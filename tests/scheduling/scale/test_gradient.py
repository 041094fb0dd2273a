"""Sgp-Stream's Algorithm 3, by hand."""

from dataclasses import replace

import numpy as np
import pytest

import thalweg_streams
from thalweg_scheduling.model.matrices import Observed
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale.gradient import Descent, descend
from thalweg_streams import NOW_S, Flow, seen, streaming

FRESH = Memory(at_s=NOW_S - 30)


def working(tasks: int, load: float, *, most: int = 1024) -> Snapshot:
    """With a source that is neither busy nor idle."""
    return thalweg_streams.working(tasks, load, spare=4, most=most)


def tasks_after(snapshot: Snapshot, how: Descent | None = None) -> int:
    scaling = descend(snapshot, now_s=NOW_S, memory=FRESH, how=how or Descent())
    return scaling.replicas.get("work", snapshot.vertices[1].replicas)


@pytest.mark.parametrize(
    ("tasks", "load", "expected"),
    [
        pytest.param(4, 3.2, 6, id="4 - 4 · (.4 · 4 - 3.2) / 3.2"),
        pytest.param(4, 1.61, 5, id="hardly busier than θ_max: one more"),
        pytest.param(4, 1.6, 4, id="just at θ_max"),
        pytest.param(4, 0.5, 4, id="between the thresholds"),
        pytest.param(20, 1.9, 5, id="idle: no fewer than θ_max needs"),
        pytest.param(8, 0.1, 1, id="next to nothing to do"),
        pytest.param(1, 0.05, 1, id="never below the minimum"),
    ],
)
def test_the_step_is_that_of_equation_21_with_sums(tasks: int, load: float, expected: int) -> None:
    assert tasks_after(working(tasks, load)) == expected


def test_the_step_ends_at_the_users_maximum() -> None:
    assert tasks_after(working(4, 3.9, most=5)) == 5


def test_a_smaller_xi_makes_smaller_steps() -> None:
    assert tasks_after(working(8, 7.2), Descent(step=0.25)) == 9 + 1
    assert tasks_after(working(8, 7.2)) == 13


@pytest.mark.parametrize(("tasks", "load"), [(1, 0.9), (8, 7.9), (64, 2.0), (3, 0.1)])
def test_it_comes_to_rest_between_the_thresholds(tasks: int, load: float) -> None:
    for _ in range(20):
        following = tasks_after(working(tasks, load))
        if following == tasks:
            break
        tasks = following
    assert following == tasks
    assert load / tasks <= 0.4 + 1e-9


def test_one_step_for_each_cool_time() -> None:
    busy = replace(working(4, 3.9), last_scaled_at_s=NOW_S - 50)
    resting = descend(busy, now_s=NOW_S, memory=FRESH)
    assert not resting.replicas
    assert resting.reasons[0].code is ReasonCode.COOLING_DOWN
    assert resting.memory == FRESH
    assert descend(replace(busy, last_scaled_at_s=NOW_S - 61), now_s=NOW_S, memory=FRESH).replicas


def test_only_the_critical_path_is_scaled() -> None:
    """Two branches as busy; tuples wait in one of them."""
    snapshot = streaming(
        {
            "read": Flow(tasks=1, processed_per_s=100, true_rate_per_s=400),
            "quick": Flow(tasks=2, processed_per_s=100, true_rate_per_s=100),
            "slow": Flow(tasks=2, processed_per_s=100, true_rate_per_s=100),
        },
        {("read", "quick"): 100, ("read", "slow"): 100},
    )
    assert snapshot.loads is not None
    wait = np.array([0.0, 0.0, 0.0, 0.05, 0.05])
    waiting = replace(snapshot, loads=replace(snapshot.loads, wait_s=wait))
    assert set(descend(waiting, now_s=NOW_S, memory=FRESH).replicas) == {"slow"}


@pytest.mark.parametrize("observed", [None, seen(age_s=1e4)])
def test_without_good_measurements_nothing_is_scaled(observed: Observed | None) -> None:
    busy = working(4, 3.9)
    assert busy.loads is not None
    doubtful = replace(busy, loads=replace(busy.loads, observed=observed))
    assert not descend(doubtful, now_s=NOW_S, memory=FRESH).replicas
