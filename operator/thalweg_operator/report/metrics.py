"""The operator's own metrics, in a registry of their own rather than the process-wide one."""

import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest

from thalweg_operator.cluster.resources import Resource

_PASS_BUCKETS_S = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
ENGINES = ("spark", "numpy")


class Metrics:
    """What Prometheus may ask of the operator itself. Names are part of the public interface."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self.leader = Gauge(
            "thalweg_operator_leader",
            "1 while this replica leads; alert when the sum is not 1.",
            registry=self.registry,
        )
        self.passes = Counter(
            "thalweg_operator_passes",
            "Passes over the cluster, by how they ended.",
            ["outcome"],
            registry=self.registry,
        )
        self.stage_seconds = Histogram(
            "thalweg_operator_stage_seconds",
            "Time of each stage of a pass.",
            ["stage"],
            buckets=_PASS_BUCKETS_S,
            registry=self.registry,
        )
        self.writes = Counter(
            "thalweg_operator_writes",
            "Writes sent to the API server.",
            ["verb", "resource"],
            registry=self.registry,
        )
        self.errors = Counter(
            "thalweg_operator_errors",
            "Errors, by their kind.",
            ["kind"],
            registry=self.registry,
        )
        self.topologies = Gauge(
            "thalweg_operator_topologies", "Topologies served.", registry=self.registry
        )
        self.tasks_desired = Gauge(
            "thalweg_operator_tasks_desired", "Tasks that should run.", registry=self.registry
        )
        self.tasks_ready = Gauge(
            "thalweg_operator_tasks_ready", "Tasks whose pod is Ready.", registry=self.registry
        )
        self.oldest_unreconciled_seconds = Gauge(
            "thalweg_operator_oldest_unreconciled_seconds",
            "Age of the oldest topology change that no pass has dealt with yet; 0 when none.",
            registry=self.registry,
        )

        self.condensing_engine = self._condensing_engine()

    def _condensing_engine(self) -> Gauge:
        return Gauge(
            "thalweg_operator_condensing_engine",
            "1 for the engine that made the matrices in use: spark, or numpy in its place.",
            ["source", "preset", "engine"],
            registry=self.registry,
        )

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Measure one stage of a pass, also when it fails."""
        start_s = time.perf_counter()
        try:
            yield
        finally:
            self.stage_seconds.labels(name).observe(time.perf_counter() - start_s)

    def condensed_by(self, source: str, preset: str, engine: str) -> None:
        """Say which engine made the matrices that are in use."""
        for one in ENGINES:
            self.condensing_engine.labels(source, preset, one).set(one == engine)

    def count_write(self, verb: str, resource: Resource) -> None:
        """Count one write; given to the client."""
        self.writes.labels(verb, resource.plural).inc()

    def count_error(self, error: BaseException) -> None:
        """Count one error by its class: the tree of errors.py is small and fixed."""
        self.errors.labels(type(error).__name__).inc()

    def text(self) -> bytes:
        """Return everything in Prometheus' text format."""
        return generate_latest(self.registry)
