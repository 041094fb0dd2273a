"""Which metrics source measures which topology, and what it has found so far."""

from collections.abc import Iterable
from pathlib import Path
from typing import Protocol

from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.clock import Clock
from thalweg_operator.condensing import Condenser, Reading
from thalweg_operator.judging import Verdict
from thalweg_operator.observe.expectation import expected, expected_topology
from thalweg_operator.observe.world import TopologyFacts, World
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.resident import Resident
from thalweg_operator.settings import Settings

Key = tuple[str, str]
"""Source and preset, by the names that topologies use."""


class Measures(Protocol):
    """Where the loop gets its measurements from."""

    def look(self, world: World, tended: Iterable[tuple[TopologyFacts, Verdict]]) -> None:
        """Let measuring go on, knowing what ought to be there; never waits."""
        ...

    def reading(self, spec: TopologySpec) -> Reading | None:
        """What was found for a topology; None where nothing measures it."""
        ...

    def close(self) -> None:
        """End what was started."""
        ...


class Measuring:
    """One condenser for each source and preset that a topology names, and one Spark for all."""

    def __init__(self, settings: Settings, clock: Clock, metrics: Metrics | None = None) -> None:
        """Start nothing yet."""
        self._settings = settings
        self._clock = clock
        self._metrics = metrics
        self._resident: Resident | None = None
        self._condensers: dict[Key, Condenser] = {}
        self._readings: dict[Key, Reading] = {}

    def look(self, world: World, tended: Iterable[tuple[TopologyFacts, Verdict]]) -> None:
        """Let every condenser go on, knowing what ought to be there."""
        wanted: dict[Key, list[dict[str, object]]] = {}
        for facts, verdict in tended:
            spec = verdict.spec
            if spec is None or spec.metrics.source not in self._settings.metrics_sources:
                continue
            topology = expected_topology(facts.namespace, facts.name, spec, facts.pods)
            wanted.setdefault(_key(spec), []).append(topology)
        for key, topologies in wanted.items():
            document = expected(topologies, world.nodes.values())
            self._readings[key] = self._condenser(key).tick(document)
            self._count(key, self._readings[key])

    def _count(self, key: Key, reading: Reading) -> None:
        if self._metrics is not None and reading.matrices is not None:
            self._metrics.condensed_by(*key, reading.matrices.engine)

    def reading(self, spec: TopologySpec) -> Reading | None:
        """What was found for a topology; None where its source is not in the settings."""
        return self._readings.get(_key(spec))

    def close(self) -> None:
        """End the children."""
        for condenser in self._condensers.values():
            condenser.close()
        if self._resident is not None:
            self._resident.close()

    def _condenser(self, key: Key) -> Condenser:
        if key not in self._condensers:
            source, preset = key
            condense = self._settings.condense
            if self._resident is None and condense.engine == "spark":
                self._resident = Resident(condense, Path(condense.folder) / "spark", self._clock)
            self._condensers[key] = Condenser(
                source=self._settings.metrics_sources[source],
                preset=preset,
                settings=condense,
                folder=Path(condense.folder) / f"{source}-{preset}",
                clock=self._clock,
                resident=self._resident,
            )
        return self._condensers[key]


def _key(spec: TopologySpec) -> Key:
    return spec.metrics.source, spec.metrics.preset
