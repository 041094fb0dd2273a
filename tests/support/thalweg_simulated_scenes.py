"""Scenes for the simulated data plane: API objects of a word count, changed pod by pod."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from prometheus_client.parser import text_string_to_metric_families

from thalweg_runtime.simulated.exposition import Exposition
from thalweg_runtime.simulated.facts import World
from thalweg_runtime.simulated.offering import parse_profile
from thalweg_runtime.simulated.parsing import ZONE_LABEL, world_of
from thalweg_runtime.simulated.simulation import Play, Simulation

NAMESPACE = "plays"
TRAITS: Mapping[str, Mapping[str, float]] = {
    "read": {"service_us": 50, "bytes": 200},
    "split": {"service_us": 100, "selectivity": 3, "bytes": 60},
    "count": {"service_us": 50},
}


@dataclass(kw_only=True)
class Scene:
    """A cluster in API objects; what is changed is seen at the next `see`."""

    name: str = "words"
    domains: str = "ab"
    nodes_each: int = 2
    traits: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: dict(TRAITS))
    edges: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"from": "read", "to": "split"},
            {"from": "split", "to": "count", "grouping": {"type": "Fields", "keys": ["word"]}},
        ]
    )
    pods: dict[str, dict[str, Any]] = field(default_factory=dict)
    routes: list[dict[str, Any]] = field(default_factory=list)

    def put(self, task: str, node: str, incarnation: int = 0) -> str:
        """A pod that works on a task; returns its name."""
        vertex, _, index = task.rpartition("-")
        name = f"{self.name}-{task}-{incarnation}"
        self.pods[name] = {
            "metadata": {
                "name": name,
                "namespace": NAMESPACE,
                "uid": f"uid-{name}",
                "labels": {
                    "thalweg.dev/topology": self.name,
                    "thalweg.dev/vertex": vertex,
                    "thalweg.dev/task": index,
                    "thalweg.dev/incarnation": str(incarnation),
                    "thalweg.dev/state": "active",
                },
            },
            "spec": {"nodeName": node},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]},
        }
        return name

    def put_all(self, node: str, **tasks: int) -> None:
        """So many tasks of each vertex on one node."""
        for vertex, count in tasks.items():
            for index in range(count):
                self.put(f"{vertex}-{index}", node)

    def route(self, vertex: str, to: str, *tasks: Mapping[str, Any], version: int = 1) -> None:
        """The routes of a vertex, as the operator writes them."""
        document = {
            "version": version,
            "topology": self.name,
            "vertex": vertex,
            "edges": [{"to": to, "grouping": {"type": "Shuffle"}, "tasks": list(tasks)}],
        }
        self.routes.append(
            {
                "metadata": {
                    "name": f"{self.name}-{vertex}-routes",
                    "namespace": NAMESPACE,
                    "labels": {"thalweg.dev/topology": self.name},
                },
                "data": {"routes.json": json.dumps(document)},
            }
        )

    def topology(self) -> dict[str, Any]:
        """The StreamTopology."""
        return {
            "metadata": {
                "name": self.name,
                "namespace": NAMESPACE,
                "annotations": {
                    f"simulated.thalweg.dev/{vertex}": json.dumps(traits)
                    for vertex, traits in self.traits.items()
                },
            },
            "spec": {
                "vertices": [{"name": name} for name in ("read", "split", "count")],
                "edges": self.edges,
            },
        }

    def nodes(self) -> list[dict[str, Any]]:
        """Nodes `a-0`, `a-1`, `b-0`, … of four cores."""
        return [
            {
                "metadata": {"name": f"{domain}-{number}", "labels": {ZONE_LABEL: domain}},
                "status": {"allocatable": {"cpu": "4"}},
            }
            for domain in self.domains
            for number in range(self.nodes_each)
        ]

    def world(self) -> World:
        """All of it, parsed."""
        return world_of(
            topologies=[self.topology()],
            pods=list(self.pods.values()),
            config_maps=self.routes,
            nodes=self.nodes(),
        )


def word_count(node: str = "a-0") -> Scene:
    """Two readers, two splitters and two counters on one node."""
    scene = Scene()
    scene.put_all(node, read=2, split=2, count=2)
    return scene


def simulation_of(scene: Scene, *, profile: str = "1000", seed: int = 7) -> Simulation:
    """A simulation that has just seen a scene."""
    simulation = Simulation(seed=seed, profile=parse_profile(profile), domain_label=ZONE_LABEL)
    simulation.see(scene.world())
    return simulation


def play_of(simulation: Simulation, name: str = "words") -> Play:
    """The one topology's play."""
    return simulation.plays[NAMESPACE, name]


def advance(simulation: Simulation, ticks: int) -> None:
    """Let seconds pass."""
    for _ in range(ticks):
        simulation.advance(1.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One line of an exposition."""

    name: str
    labels: Mapping[str, str]
    value: float


def samples_of(text: str) -> Iterator[Sample]:
    """Every line, by the parser that Prometheus' own client has."""
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            yield Sample(name=sample.name, labels=sample.labels, value=sample.value)


def scraped(source: Simulation | str) -> Sequence[Sample]:
    """What a scrape would see."""
    return list(samples_of(source if isinstance(source, str) else Exposition(source).text()))


def total(samples: Sequence[Sample], name: str, **labels: str) -> float:
    """The sum over all series of a name with these labels."""
    wanted = labels.items()
    return sum(s.value for s in samples if s.name == name and wanted <= s.labels.items())
