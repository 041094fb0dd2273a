"""Programs from measurements, and from nothing."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.matrices import DependencyMatrix, TaskLoad
from thalweg_scheduling.simulate import EdgeProfile, VertexProfile
from thalweg_scheduling.simulate.events import EventEngine
from thalweg_scheduling.simulate.programs import assumed_program, measured_program, refuse_unknown
from thalweg_scheduling.simulate.sampling import MemoryUse, Sight, sampled
from thalweg_scheduling.simulate.stage import Program, stage_of
from thalweg_trials import FREE, cluster, tried

LINKS = [("read", "work"), ("work", "sink")]


def test_what_a_run_shows_is_the_program_that_ran() -> None:
    snapshot = cluster({"read": 2, "work": 3, "sink": 1}, LINKS, cores=[9.0])
    placed = replace(snapshot, placement=np.zeros(6, dtype=np.int64))
    program = Program(
        vertices={
            "read": VertexProfile(cpu_s=0.001, offered_per_s=300),
            "work": VertexProfile(cpu_s=0.002),
            "sink": VertexProfile(cpu_s=0.0005),
        },
        edges={
            ("read", "work"): EdgeProfile(selectivity=1.5, tuple_bytes=200),
            ("work", "sink"): EdgeProfile(selectivity=0.5),
        },
        parameters=FREE,
    )
    stage = stage_of(placed, program)
    engine = EventEngine(stage, np.random.default_rng(1))
    engine.advance(300.0, 20.0)
    clear = Sight(noise=0.0, latency_noise=0.0)
    rng = np.random.default_rng(0)
    seen = sampled(stage, engine.collect(), clear, MemoryUse(), rng, now_s=20.0)
    found = measured_program(seen, FREE)
    refuse_unknown(seen, found)
    for name, profile in program.vertices.items():
        assert found.vertices[name].cpu_s == pytest.approx(profile.cpu_s, rel=0.05)
    assert found.vertices["read"].offered_per_s == pytest.approx(300, rel=0.05)
    assert found.edges["read", "work"].selectivity == pytest.approx(1.5, rel=0.05)
    assert found.edges["read", "work"].tuple_bytes == pytest.approx(200)
    assert found.edges["work", "sink"].selectivity == pytest.approx(0.5, rel=0.05)


def test_a_broadcast_edge_sends_one_to_each() -> None:
    snapshot = cluster(
        {"read": 1, "work": 4}, [("read", "work")],
        groupings={("read", "work"): GroupingType.BROADCAST},
    )  # fmt: skip
    rates = {(0, receiver): (10.0, 1000.0) for receiver in range(1, 5)}
    loads = replace(
        TaskLoad.unknown(5), processed_per_s=np.full(5, 10.0), true_rate_per_s=np.full(5, 100.0)
    )
    measured = replace(snapshot, traffic=DependencyMatrix.from_pairs(5, rates), loads=loads)
    assert measured_program(measured).edges["read", "work"].selectivity == pytest.approx(1.0)


def test_without_measurements_tasks_are_as_busy_as_they_should_be() -> None:
    snapshot = cluster({"read": 2, "work": 3, "sink": 1}, LINKS, cores=[1.0] * 6)
    snapshot = replace(snapshot, demand=np.full((6, 1), 0.5))
    program = assumed_program(snapshot, 600.0, FREE)
    target = snapshot.limits.scaling.target_utilization
    analysis = tried(snapshot, program.vertices, program.edges, node=[0, 1, 2, 3, 4, 5])
    assert analysis.utilization == pytest.approx([target] * 6)
    assert analysis.cpu_cores == pytest.approx([target / 2] * 6)
    assert analysis.offered_per_s == pytest.approx(600)


def test_what_nobody_measured_cannot_be_run() -> None:
    snapshot = cluster({"read": 1, "work": 1}, [("read", "work")])
    with pytest.raises(InvalidSnapshot, match="how long read takes"):
        refuse_unknown(snapshot, measured_program(snapshot))
