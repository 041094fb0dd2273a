"""Md-Stream's Algorithm 4, by hand."""

from dataclasses import replace

import numpy as np
import pytest

import thalweg_streams
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale import decide_replicas
from thalweg_scheduling.scale.flow import observe_vertices
from thalweg_scheduling.scale.parallelism_update import (
    Elasticity,
    busiest_share,
    system_latency_s,
    update_parallelism,
)
from thalweg_streams import NAN, NOW_S, seen

SETTLED = Memory(at_s=NOW_S - 30, began_s=NOW_S - 10_000)


def working(tasks: int, load: float, *, wait_s: float = NAN, most: int = 1024) -> Snapshot:
    """With a source that is busy for half of the time, and tuples that wait for so long."""
    snapshot = thalweg_streams.working(tasks, load, spare=2, most=most)
    assert snapshot.loads is not None
    return replace(snapshot, loads=replace(snapshot.loads, wait_s=np.full(tasks + 1, wait_s)))


def tasks_after(snapshot: Snapshot, memory: Memory = SETTLED) -> int:
    scaling = update_parallelism(snapshot, now_s=NOW_S, memory=memory)
    assert "read" not in scaling.replicas
    return scaling.replicas.get("work", snapshot.vertices[1].replicas)


@pytest.mark.parametrize(
    ("tasks", "load", "expected"),
    [
        pytest.param(8, 10.0, 10, id="8 + ⌈8 · (1000 - 800) / 1000⌉"),
        pytest.param(8, 7.2, 9, id="(18) is -1, but more than Orl_max is busy"),
        pytest.param(8, 7.0, 8, id="just at Orl_max"),
        pytest.param(8, 2.4, 8, id="just at Orl_min"),
        pytest.param(8, 2.0, 3, id="(18) is beyond -8; with 2 tasks Orl would be 1"),
        pytest.param(40, 8.0, 10, id="8 / .875 tasks are needed"),
        pytest.param(8, 0.8, 1, id="next to nothing to do"),
        pytest.param(1, 0.1, 1, id="never below the minimum"),
    ],
)
def test_the_step_is_that_of_equation_18_and_makes_sense(
    tasks: int, load: float, expected: int
) -> None:
    assert tasks_after(working(tasks, load)) == expected


def test_the_step_ends_at_the_users_maximum() -> None:
    assert tasks_after(working(8, 16.0, most=9)) == 9


@pytest.mark.parametrize(
    ("wait_s", "load", "expected"),
    [
        pytest.param(0.0, 7.8, 8, id="fast: a busy vertex is left alone"),
        pytest.param(0.1, 7.8, 9, id="slow: it grows"),
        pytest.param(NAN, 7.8, 9, id="unknown does not hold growth back"),
        pytest.param(0.0, 2.0, 3, id="fast: an idle vertex shrinks all the same"),
    ],
)
def test_latency_decides_whether_a_busy_vertex_grows(
    wait_s: float, load: float, expected: int
) -> None:
    assert tasks_after(working(8, load, wait_s=wait_s)) == expected


def test_system_latency_is_wait_and_service_of_all_vertices() -> None:
    snapshot = working(4, 2.0, wait_s=0.003)
    assert snapshot.loads is not None
    flow = observe_vertices(snapshot, snapshot.loads)
    assert system_latency_s(snapshot, flow) == pytest.approx(0.003 + 1 / 400 + 0.003 + 1 / 100)
    assert np.isnan(system_latency_s(replace(snapshot, loads=None), flow))


def test_a_vertex_is_as_busy_as_its_busiest_task() -> None:
    snapshot = working(4, 2.0)
    assert snapshot.loads is not None
    uneven = replace(snapshot.loads, busy_share=np.array([0.5, 0.1, 0.95, np.nan, 0.2]))
    assert busiest_share(replace(snapshot, loads=uneven)).tolist() == [0.5, 0.95]


def test_a_topology_settles_before_the_first_step() -> None:
    busy = working(8, 10.0)
    assert busy.loads is not None
    first = update_parallelism(busy, now_s=NOW_S)
    assert not first.replicas
    assert first.reasons[0].code is ReasonCode.STABILISING
    assert first.memory is not None
    assert first.memory.began_s == NOW_S
    later = NOW_S + 700
    fresh = replace(busy, loads=replace(busy.loads, observed=replace(seen(), at_s=later - 1)))
    second = update_parallelism(fresh, now_s=later, memory=first.memory)
    assert second.replicas == {"work": 10}
    assert second.memory is not None
    assert second.memory.began_s == NOW_S


@pytest.mark.parametrize(("tasks", "load"), [(2, 3.0), (8, 30.0), (64, 5.0), (9, 8.9), (3, 0.1)])
def test_it_comes_to_rest_where_nobody_is_too_busy(tasks: int, load: float) -> None:
    for _ in range(12):
        following = tasks_after(working(tasks, load))
        if following == tasks:
            break
        tasks = following
    assert following == tasks
    assert load / tasks <= 0.875 + 1e-9


def test_what_is_stale_partial_or_unknown_changes_as_little_as_with_our_own_scaler() -> None:
    idle, busy = working(8, 0.8), working(8, 10.0)
    for observed in (None, seen(age_s=1e4), seen(coverage=0.5)):
        for snapshot in (idle, busy):
            assert snapshot.loads is not None
            doubtful = replace(snapshot, loads=replace(snapshot.loads, observed=observed))
            mine = update_parallelism(doubtful, now_s=NOW_S, memory=SETTLED)
            ours = decide_replicas(doubtful, now_s=NOW_S, memory=SETTLED)
            assert mine.replicas.keys() == ours.replicas.keys()
            assert mine.reasons[0].code is ours.reasons[0].code


def test_damping_makes_steps_smaller() -> None:
    busy = working(8, 16.0)
    half = update_parallelism(busy, now_s=NOW_S, memory=SETTLED, how=Elasticity(damping=0.5))
    assert tasks_after(busy) == 12
    assert half.replicas == {"work": 10}
