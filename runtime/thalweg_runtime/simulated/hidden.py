"""What the data plane knows and the planner does not: drawn from a seed, the same for each name."""

import zlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.simulate import Parameters

KEY_GROUPS = 1024

_MICRO = 1e-6
_TASK_SPREAD = 0.08
_NODE_SPREAD = 0.05
_TICK_SPREAD = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class Traits:
    """What a vertex does to one tuple."""

    cpu_s: float
    held_s: float
    selectivity: float
    """Tuples out for one in, on every out-edge."""
    tuple_bytes: float
    memory_bytes: float
    skew: float
    """0 where keys are about equally frequent; 1 is Zipf's law."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """Everything drawn from one seed."""

    seed: int

    def generator(self, *names: str) -> np.random.Generator:
        """A generator of its own for whatever has this name."""
        return np.random.default_rng([self.seed, *(zlib.crc32(name.encode()) for name in names)])

    def traits(self, topology: str, vertex: str, declared: Mapping[str, float]) -> Traits:
        """What is declared of a vertex, and drawn where nothing is."""
        draw = self.generator("traits", topology, vertex)
        service_us = draw.uniform(60.0, 240.0)
        tuple_bytes = draw.uniform(80.0, 400.0)
        memory_bytes = draw.uniform(60e6, 180e6)
        return Traits(
            cpu_s=_MICRO * declared.get("service_us", service_us),
            held_s=_MICRO * declared.get("held_us", 0.0),
            selectivity=declared.get("selectivity", 1.0),
            tuple_bytes=declared.get("bytes", tuple_bytes),
            memory_bytes=memory_bytes,
            skew=declared.get("skew", 0.0),
        )

    def task_factor(self, topology: str, task: str) -> float:
        """How much longer than its vertex's mean a task takes."""
        return self._factor(_TASK_SPREAD, "task", topology, task)

    def node_factor(self, node: str) -> float:
        """How much longer everything takes on a node."""
        return self._factor(_NODE_SPREAD, "node", node)

    def parameters(self) -> Parameters:
        """Overheads and shapes of this data plane; the predictor believes in its defaults."""
        draw = self.generator("parameters")
        return Parameters(
            serialise_s=_MICRO * draw.uniform(8.0, 25.0),
            deserialise_s=_MICRO * draw.uniform(8.0, 25.0),
            process_overhead_cores=draw.uniform(0.002, 0.01),
            node_overhead_cores=draw.uniform(0.02, 0.06),
            arrival_cv2=draw.uniform(0.8, 1.6),
            service_cv2=draw.uniform(0.5, 1.4),
            bandwidth_bytes_per_s=125e6,
        )

    def popularity(self, topology: str, vertex: str, skew: float) -> Floats:
        """Shape (key groups,): which share of the stream into a vertex has a key of each group."""
        draw = self.generator("keys", topology, vertex)
        weight = draw.lognormal(0.0, 0.3, KEY_GROUPS)
        ranks = np.array(1.0 + draw.permutation(KEY_GROUPS), dtype=np.float64)
        weight = weight / ranks**skew
        share: Floats = weight / weight.sum()
        return share

    def _factor(self, spread: float, *names: str) -> float:
        return float(np.exp(self.generator(*names).normal(0.0, spread)))


def noise(draw: np.random.Generator, count: int) -> Floats:
    """Shape (count,): factors around 1 for one tick."""
    factors: Floats = np.maximum(0.5, 1.0 + _TICK_SPREAD * draw.standard_normal(count))
    return factors
