"""Whole runs: what a strategy sees, what its plans do, and what is reported."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import EdgeWeights, Plan
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile
from thalweg_scheduling.simulate.changing import Moving
from thalweg_scheduling.simulate.profiles import constant, step
from thalweg_scheduling.simulate.sampling import MemoryUse, Sight
from thalweg_scheduling.simulate.stage import Program, stage_of
from thalweg_scheduling.simulate.trial import (
    Decider,
    Mode,
    Scenario,
    expected_visits,
    run_trial,
)
from thalweg_trials import FREE, cluster

PROGRAM = Program(
    vertices={
        "read": VertexProfile(cpu_s=0.001, offered_per_s=1),
        "work": VertexProfile(cpu_s=0.01),
    },
    edges={("read", "work"): EdgeProfile()},
    parameters=FREE,
)


def small(node: tuple[int, ...] = (0, 1)) -> Snapshot:
    snapshot = cluster(
        {"read": 1, "work": len(node) - 1}, [("read", "work")], cores=[1.0] * 3, domains=[0, 0, 1]
    )
    return replace(snapshot, placement=np.array(node))


def scenario(**changed: object) -> Scenario:
    given: dict[str, object] = {
        "snapshot": small(),
        "program": PROGRAM,
        "profile": constant(50),
        "duration_s": 40.0,
        "decide_every_s": 20.0,
        "report_every_s": 10.0,
        **changed,
    }
    return Scenario(**given)  # type: ignore[arg-type]


def moving_to(node: str, at_s: float = 20.0) -> Decider:
    def decide(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan | None:
        if now_s != at_s:
            return None
        plan = {"read-0": "n0", "work-0": node}
        return Plan(strategy="test", assignments=plan, weights=_some_weights(snapshot))

    return decide


def _some_weights(snapshot: Snapshot) -> tuple[EdgeWeights, ...]:
    return (EdgeWeights(source="read", target="work", shares={"work-0": 1.0}),)


def test_windows_say_what_happened() -> None:
    done: list[float] = []
    trial = run_trial(scenario(), seed=1, progress=done.append)
    assert done == pytest.approx([0.25, 0.5, 0.75, 1.0])
    assert [window.at_s for window in trial.windows] == [10, 20, 30, 40]
    assert trial.mode is Mode.EVENTS
    assert trial.mean("throughput_per_s") == pytest.approx(50, rel=0.1)
    assert trial.mean("offered_per_s") == pytest.approx(trial.mean("throughput_per_s"), rel=0.02)
    assert trial.mean("latency_s") == pytest.approx(0.001 / 0.95 + 0.01 / 0.5, rel=0.3)
    window = trial.windows[-1]
    assert window.node_utilization == pytest.approx([0.05, 0.5, 0.0], abs=0.15)
    assert window.vertex_busy == pytest.approx([0.05, 0.5], abs=0.15)
    assert (window.nodes_used, window.nodes_awake) == (2, 3)
    assert dict(window.replicas) == {"read": 1, "work": 1}
    assert (window.cross_domain_share, window.remote_share) == (0.0, 1.0)
    assert window.component_latency_s == pytest.approx(window.latency_s, rel=0.05)


def test_windows_say_what_goes_over_the_network() -> None:
    wired = replace(PROGRAM, parameters=replace(FREE, bandwidth_bytes_per_s=50_000.0))
    trial = run_trial(scenario(program=wired), seed=1)
    # 50 tuples of 100 bytes a second from the first node to the second.
    assert trial.windows[-1].network_utilization == pytest.approx([0.1, 0.1, 0.0], rel=0.3)
    near = run_trial(scenario(program=wired, snapshot=small((0, 0))), seed=1)
    assert near.windows[-1].network_utilization.tolist() == [0.0, 0.0, 0.0]


def test_a_plan_that_changes_nothing_is_remembered_all_the_same() -> None:
    seen: list[float | None] = []

    def decide(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan:
        seen.append(None if snapshot.memory is None else snapshot.memory.at_s)
        where = {"read-0": "n0", "work-0": "n1"}
        return Plan(
            strategy="test",
            assignments=where,
            weights=_some_weights(snapshot),
            memory=Memory(at_s=now_s),
        )

    run_trial(scenario(duration_s=80.0), decide, seed=1)
    assert seen == [None, 20.0, 40.0, 60.0]


def test_the_same_seed_gives_the_same_run() -> None:
    one, two, other = (run_trial(scenario(), seed=seed) for seed in (1, 1, 2))
    assert one.over("latency_s").tolist() == two.over("latency_s").tolist()
    assert one.over("latency_s").tolist() != other.over("latency_s").tolist()


def test_rates_follow_the_profile() -> None:
    trial = run_trial(scenario(profile=step(20, (60, 20))), seed=1)
    assert trial.mean("offered_per_s", 0, 20) == pytest.approx(20, rel=0.2)
    assert trial.mean("offered_per_s", 20, 40) == pytest.approx(60, rel=0.2)


def test_a_strategy_sees_what_tasks_do_with_noise() -> None:
    seen: list[Snapshot] = []

    def watch(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> None:
        seen.append(snapshot)

    run_trial(scenario(), watch, seed=1)
    run_trial(scenario(sight=Sight(noise=0.5)), watch, seed=1)
    clear, blurred = seen[0], seen[2]
    assert len(seen) == 4
    assert clear.loads is not None
    assert clear.traffic is not None
    assert clear.loads.busy_share == pytest.approx([0.05, 0.5], rel=0.4)
    assert clear.traffic.tuples_per_s == pytest.approx([50], rel=0.2)
    assert clear.loads.observed is not None
    assert (clear.loads.observed.at_s, clear.loads.observed.window_s) == (20, 20)
    assert blurred.loads is not None
    assert not np.allclose(clear.loads.cpu_cores, blurred.loads.cpu_cores, rtol=0.05)


def test_baselines_see_requests_only() -> None:
    def watch(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> None:
        assert snapshot.loads is None
        assert snapshot.traffic is None
        assert snapshot.latency.observed is None

    run_trial(scenario(sight=Sight(declared_only=True)), watch, seed=1)


def test_a_move_is_made_and_stops_only_the_task_that_moves() -> None:
    moving = Moving(state_bytes=5e6, bandwidth_bytes_per_s=1e6)
    trial = run_trial(scenario(moving=moving), moving_to("n2"), seed=1)
    before, after = trial.windows[1], trial.windows[2]
    assert [window.moved for window in trial.windows] == [0, 0, 1, 0]
    assert (before.cross_domain_share, after.cross_domain_share) == (0.0, 1.0)
    assert after.latency_s > 1
    assert after.throughput_per_s == pytest.approx(50, rel=0.2)
    assert len(trial.decisions) == 1


def test_a_rebalance_stops_everything() -> None:
    trial = run_trial(scenario(moving=Moving(rebalance_s=9.9)), moving_to("n2"), seed=1)
    assert trial.windows[2].throughput_per_s < 10
    assert trial.windows[3].throughput_per_s > 60


def test_a_plan_takes_effect_when_its_processes_have_started() -> None:
    trial = run_trial(scenario(moving=Moving(start_s=10)), moving_to("n2"), seed=1)
    assert [window.cross_domain_share for window in trial.windows] == [0, 0, 0, 1]


def test_more_tasks_are_placed_in_a_second_decision() -> None:
    def decide(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan | None:
        if snapshot.unplaced.size:
            homes = {"read-0": "n0", "work-0": "n1", "work-1": "n2"}
            return Plan(strategy="test", assignments=homes, placed={"work-1": "n2"})
        if now_s == 20:
            homes = {"read-0": "n0", "work-0": "n1"}
            return Plan(strategy="test", assignments=homes, replicas={"work": 2})
        return None

    trial = run_trial(scenario(profile=constant(150)), decide, seed=1)
    assert [window.replicas["work"] for window in trial.windows] == [1, 1, 2, 2]
    assert trial.windows[1].delivered_per_s < 120
    assert trial.windows[-1].delivered_per_s > 150
    assert trial.windows[-1].nodes_used == 3


def test_what_fits_nowhere_waits_and_the_others_run() -> None:
    def decide(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan | None:
        homes = {"read-0": "n0", "work-0": "n1"}
        if snapshot.unplaced.size:
            placed = {"work-2": "n2"}
            return Plan(strategy="test", assignments={**homes, **placed}, placed=placed)
        return (
            Plan(strategy="test", assignments=homes, replicas={"work": 3}) if now_s < 40 else None
        )

    trial = run_trial(scenario(), decide, seed=1)
    assert [window.replicas["work"] for window in trial.windows] == [1, 1, 2, 2]
    assert trial.windows[-1].nodes_used == 3
    assert len(trial.decisions) == 1


def test_what_fits_nowhere_cannot_be_run() -> None:
    with pytest.raises(InvalidSnapshot, match="get a node"):
        run_trial(scenario(snapshot=small((0, -1))), seed=1)


def test_memory_is_that_of_tasks_and_processes() -> None:
    snapshot = replace(small((0, 1, 1)), process=np.array([0, 1, 1]))
    memory = MemoryUse(process_bytes=100.0, task_bytes=10.0)
    trial = run_trial(scenario(snapshot=snapshot, memory=memory, duration_s=10.0), seed=1)
    assert trial.windows[0].memory_bytes.tolist() == [110.0, 120.0, 0.0]


def test_visits_are_counted_over_the_graph() -> None:
    one = scenario(
        program=replace(
            PROGRAM, edges={("read", "work"): EdgeProfile(selectivity=4)}, parameters=Parameters()
        )
    )
    assert expected_visits(one, stage_of(one.snapshot, one.program)) == pytest.approx(50 * 40 * 5)
