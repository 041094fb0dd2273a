"""What the event mode keeps, whatever happens: with interpreted kernels and few tuples."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_runs import latency_s, staged
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile
from thalweg_scheduling.simulate.events import EventEngine, event_kernels
from thalweg_scheduling.simulate.stage import Counts, Stage
from thalweg_trials import cluster

LINKS = [("read", "work"), ("work", "sink")]


def chain(replicas: tuple[int, int, int] = (1, 2, 1), nodes: int = 2) -> Snapshot:
    names = ("read", "work", "sink")
    return cluster(dict(zip(names, replicas, strict=True)), LINKS, cores=[1.0] * nodes)


def stage(
    snapshot: Snapshot,
    node: list[int],
    *,
    offered: float = 100.0,
    cpu_s: tuple[float, float, float] = (0.001, 0.002, 0.001),
    selectivity: float = 1.0,
    parameters: Parameters | None = None,
) -> Stage:
    names = ("read", "work", "sink")
    profiles = {name: VertexProfile(cpu_s=each) for name, each in zip(names, cpu_s, strict=True)}
    profiles["read"] = VertexProfile(cpu_s=cpu_s[0], offered_per_s=offered)
    edges = dict.fromkeys(LINKS, EdgeProfile(selectivity=selectivity))
    return staged(snapshot, profiles, edges, node=node, parameters=parameters or Parameters())


def engine_of(one: Stage, seed: int = 0) -> EventEngine:
    return EventEngine(one, np.random.default_rng(seed))


def drained(engine: EventEngine, at_s: float) -> Counts:
    """Nothing more arrives; what is there gets through."""
    engine.advance(0.0, at_s)
    return engine.collect()


@settings(max_examples=20, deadline=None, derandomize=True)
@given(
    replicas=st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 3)),
    selectivity=st.floats(0, 3),
    credit=st.sampled_from([1.0, 5.0, 1000.0]),
    seed=st.integers(0, 2**16),
)
def test_what_comes_in_goes_through(
    replicas: tuple[int, int, int], selectivity: float, credit: float, seed: int
) -> None:
    snapshot = chain(replicas)
    node = np.random.default_rng(seed).integers(0, 2, sum(replicas)).tolist()
    parameters = Parameters(credit_tuples=credit)
    one = stage(snapshot, node, selectivity=selectivity, parameters=parameters)
    engine = engine_of(one, seed)
    engine.advance(100.0, 1.0)
    counts = engine.collect() + drained(engine, 60.0)
    vertex = snapshot.vertex_of
    received = np.bincount(one.workload.targets, weights=counts.sent, minlength=len(vertex))
    assert counts.queued.sum() == counts.backlog.sum() == 0
    assert counts.completed == counts.offered.sum() == counts.processed[vertex == 0].sum()
    assert counts.processed[vertex > 0].tolist() == received[vertex > 0].tolist()
    assert counts.latencies == counts.processed[vertex == 2].sum()
    assert counts.failed == 0


def test_the_same_seed_gives_the_same_result() -> None:
    def run(seed: int) -> Counts:
        engine = engine_of(stage(chain(), [0, 0, 1, 1]), seed)
        engine.advance(100.0, 5.0)
        return engine.collect()

    assert run(1).latency_sum_s == run(1).latency_sum_s
    assert run(1).latency_sum_s != run(2).latency_sum_s


@pytest.mark.slow
@pytest.mark.parametrize("cv2", [0.0, 0.5, 1.0])
def test_compiled_and_interpreted_kernels_do_the_same(cv2: float) -> None:
    parameters = Parameters(credit_tuples=20, service_cv2=cv2, bandwidth_bytes_per_s=1e5)
    one = stage(chain(), [0, 0, 1, 1], offered=400, selectivity=1.5, parameters=parameters)
    found = []
    for kernels in (None, event_kernels()):
        engine = EventEngine(one, np.random.default_rng(3), kernels=kernels)
        engine.advance(400.0, 5.0)
        found.append(engine.collect())
    for name in ("processed", "waited_s", "served_s", "cpu_s", "sent", "blocked_s"):
        assert getattr(found[0], name) == pytest.approx(getattr(found[1], name), rel=1e-9)


def test_a_full_queue_holds_up_the_sender_and_then_the_source() -> None:
    parameters = Parameters(serialise_s=0, deserialise_s=0, credit_tuples=10)
    one = stage(
        chain((1, 1, 1), nodes=3), [0, 1, 2], cpu_s=(0.001, 0.02, 0.001), parameters=parameters
    )
    engine = engine_of(one)
    engine.advance(200.0, 20.0)
    counts = engine.collect()
    assert counts.processed[0] / 20 == pytest.approx(50, rel=0.1)
    assert counts.blocked_s[0] > 15
    assert np.all(counts.queued <= 11)
    assert counts.backlog[0] == pytest.approx(20 * 150, rel=0.1)
    # Both queues are full, and a tuple waits in each.
    assert latency_s(counts) == pytest.approx(20 * 0.02, rel=0.15)


def test_what_takes_too_long_has_failed() -> None:
    parameters = Parameters(credit_tuples=1000)
    one = stage(
        chain((1, 1, 1), nodes=3), [0, 1, 2], cpu_s=(0.001, 0.1, 0.001), parameters=parameters
    )
    engine = EventEngine(one, np.random.default_rng(0), timeout_s=2.0)
    engine.advance(20.0, 20.0)
    counts = engine.collect()
    assert 0 < counts.failed < counts.completed


def test_a_paused_task_lets_its_queue_grow_and_then_works_it_off() -> None:
    snapshot = chain((1, 1, 1), nodes=3)
    before = stage(snapshot, [0, 1, 2])
    engine = engine_of(before)
    engine.advance(100.0, 2.0)
    engine.collect()
    after = stage(snapshot, [0, 2, 2])
    engine.adopt(after, np.array([0.0, 4.0, 0.0]))
    engine.advance(100.0, 4.0)
    stopped = engine.collect()
    assert stopped.processed[1] == 0
    assert stopped.queued[1] == pytest.approx(200, rel=0.2)
    engine.advance(100.0, 8.0)
    again = engine.collect()
    assert again.processed[1] == pytest.approx(600, rel=0.1)
    assert again.queued[1] < 10


def test_a_task_that_is_taken_away_finishes_what_it_has() -> None:
    small, large = chain((1, 1, 1)), chain((1, 3, 1))
    engine = engine_of(stage(large, [0, 0, 1, 1, 1]))
    engine.advance(300.0, 2.0)
    counts = engine.collect()
    engine.adopt(stage(small, [0, 1, 1]))
    engine.advance(0.0, 20.0)
    rest = engine.collect()
    assert len(rest.processed) == 3
    assert counts.completed + rest.completed == counts.offered.sum()
    engine.adopt(stage(large, [0, 0, 1, 1, 1]))
    engine.advance(300.0, 22.0)
    assert np.all(engine.collect().processed[1:4] > 0)


def test_what_waits_outside_for_a_source_that_goes_waits_for_another() -> None:
    parameters = Parameters(credit_tuples=5)
    given = {"cpu_s": (0.05, 0.001, 0.001), "parameters": parameters}
    engine = engine_of(stage(chain((2, 1, 1)), [0, 1, 0, 1], **given))  # type: ignore[arg-type]
    engine.advance(100.0, 4.0)
    counts = engine.collect()
    engine.adopt(stage(chain((1, 1, 1)), [0, 0, 1], **given))  # type: ignore[arg-type]
    engine.advance(0.0, 60.0)
    assert counts.completed + engine.collect().completed == counts.offered.sum()


def test_broadcast_sends_one_to_each() -> None:
    snapshot = replace(
        chain((1, 3, 1)),
        edges=tuple(
            replace(edge, grouping=GroupingType.BROADCAST) if edge.target == 1 else edge
            for edge in chain().edges
        ),
    )
    engine = engine_of(stage(snapshot, [0, 0, 1, 1, 1]))
    engine.advance(50.0, 2.0)
    counts = engine.collect() + drained(engine, 30.0)
    assert counts.processed[1:4].tolist() == [counts.offered.sum()] * 3
