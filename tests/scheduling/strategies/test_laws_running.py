"""What every strategy keeps once a topology runs, is measured, and is remembered."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from thalweg_generators import NOW_S, running_snapshots
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.graph import task_names
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate.changing import carried_out
from thalweg_scheduling.strategies import STRATEGIES

every_strategy = pytest.mark.parametrize("strategy", sorted(STRATEGIES))
quickly = settings(
    max_examples=15,
    derandomize=True,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)


def decided(snapshot: Snapshot, strategy: str) -> Plan:
    return decide(snapshot, strategy, now_s=NOW_S, rng=np.random.default_rng(7))


@every_strategy
@settings(quickly, max_examples=10)
@given(snapshot=running_snapshots())
def test_what_others_remember_is_never_lost(strategy: str, snapshot: Snapshot) -> None:
    plan = decided(snapshot, strategy)
    if snapshot.memory is None:
        return
    assert plan.memory is not None
    assert plan.memory.began_s == snapshot.memory.began_s
    assert plan.memory.placed_by is not None
    again = decided(replace(snapshot, memory=plan.memory), strategy)
    assert again.memory is not None
    assert again.memory.placed_by is not None


@every_strategy
@quickly
@given(snapshot=running_snapshots())
def test_only_what_is_permitted_changes(strategy: str, snapshot: Snapshot) -> None:
    plan, permits = decided(snapshot, strategy), snapshot.limits.permits
    assert permits.move or not plan.moves
    assert permits.scale or not plan.replicas
    assert permits.regroup or not plan.weights
    assert permits.sleep or not plan.asleep
    assert plan.reasons


@every_strategy
@quickly
@given(snapshot=running_snapshots())
def test_numbers_of_tasks_and_shares_are_within_bounds(strategy: str, snapshot: Snapshot) -> None:
    plan = decided(snapshot, strategy)
    vertices = {vertex.name: vertex for vertex in snapshot.vertices}
    for name, replicas in plan.replicas.items():
        assert vertices[name].min_replicas <= replicas <= vertices[name].max_replicas
        assert replicas != vertices[name].replicas
    for weights in plan.weights:
        receivers = task_names(weights.target, vertices[weights.target].replicas)
        assert list(weights.shares) == receivers
        assert min(weights.shares.values()) >= 0
        assert sum(weights.shares.values()) == pytest.approx(1)


@every_strategy
@quickly
@given(snapshot=running_snapshots())
def test_processes_that_stay_together_are_never_torn(strategy: str, snapshot: Snapshot) -> None:
    if not snapshot.limits.placement.whole_processes:
        return
    assert snapshot.process is not None
    after = carried_out(snapshot, decided(snapshot, strategy))
    kept = np.isin(after.task_names, snapshot.task_names)
    assert after.process is not None
    for process in np.unique(after.process[kept]):
        assert len(np.unique(after.placement[kept & (after.process == process)])) == 1
    before = dict(zip(snapshot.task_names, snapshot.process.tolist(), strict=True))
    now = dict(zip(after.task_names, after.process.tolist(), strict=True))
    assert all(now[name] == before[name] for name in now.keys() & before.keys())


@every_strategy
@quickly
@given(snapshot=running_snapshots())
def test_the_same_seed_gives_the_same_plan_of_a_running_topology(
    strategy: str, snapshot: Snapshot
) -> None:
    assert str(decided(snapshot, strategy)) == str(decided(snapshot, strategy))
