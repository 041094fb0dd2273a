"""Spark and numpy say the same of any series, however pods and scrapes came and went."""

import math
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from thalweg_fake_prometheus import FakePrometheus, fake_prometheus
from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.condense.figures import KEY_LABELS
from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import NumpyEngine, Request, Tables, Windows, condense
from thalweg_spark.job import SparkEngine, tables_of
from thalweg_spark.pull.presets import Preset
from thalweg_spark.pull.prometheus import Source
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


class Served:
    """A few worlds behind a server: some of it told twice, some by pods that lie."""

    def __init__(self, server: FakePrometheus, first: int) -> None:
        rng = np.random.default_rng(first)
        pulled: dict[str, list[Series]] = {}
        for seed in range(first, first + 6):
            World(seed, pulled)
        for fact, series in pulled.items():
            server.series[fact] = []
            for number, one in enumerate(series):
                self.tell(server, fact, one, job="a")
                if number % 5 == 0:
                    kept = np.flatnonzero(rng.random(one.times_s.size) < 0.7)
                    later = Series(
                        labels=one.labels,
                        times_s=one.times_s[kept] + rng.uniform(0.01, 0.2),
                        values=one.values[kept],
                    )
                    self.tell(server, fact, later, job="b", prometheus_replica="1")
        self.source = Source(url=server.url)
        self.preset = Preset(
            name="all",
            queries={fact: fact for fact in pulled},
            labels={label: label for label in (*KEY_LABELS, "pod", "to_vertex", "le")},
        )
        self.expectation = parse_expectation(self.expected(pulled, rng))

    def tell(self, server: FakePrometheus, fact: str, one: Series, **more: str) -> None:
        samples = zip(one.times_s.tolist(), map(repr, one.values.tolist()), strict=True)
        server.series[fact].append(({**one.labels, **more}, list(samples)))

    def expected(self, pulled: dict[str, list[Series]], rng: np.random.Generator) -> Any:
        """Of two pods in three Kubernetes knows, of some of them better than they say."""
        topologies: dict[tuple[str, str], dict[str, dict[str, Any]]] = {}
        for one in pulled["processed"]:
            said = one.labels
            topology = "another" if rng.random() < 0.1 else said["topology"]
            task = {"name": said["task"], "pod": said["pod"], "node": "told", "since_s": 0.0}
            if rng.random() < 0.67:
                topologies.setdefault((said["namespace"], topology), {})[said["pod"]] = task
        edges = [{"from": "split", "to": "split"}]
        return {
            "topologies": [
                {
                    "namespace": namespace,
                    "name": name,
                    "vertices": [{"name": "split", "tasks": list(tasks.values())}],
                    "edges": edges,
                }
                for (namespace, name), tasks in topologies.items()
            ],
            "nodes": ["a0", "b0", "c0", "a1"],
        }


@pytest.mark.parametrize("placement_s", [300.0, 7300.0], ids=["in one piece", "joined"])
def test_same_tables_of_what_a_server_tells(session: SparkSession, placement_s: float) -> None:
    """Queries, twins and pods that lie included; the longer window comes in three pieces."""
    with fake_prometheus() as server:
        served = Served(server, 3000)
        request = Request(
            source=served.source,
            preset=served.preset,
            expectation=served.expectation,
            store="/nowhere",
            at_s=AT_S,
            windows=Windows(placement_s=placement_s),
        )
        ours, theirs = NumpyEngine().find(request), SparkEngine(session).find(request)
        asked = {query["time"] for query in server.asked if query["query"].startswith("tuples[")}
    assert len(asked) == (3 if placement_s > 3600 else 1)
    assert all(len(rows) > 3 for rows in ours.tables.values())
    shares = [row["coverage"] for row in ours.tables["coverage"]]
    assert any(0 < share < 1 for share in shares)
    assert_same(ours.tables, theirs.tables)


def test_nothing_gives_nothing(session: SparkSession) -> None:
    found = by_spark(session, {})
    assert {name: len(rows) for name, rows in found.items() if rows} == {"coverage": 2}
