"""The time-stepped mode: it keeps tuples, settles where the analytic mode says, and fills up."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_runs import latency_s, staged
from thalweg_scheduling.model.matrices import LatencyClasses, NodeLatency
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile
from thalweg_scheduling.simulate.batches import BatchEngine
from thalweg_scheduling.simulate.events import EventEngine
from thalweg_scheduling.simulate.stage import Stage
from thalweg_trials import FREE, cluster, tried

LINKS = [("read", "work"), ("work", "sink")]
NAMES = ("read", "work", "sink")
LATENCY = NodeLatency(
    classes=LatencyClasses(same_node_s=0.001, same_domain_s=0.01, cross_domain_s=0.1)
)


def chain(
    replicas: tuple[int, int, int] = (1, 2, 1), cores: tuple[float, ...] = (1.0, 1.0)
) -> Snapshot:
    counts = dict(zip(NAMES, replicas, strict=True))
    domains = [at % 2 for at in range(len(cores))]
    return cluster(counts, LINKS, cores=cores, domains=domains, latency=LATENCY)


def profiles(offered: float, cpu_s: tuple[float, float, float]) -> dict[str, VertexProfile]:
    made = {name: VertexProfile(cpu_s=each) for name, each in zip(NAMES, cpu_s, strict=True)}
    return {**made, "read": VertexProfile(cpu_s=cpu_s[0], offered_per_s=offered)}


def stage(
    snapshot: Snapshot,
    node: list[int],
    *,
    offered: float = 100.0,
    cpu_s: tuple[float, float, float] = (0.001, 0.002, 0.001),
    selectivity: float = 1.0,
    parameters: Parameters = FREE,
) -> Stage:
    edges = dict.fromkeys(LINKS, EdgeProfile(selectivity=selectivity, tuple_bytes=1000))
    return staged(snapshot, profiles(offered, cpu_s), edges, node=node, parameters=parameters)


@pytest.mark.parametrize("load", [0.2, 0.5, 0.7])
@pytest.mark.parametrize(
    "parameters",
    [
        Parameters(),
        Parameters(service_cv2=0.0),
        Parameters(process_cores=2),
        Parameters(bandwidth_bytes_per_s=2e6),
    ],
)
def test_a_steady_stream_settles_where_the_analytic_mode_says(
    load: float, parameters: Parameters
) -> None:
    snapshot, node = chain((2, 3, 2), (2.0, 1.0, 2.0)), [0, 1, 2, 2, 0, 1, 2]
    edges = dict.fromkeys(LINKS, EdgeProfile(selectivity=0.8, tuple_bytes=1000))
    cpu_s = (0.001, 0.002, 0.001)
    limit = tried(
        snapshot, profiles(1.0, cpu_s), edges, node=node, parameters=parameters
    ).limit_per_s
    offered = load * limit
    analysis = tried(snapshot, profiles(offered, cpu_s), edges, node=node, parameters=parameters)
    one = stage(snapshot, node, offered=offered, selectivity=0.8, parameters=parameters)
    engine = BatchEngine(one)
    engine.advance(offered, 60.0)
    engine.collect()
    engine.advance(offered, 70.0)
    counts = engine.collect()
    assert latency_s(counts) == pytest.approx(analysis.latency_s, rel=0.01)
    assert counts.complete_sum_s / counts.completed == pytest.approx(
        analysis.complete_latency_s, rel=0.01
    )
    assert counts.processed / 10 == pytest.approx(analysis.rate_per_s, rel=1e-3)
    assert counts.cpu_s / 10 == pytest.approx(analysis.cpu_cores, rel=1e-3)
    assert counts.served_s / 10 == pytest.approx(analysis.utilization, rel=0.01)
    assert counts.backlog.sum() == counts.failed == 0


@settings(max_examples=30, deadline=None, derandomize=True)
@given(
    replicas=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    offered=st.floats(1, 3000),
    credit=st.sampled_from([10.0, 1000.0]),
    selectivity=st.floats(0, 3),
    pause_s=st.floats(0, 3),
    seed=st.integers(0, 2**16),
)
def test_no_tuple_is_lost_whatever_happens(
    *,
    replicas: tuple[int, int, int],
    offered: float,
    credit: float,
    selectivity: float,
    pause_s: float,
    seed: int,
) -> None:
    rng = np.random.default_rng(seed)
    snapshot = chain(replicas)
    given = {"selectivity": selectivity, "parameters": replace(FREE, credit_tuples=credit)}
    one = stage(snapshot, rng.integers(0, 2, sum(replicas)).tolist(), **given)  # type: ignore[arg-type]
    engine = BatchEngine(one)
    engine.advance(offered, 2.0)
    other = stage(snapshot, rng.integers(0, 2, sum(replicas)).tolist(), **given)  # type: ignore[arg-type]
    before = engine.collect()
    engine.adopt(other, np.full(sum(replicas), 2.0) + pause_s * rng.integers(0, 2, sum(replicas)))
    engine.advance(offered, 6.0)
    counts = before + engine.collect()
    received = np.bincount(one.workload.targets, weights=counts.sent, minlength=sum(replicas))
    arrived = received + counts.offered
    assert counts.processed + counts.queued + counts.backlog == pytest.approx(arrived, abs=1e-6)
    assert np.all(counts.processed >= 0)
    assert np.all(counts.queued >= -1e-9)


def test_what_waits_for_a_task_that_goes_waits_for_its_siblings() -> None:
    engine = BatchEngine(stage(chain((1, 3, 1)), [0, 0, 1, 1, 1], cpu_s=(0.0001, 0.01, 0.0001)))
    engine.advance(1000.0, 2.0)
    before = engine.collect()
    engine.adopt(stage(chain((1, 1, 1)), [0, 1, 1], cpu_s=(0.0001, 0.01, 0.0001)))
    engine.advance(0.0, 2.2)
    after = engine.collect()
    assert before.queued[1:4].sum() > 100
    assert after.queued[1] + after.processed[1] >= before.queued[1:4].sum()


def test_too_much_fills_the_queues_and_then_waits_outside() -> None:
    parameters = replace(FREE, credit_tuples=100)
    one = stage(
        chain((1, 1, 1), (1.0,) * 3), [0, 1, 2], cpu_s=(0.001, 0.02, 0.001), parameters=parameters
    )
    engine = BatchEngine(one)
    engine.advance(200.0, 20.0)
    counts = engine.collect()
    assert counts.processed[1] / 20 == pytest.approx(50, rel=0.05)
    assert counts.blocked_s[0] > 15
    assert np.all(counts.queued <= 102)
    assert counts.backlog[0] == pytest.approx(20 * 150 - 200, rel=0.05)


def test_a_full_wire_holds_everything_up() -> None:
    parameters = replace(FREE, bandwidth_bytes_per_s=5e4)
    one = stage(chain((1, 1, 1), (9.0,) * 3), [0, 1, 2], parameters=parameters)
    engine = BatchEngine(one)
    engine.advance(100.0, 20.0)
    assert engine.collect().processed[0] / 20 == pytest.approx(50, rel=0.02)


def test_what_takes_too_long_has_failed() -> None:
    one = stage(chain((1, 1, 1), (1.0,) * 3), [0, 1, 2], cpu_s=(0.001, 0.1, 0.001))
    engine = BatchEngine(one, timeout_s=2.0)
    engine.advance(20.0, 20.0)
    counts = engine.collect()
    assert 0 < counts.failed < counts.completed


def test_a_pause_costs_as_much_as_with_single_tuples() -> None:
    snapshot = chain((1, 1, 1), (1.0,) * 3)
    one, moved = stage(snapshot, [0, 1, 2]), stage(snapshot, [0, 2, 2])

    def paused(engine: BatchEngine | EventEngine) -> tuple[float, float]:
        engine.advance(100.0, 5.0)
        engine.collect()
        engine.adopt(moved, np.array([0.0, 8.0, 0.0]))
        engine.advance(100.0, 15.0)
        counts = engine.collect()
        return float(counts.waited_s[1]), latency_s(counts)

    single = [paused(EventEngine(one, np.random.default_rng(seed))) for seed in range(8)]
    waited, latency = np.mean(single, axis=0)
    assert paused(BatchEngine(one)) == pytest.approx((waited, latency), rel=0.15)
