"""Spark and numpy say the same of any series, however pods and scrapes came and went."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import Tables, Windows, condense
from thalweg_spark.job import tables_of
from thalweg_spark.steps.series import SERIES_ARROW, SERIES_DDL, batches

pytestmark = pytest.mark.spark

AT_S = 1_700_000_000.0
COUNTERS = ("processed", "busy", "backpressured", "wait", "cpu")
GAUGES = (
    "memory",
    "queue",
    "busy_share",
    "backpressured_share",
    "sent",
    "task_info",
    "routes_version",
)
OF_PODS = ("pod_cpu", "pod_memory", "pod_receive", "pod_transmit")
OF_NODES = ("node_cpu", "node_memory", "node_receive", "node_io", "node_bandwidth")
BOUNDS = ("0.005", "0.05", "0.5", "5.0", "+Inf", "what", "NaN")


def times(rng: np.random.Generator) -> np.ndarray[Any, Any]:
    """Scrapes at some pace, with jitter, some missed, some twice."""
    pace_s = rng.choice([1.0, 5.0, 15.0])
    begun = AT_S - rng.uniform(10, 320)
    until = AT_S - rng.choice([0.0, rng.uniform(0, 60)])
    found = np.arange(begun, until, pace_s)
    found = found[rng.random(found.size) > 0.2] + rng.choice([0.0, 0.3]) * rng.random()
    return np.round(np.concatenate([found, found[: rng.integers(0, 3)]]), 3)


def counter(rng: np.random.Generator) -> list[tuple[float, float]]:
    """A counter with resets, NaN, Inf and sentinels; eighths add up exactly in any order."""
    found = times(rng)
    rises = rng.integers(0, 4000, found.size) / 8
    values = np.cumsum(rises)
    for reset in rng.integers(0, max(1, found.size), rng.integers(0, 3)):
        values[reset:] -= values[reset] if found.size else 0
    values = np.where(rng.random(found.size) < 0.03, rng.choice([math.nan, math.inf, -1.0]), values)
    order = rng.permutation(found.size)
    return [(float(found[one]), float(values[one])) for one in order]


class World:
    """A few topologies in a namespace of their own, whose tasks have had several pods each."""

    def __init__(self, seed: int, pulled: dict[str, list[Series]]) -> None:
        self.rng = np.random.default_rng(seed)
        self.pulled = pulled
        self.namespace = f"n{seed}"
        for topology in ("wc", "other")[: self.rng.integers(1, 3)]:
            for task in range(self.rng.integers(1, 5)):
                for incarnation in range(self.rng.integers(1, 4)):
                    self.add_pod(topology, f"split-{task}", incarnation)
        self.add_nodes(seed)

    def add_nodes(self, seed: int) -> None:
        for source in ("a", "b", "c"):
            for other in ("a", "b", "c"):
                ends = {"source_node": f"{source}{seed}", "target_node": f"{other}{seed}"}
                self.put("rtt", **ends)
                for fact in ("rtt_sum", "rtt_count"):
                    self.put(fact, source_node=f"{source}{seed}", target_node=f"10.{seed}.{other}")
            self.put("node_address", node=f"{source}{seed}", address=f"10.{seed}.{source}")
            for fact in OF_NODES:
                for device in ("x", "y"):
                    self.put(fact, node=f"{source}{seed}", device=device)

    def put(self, fact: str, **labels: str) -> None:
        found = clean_series(labels, counter(self.rng))
        if found is not None:
            self.pulled.setdefault(fact, []).append(found)

    def add_pod(self, topology: str, task: str, incarnation: int) -> None:
        own = {
            "namespace": self.namespace,
            "topology": topology,
            "vertex": "split" if self.rng.random() < 0.95 else "",
            "task": task,
            "pod": f"{topology}-{task}-{incarnation}",
            "node": self.rng.choice(["a", "b", ""]) + self.namespace,
        }
        if self.rng.random() < 0.2:
            own["node"] = ""
            self.put("pod_info", namespace=self.namespace, pod=own["pod"], node="elsewhere")
        thread = f"{own['pod']}-thread-{self.rng.integers(0, 2)}"
        self.put("thread_share", **own, thread=thread)
        self.put("thread_busy", namespace=self.namespace, thread=thread)
        for fact in OF_PODS:
            self.put(fact, namespace=self.namespace, pod=own["pod"], container="main")
        for fact in (*COUNTERS, *GAUGES):
            if self.rng.random() < 0.9:
                self.put(fact, **own)
        for target in range(self.rng.integers(0, 3)):
            edge = {**own, "to_vertex": "split", "to_task": f"split-{target}"}
            for fact in ("tuples", "bytes"):
                self.put(fact, **edge)
        for bound in BOUNDS[: self.rng.integers(3, 8)]:
            self.put("latency", **own, le=bound)
            self.put("complete", **own, le=bound)
        self.put("latency_sum", **own)


def by_spark(session: SparkSession, pulled: dict[str, list[Series]]) -> Tables:
    """What the steps make of the same series, each cut in two chunks that come in any order."""
    rng = np.random.default_rng(len(pulled))
    rows = [
        (fact, Series(labels=one.labels, times_s=one.times_s[part], values=one.values[part]))
        for fact, series in pulled.items()
        for one in series
        for part in (slice(0, one.times_s.size // 2 + 1), slice(one.times_s.size // 2, None))
    ]
    shuffled = [rows[int(index)] for index in rng.permutation(len(rows))]
    table = pa.Table.from_batches(batches(shuffled, AT_S), schema=SERIES_ARROW)
    # createDataFrame takes no Arrow table without batches.
    read = session.createDataFrame(table if rows else [], schema=SERIES_DDL)
    return tables_of(read, None, at_s=AT_S, windows=Windows())


def assert_same(ours: Tables, theirs: Tables) -> None:
    assert ours.keys() == theirs.keys()
    for name, rows in ours.items():
        assert len(rows) == len(theirs[name]), name
        for one, other in zip(rows, theirs[name], strict=True):
            numbers = {key: value for key, value in one.items() if isinstance(value, float)}
            words = {key: value for key, value in one.items() if key not in numbers}
            assert words == {key: other[key] for key in words}, name
            for key, value in numbers.items():
                assert other[key] == pytest.approx(value, rel=1e-9, abs=1e-12, nan_ok=True), (
                    name,
                    key,
                    words,
                )


@pytest.mark.parametrize("first", [0, 1000, 2000])
def test_same_tables(session: SparkSession, first: int) -> None:
    """Twenty worlds beside one another: a pass of Spark's costs seconds whatever is in it."""
    pulled: dict[str, list[Series]] = {}
    for seed in range(first, first + 20):
        World(seed, pulled)
    expected = condense(pulled, None, at_s=AT_S, windows=Windows())
    assert all(len(rows) > 10 for rows in expected.values())
    assert_same(expected, by_spark(session, pulled))


def test_nothing_gives_nothing(session: SparkSession) -> None:
    found = by_spark(session, {})
    assert {name: len(rows) for name, rows in found.items() if rows} == {"coverage": 2}
