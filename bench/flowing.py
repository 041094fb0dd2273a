"""A program as a fluid: what a scaler would be shown of it while rates and replicas change.

The slowest vertex limits what the sources get through; what they do not get through waits in front
of them. Measurements carry noise. What a task can really do is known here and never shown exactly.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.graph import Edge, Vertex
from thalweg_scheduling.model.limits import Limits
from thalweg_scheduling.model.matrices import DependencyMatrix, Observed, TaskLoad
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

WINDOW_S = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """Vertex 0 is the source; every other vertex has edges from earlier ones."""

    edges: tuple[tuple[int, int], ...]
    selectivity: tuple[float, ...]
    true_rate_per_s: Floats
    """Shape (vertices,): tuples that one task can process."""

    @property
    def gain(self) -> Floats:
        """Shape (vertices,): tuples into each vertex for one tuple of the source."""
        gain = np.zeros(len(self.true_rate_per_s))
        gain[0] = 1.0
        for (source, target), selectivity in sorted(
            zip(self.edges, self.selectivity, strict=True), key=lambda pair: pair[0][0]
        ):
            gain[target] += selectivity * gain[source]
        return gain

    def fewest(self, offered_per_s: float, utilization: float) -> Ints:
        """Shape (vertices,): the least parallelism that is sufficient at this utilisation."""
        needed = offered_per_s * self.gain / (self.true_rate_per_s * utilization)
        return np.maximum(1, np.ceil(needed - 1e-9)).astype(np.int64)


def random_program(seed: int) -> Program:
    """Three to eight vertices that branch and join, unlike in speed by a factor of thirty."""
    rng = np.random.default_rng([seed, 7])
    vertices = int(rng.integers(3, 9))
    edges = [(int(rng.integers(max(0, v - 2), v)), v) for v in range(1, vertices)]
    edges += [(v - 2, v) for v in range(2, vertices) if rng.random() < 0.25]
    edges = sorted(set(edges))
    return Program(
        edges=tuple(edges),
        selectivity=tuple(float(s) for s in rng.choice([0.3, 0.5, 1.0, 2.0, 4.0], len(edges))),
        true_rate_per_s=10 ** rng.uniform(2.0, 3.5, vertices),
    )


class Stream:
    """A program that runs."""

    def __init__(
        self, program: Program, replicas: Ints, *, noise: float, rng: np.random.Generator
    ) -> None:
        """Start with nothing waiting."""
        self.program = program
        self.replicas = np.array(replicas)
        self.waiting = 0.0
        self._noise = noise
        self._rng = rng
        self._through = 0.0
        self._held_up = False

    def run(self, offered_per_s: float, seconds: float) -> None:
        """Let it flow."""
        limit = float(np.min(self.replicas * self.program.true_rate_per_s / self.program.gain))
        there = offered_per_s + self.waiting / seconds
        self._through = min(there, limit)
        self._held_up = there > limit
        self.waiting = max(0.0, self.waiting + (offered_per_s - self._through) * seconds)

    def scale(self, replicas: Mapping[str, int]) -> None:
        """Give vertices other numbers of tasks."""
        for name, number in replicas.items():
            self.replicas[int(name[1:])] = number

    def snapshot(self, now_s: float, limits: Limits, last_scaled_at_s: float | None) -> Snapshot:
        """What can be seen of it, with noise."""
        tasks = int(self.replicas.sum())
        observed = Observed(at_s=now_s, window_s=WINDOW_S, samples=2, coverage=1.0)
        return Snapshot(
            topology="flowing",
            vertices=tuple(
                Vertex(name=f"v{v}", replicas=int(count)) for v, count in enumerate(self.replicas)
            ),
            edges=tuple(Edge(source=a, target=b) for a, b in self.program.edges),
            nodes=("n0",),
            domains=("d0",),
            domain_of=np.zeros(1, dtype=np.int64),
            resources=("cpu",),
            demand=np.zeros((tasks, 1)),
            capacity=np.ones((1, 1)),
            eligible=np.ones((tasks, 1), dtype=np.bool_),
            placement=np.full(tasks, UNPLACED),
            traffic=self._traffic(tasks, observed),
            loads=self._loads(observed),
            limits=limits,
            last_scaled_at_s=last_scaled_at_s,
        )

    def _noisy(self, values: Floats) -> Floats:
        return values * self._rng.uniform(1 - self._noise, 1 + self._noise, len(values))

    def _loads(self, observed: Observed) -> TaskLoad:
        each = self._through * self.program.gain / self.replicas
        busy = np.minimum(1.0, each / self.program.true_rate_per_s)
        first = np.arange(len(self.replicas)) == 0
        held_up = np.where(first & self._held_up, 1 - busy, 0.0)
        waiting = np.where(first, self.waiting / self.replicas, 0.0)
        rates = np.repeat(each, self.replicas)
        unknown = np.full(len(rates), np.nan)
        return TaskLoad(
            cpu_cores=np.repeat(busy, self.replicas),
            memory_bytes=unknown,
            busy_share=np.minimum(1.0, self._noisy(np.repeat(busy, self.replicas))),
            backpressured_share=np.repeat(held_up, self.replicas),
            wait_s=unknown,
            processed_per_s=self._noisy(rates),
            true_rate_per_s=self._noisy(np.repeat(self.program.true_rate_per_s, self.replicas)),
            queue_tuples=np.repeat(waiting, self.replicas),
            observed=observed,
        )

    def _traffic(self, tasks: int, observed: Observed) -> DependencyMatrix:
        """Only the first task of each vertex is seen sending: sums are all that scaling needs."""
        first = np.concatenate(([0], np.cumsum(self.replicas)[:-1]))
        sent = [
            float(np.mean(self._noisy(np.full(self.replicas[source], selectivity * rate))))
            for (source, _), selectivity, rate in zip(
                self.program.edges,
                self.program.selectivity,
                (self._through * self.program.gain[source] for source, _ in self.program.edges),
                strict=True,
            )
        ]
        pairs = {
            (int(first[a]), int(first[b])): (rate, rate)
            for (a, b), rate in zip(self.program.edges, sent, strict=True)
        }
        return DependencyMatrix.from_pairs(tasks, pairs, observed)
