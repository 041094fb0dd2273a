"""A real Prometheus with a known history: matrices say what is true, or that it is unknown."""

import math
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from thalweg_known_history import Truth, known_history
from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.engine import Engine, NumpyEngine, Request, Tables, Windows
from thalweg_spark.job import SparkEngine
from thalweg_spark.pull.presets import load_preset
from thalweg_spark.pull.prometheus import Source
from thalweg_testbed.prometheus import PrometheusServer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


class Past:
    """A server with a history, and what is true of it."""

    def __init__(self, folder: Path, *, faults: bool) -> None:
        # Blocks hold two hours; a past that has ended is read from blocks alone.
        self.text, self.truth = known_history(float(int(time.time()) - 3600), faults=faults)
        self.server = PrometheusServer(folder, {}, history=self.text)
        self.tolerance = 0.03 if faults else 0.01


@pytest.fixture(scope="module", params=[False, True], ids=["whole", "with faults"])
def past(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Past]:
    made = Past(tmp_path_factory.mktemp("past"), faults=request.param)
    yield made
    made.server.close()


@pytest.fixture(params=["numpy", "spark"])
def tables(request: pytest.FixtureRequest, past: Past, session: "SparkSession") -> Tables:
    engine: Engine = NumpyEngine() if request.param == "numpy" else SparkEngine(session)
    found = engine.find(
        Request(
            source=Source(url=past.server.url),
            preset=load_preset("thalweg"),
            expectation=parse_expectation(past.truth.expectation()),
            store=Path("/nowhere"),
            at_s=past.truth.at_s,
            windows=Windows(),
        )
    )
    assert found.warnings == ()
    return found.tables


def assert_right(found: Mapping[Any, float], true: Mapping[Any, float], tolerance: float) -> None:
    """Right within the tolerance or unknown; unknown is the exception, and nothing is made up."""
    assert found.keys() <= true.keys()
    unknown = {key for key in true if math.isnan(found.get(key, math.nan))}
    assert len(unknown) <= 0.1 * len(true), unknown
    known = {key: value for key, value in true.items() if key not in unknown}
    assert {key: found[key] for key in known} == pytest.approx(known, rel=tolerance)


def test_matrices_are_true(past: Past, tables: Tables) -> None:
    truth: Truth = past.truth
    traffic = {(row["source_task"], row["target_task"]): row for row in tables["dependency"]}
    for column, factor in (
        ("tuples_per_s", 1.0),
        ("recent_tuples_per_s", 1.0),
        ("bytes_per_s", 120.0),
    ):
        assert_right(
            {pair: row[column] for pair, row in traffic.items()},
            {pair: rate * factor for pair, rate in truth.edges_per_s.items()},
            past.tolerance,
        )
    loads = {row["task"]: row for row in tables["task_load"]}
    for column in next(iter(truth.loads.values())):
        assert_right(
            {task: row[column] for task, row in loads.items()},
            {task: load[column] for task, load in truth.loads.items()},
            past.tolerance,
        )
    assert_right(
        {
            (row["source_node"], row["target_node"]): row["latency_s"]
            for row in tables["node_latency"]
        },
        dict(truth.latency_s),
        past.tolerance,
    )
    nodes = {row["node"]: row for row in tables["node_capacity"]}
    for column in next(iter(truth.nodes.values())):
        assert_right(
            {node: row[column] for node, row in nodes.items()},
            {node: load[column] for node, load in truth.nodes.items()},
            past.tolerance,
        )
    between = truth.node_traffic()
    found = {(row["source_node"], row["target_node"]): row for row in tables["node_traffic"]}
    assert found.keys() == between.keys(), "a task that moved is counted where it was"
    for column, factor in (("tuples_per_s", 1.0), ("bytes_per_s", 120.0)):
        seen = {pair: row[column] / factor for pair, row in found.items()}
        assert seen == pytest.approx(between, rel=past.tolerance)
    (figures,) = tables["tuple_latency"]
    assert figures["mean_s"] == pytest.approx(0.0275, rel=past.tolerance)
    assert figures["p50_s"] == pytest.approx(0.02, rel=past.tolerance)
    shares = {row["matrix"]: row["coverage"] for row in tables["coverage"]}
    assert shares == dict.fromkeys(
        ("dependency", "task_load", "node_latency", "node_capacity"), 1.0
    )
