"""One turn of the loop, by stage: 10 topologies of 50 tasks on 100 nodes.

A control plane of real servers with simulated nodes, a real Prometheus and the simulated data
plane. Three kinds of turns: the first one, which makes every pod; one that finds nothing to do
although it looks at everything; and one in which the load has risen and topologies get plans.
"""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from bench.tables import table
from bench.timing import machine, spread
from thalweg_operator.clock import SystemClock
from thalweg_operator.cluster.client import Client, unguarded
from thalweg_operator.cluster.connection import connect
from thalweg_operator.loop import Loop
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.settings import CondenseSettings, MetricsSource, Settings
from thalweg_testbed import OPERATOR_USER, ControlPlane, eventually
from thalweg_testbed.loopbed import DataBed

CRDS = sorted((Path(__file__).parents[1] / "crds").glob("*.yaml"))
NAMESPACE = "bench"
TOPOLOGIES = 10
TASKS = {"read": 10, "split": 15, "count": 15, "store": 10}
"""50 in all."""
DOMAINS, PER_DOMAIN = 4, 25
RATE_PER_S = 5000
RISE = 3
STEADY_TURNS = 5
STAGES = ("observe", "measure", "decide", "act", "report")
DEADLINE_S = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """What one turn took, and what it wrote."""

    stages_s: Mapping[str, float]
    whole_s: float
    writes: Mapping[str, int]

    @property
    def plans(self) -> int:
        """How many plans it made."""
        return self.writes.get("create streamplans", 0)


@dataclass(kw_only=True)
class Results:
    """All turns that were taken, by kind, and the runs of condensing beside them."""

    first: list[Turn] = field(default_factory=list)
    steady: list[Turn] = field(default_factory=list)
    planning: list[Turn] = field(default_factory=list)
    condense_s: list[float] = field(default_factory=list)


class Bed:
    """Everything but the loop, and the loop in this process, so that its stages can be read."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        """Start the data plane and Prometheus; the loop turns when it is told to."""
        self.plane, self.folder = plane, folder
        self.data = DataBed(plane, folder, rate_per_s=RATE_PER_S, scrape_s=5.0)
        self._metrics = Metrics()
        self._writes: dict[str, int] = {}
        self._loop = Loop(
            client=Client(
                connect(plane.kubeconfig_for(OPERATOR_USER)),
                guard=unguarded,
                count_write=lambda verb, resource: self._count(f"{verb} {resource.plural}"),
            ),
            settings=Settings(
                placement_interval_s=0.0,
                retire_grace_s=1.0,
                metrics_sources={"default": MetricsSource(url=self.data.prometheus.url)},
                # Spark's servers would take the cores that the turns are timed on.
                condense=CondenseSettings(
                    engine="numpy", folder=str(folder / "matrices"), interval_s=5.0
                ),
            ),
            clock=SystemClock(),
            metrics=self._metrics,
        )
        self._loop.prepare()

    def close(self) -> None:
        """End what was started."""
        self._loop.close()
        self.data.close()

    def turn(self) -> Turn:
        """One turn, and what it took."""
        self._writes = {}
        before, began = self._sums(), time.perf_counter()
        self._loop.turn()
        whole_s, after = time.perf_counter() - began, self._sums()
        return Turn(
            stages_s={stage: after[stage] - before[stage] for stage in STAGES},
            whole_s=whole_s,
            writes=self._writes,
        )

    def condense_s(self) -> float:
        """What one run of condensing takes, its process's start included."""
        store = self.folder / "matrices" / "default-thalweg"
        command = [sys.executable, "-m", "thalweg_spark", "condense", "--engine", "numpy"]
        command += ["--source", self.data.prometheus.url, "--preset", "thalweg"]
        command += ["--expect", str(store / "expectation.json"), "--store", str(self.folder / "s")]
        began = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        return time.perf_counter() - began

    def is_measured(self) -> bool:
        """Whether every topology has fresh, whole measurements and all of its tasks."""
        items = self.plane.get("stopo", "-n", NAMESPACE)["items"]
        return all(_holds(item, "MetricsAvailable") and _holds(item, "Ready") for item in items)

    def _count(self, write: str) -> None:
        self._writes[write] = self._writes.get(write, 0) + 1

    def _sums(self) -> dict[str, float]:
        found = dict.fromkeys(STAGES, 0.0)
        for family in self._metrics.stage_seconds.collect():
            for sample in family.samples:
                if sample.name.endswith("_sum"):
                    found[sample.labels["stage"]] = sample.value
        return found


def topology(name: str) -> dict[str, Any]:
    """Four vertices in a row, 50 tasks; each vertex may grow to twice its tasks."""
    requests = {"cpu": "250m", "memory": "256Mi"}
    container = {
        "name": "worker",
        "image": "example.com/w:1",
        "resources": {"requests": requests},
    }
    plays = {"read": 100, "split": 1000, "count": 1000, "store": 100}
    return {
        "apiVersion": "thalweg.dev/v1alpha1",
        "kind": "StreamTopology",
        "metadata": {
            "name": name,
            "namespace": NAMESPACE,
            "annotations": {
                f"simulated.thalweg.dev/{vertex}": json.dumps({"service_us": service_us})
                for vertex, service_us in plays.items()
            },
        },
        "spec": {
            "mode": "Auto",
            "vertices": [
                {
                    "name": vertex,
                    "replicas": {"min": count, "max": 2 * count, "initial": count},
                    "template": {"spec": {"containers": [container]}},
                }
                for vertex, count in TASKS.items()
            ],
            "edges": [{"from": a, "to": b} for a, b in pairwise(TASKS)],
            "scaling": {"cooldownSeconds": 0},
        },
    }


def run(results: Results) -> None:
    """One control plane: a first turn, steady ones, and one that plans."""
    with (
        tempfile.TemporaryDirectory(prefix="thalweg-bench-") as folder,
        ControlPlane(crds=CRDS, report=_quiet) as plane,
    ):
        plane.add_nodes(domains=DOMAINS, per_domain=PER_DOMAIN, cpu="32", memory="128Gi")
        plane.create_namespace(NAMESPACE)
        bed = Bed(plane, Path(folder))
        try:
            plane.apply(*(topology(f"t{number}") for number in range(TOPOLOGIES)))
            results.first.append(bed.turn())
            _until(bed, lambda _: bed.is_measured(), "every topology to be measured")
            _until(bed, lambda turn: not turn.writes, "a turn that finds nothing to do")
            results.steady += [bed.turn() for _ in range(STEADY_TURNS)]
            results.condense_s += [bed.condense_s() for _ in range(3)]
            bed.data.turn("rate", {"factor": RISE})
            results.planning.append(_until(bed, lambda turn: turn.plans > 0, "plans"))
        finally:
            bed.close()


def _until(bed: Bed, check: Callable[[Turn], bool], what: str) -> Turn:
    """Turn until a turn is what is waited for."""

    def turned() -> Turn | None:
        turn = bed.turn()
        return turn if check(turn) else None

    found = eventually(turned, timeout_s=DEADLINE_S, what=what)
    assert found is not None
    return found


def _holds(item: Mapping[str, Any], kind: str) -> bool:
    conditions = item.get("status", {}).get("conditions", ())
    return any((one["type"], one["status"]) == (kind, "True") for one in conditions)


def _quiet(_: str) -> None:
    return None


def told(results: Results) -> str:
    """One line for each kind of turn."""
    kinds: Sequence[tuple[str, Sequence[Turn]]] = (
        ("the first: every pod is made", results.first),
        ("nothing to do", results.steady),
        ("the load has risen: plans are made", results.planning),
    )
    rows = [
        (
            name,
            *(spread([turn.stages_s[stage] for turn in turns]) for stage in STAGES),
            spread([turn.whole_s for turn in turns]),
            spread([sum(turn.writes.values()) for turn in turns], digits=4),
        )
        for name, turns in kinds
    ]
    return table(("turn", *(f"{stage}, s" for stage in STAGES), "whole, s", "writes"), rows)


def main() -> None:
    """One control plane: least / median / most where there is more than one turn."""
    print(machine(), flush=True)
    results = Results()
    run(results)
    print(f"\n{told(results)}")
    made = [turn.plans for turn in results.planning]
    print(f"\nPlans made in that last turn: {made}.")
    print(f"Condensing, beside the turns, in a process of its own: {spread(results.condense_s)} s.")
