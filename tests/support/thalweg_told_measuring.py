"""Measurements that a story tells instead of measuring: as fresh and whole as it likes.

The rates follow the topology as it is: what the sources make is dealt out evenly to the tasks that
there are now, so that one more task helps and a move changes what crosses between domains.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.condensing import Reading
from thalweg_operator.judging import Verdict
from thalweg_operator.observe.facts import NodeFact
from thalweg_operator.observe.store import TABLES, Matrices
from thalweg_operator.observe.world import TopologyFacts, World

ZONE = "topology.kubernetes.io/zone"
_SAMPLES = 60


@dataclass(kw_only=True)
class ToldMeasuring:
    """What the loop takes for its measurements."""

    per_s: float = 500.0
    """What each topology's sources make."""
    task_per_s: float = 1000.0
    """What a task could process if it were always busy."""
    same_domain_s: float = 0.0005
    cross_domain_s: float = 0.02
    latency_s: float = math.nan
    """From source to sink."""
    shows_figures: bool = True
    """Whether the status gets figures; they come by the clock, which a crash walk cannot use."""
    _reading: Reading = field(default_factory=Reading)

    def look(self, world: World, tended: Iterable[tuple[TopologyFacts, Verdict]]) -> None:
        """Make the matrices for what is there now."""
        tables: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
        for facts, verdict in tended:
            if verdict.spec is not None:
                self._tell(tables, facts, verdict.spec, world.now_s)
        tables["node_latency"] = self._latencies(list(world.nodes.values()))
        tables["coverage"].append(_seen("node_latency", {}, world.now_s))
        self._reading = Reading(
            matrices=Matrices(
                run="told",
                engine="told",
                observed_at_s=world.now_s if self.shows_figures else math.nan,
                tables=tables,
            )
        )

    def reading(self, _spec: TopologySpec) -> Reading:
        """The same for every topology."""
        return self._reading

    def close(self) -> None:
        """Nothing was started."""

    def _tell(
        self,
        tables: dict[str, list[dict[str, Any]]],
        facts: TopologyFacts,
        spec: TopologySpec,
        now_s: float,
    ) -> None:
        key = {"namespace": facts.namespace, "topology": facts.name}
        counts = {
            vertex.name: int(facts.vertices[vertex.name]["spec"]["replicas"])
            if vertex.name in facts.vertices
            else vertex.replicas.initial
            for vertex in spec.vertices
        }
        for name, count in counts.items():
            tables["task_load"] += [
                {**key, "vertex": name, "task": f"{name}-{index}", **self._load(count)}
                for index in range(count)
            ]
        for edge in spec.edges:
            tables["dependency"] += self._edge(key, edge.source, edge.target, counts)
        tables["tuple_latency"].append(
            {
                **key,
                "p50_s": self.latency_s,
                "mean_s": self.latency_s,
                "throughput_per_s": self.per_s,
            }
        )
        tables["coverage"] += [_seen(one, key, now_s) for one in ("dependency", "task_load")]

    def _load(self, count: int) -> dict[str, float]:
        share = self.per_s / count
        return {
            "cpu_cores": 0.01,
            "memory_bytes": 1e6,
            "busy_share": min(1.0, share / self.task_per_s),
            "backpressured_share": 0.0,
            "wait_s": 0.0001,
            "processed_per_s": share,
            "true_rate_per_s": self.task_per_s,
            "queue_tuples": 0.0,
        }

    def _edge(
        self, key: Mapping[str, str], source: str, target: str, counts: Mapping[str, int]
    ) -> list[dict[str, Any]]:
        rate = self.per_s / (counts[source] * counts[target])
        return [
            {
                **key,
                "source_task": f"{source}-{sender}",
                "target_task": f"{target}-{receiver}",
                "tuples_per_s": rate,
                "recent_tuples_per_s": rate,
                "bytes_per_s": 100 * rate,
            }
            for sender in range(counts[source])
            for receiver in range(counts[target])
        ]

    def _latencies(self, nodes: list[NodeFact]) -> list[dict[str, Any]]:
        return [
            {
                "source_node": one.name,
                "target_node": other.name,
                "latency_s": self.same_domain_s
                if one.labels.get(ZONE) == other.labels.get(ZONE)
                else self.cross_domain_s,
            }
            for one in nodes
            for other in nodes
            if one is not other
        ]


def _seen(matrix: str, key: Mapping[str, str], now_s: float) -> dict[str, Any]:
    return {
        "matrix": matrix,
        "namespace": key.get("namespace", ""),
        "topology": key.get("topology", ""),
        "window_s": 300.0,
        "observed_at_s": now_s,
        "samples": _SAMPLES,
        "coverage": 1.0,
    }
