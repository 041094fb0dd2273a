"""Declared workloads that are run tuple by tuple."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate import EdgeProfile, Parameters, VertexProfile
from thalweg_scheduling.simulate.events import EventEngine, event_kernels
from thalweg_scheduling.simulate.stage import Counts, Program, Stage, stage_of
from thalweg_trials import FREE


def staged(
    snapshot: Snapshot,
    vertices: Mapping[str, VertexProfile],
    edges: Mapping[tuple[str, str], EdgeProfile] | None = None,
    *,
    node: Sequence[int],
    process: Sequence[int] | None = None,
    parameters: Parameters = FREE,
) -> Stage:
    """The stage with each task on a node."""
    placed = replace(
        snapshot,
        placement=np.array(node),
        process=None if process is None else np.array(process),
    )
    program = Program(vertices=vertices, edges=edges or {}, parameters=parameters)
    return stage_of(placed, program)


def ran(stage: Stage, *, seconds: float, seed: int = 0, warm_up: float = 0.0) -> Counts:
    """What happened in so many seconds, compiled; what came before is left out."""
    engine = EventEngine(stage, np.random.default_rng(seed), kernels=event_kernels())
    offered = float(stage.workload.offered_per_s.sum())
    if warm_up > 0:
        engine.advance(offered, warm_up)
        engine.collect()
    engine.advance(offered, warm_up + seconds)
    return engine.collect()


def latency_s(counts: Counts) -> float:
    """From source to sink."""
    return counts.latency_sum_s / counts.latencies


def complete_s(counts: Counts) -> float:
    """Until everything was acknowledged."""
    return counts.complete_sum_s / counts.completed
