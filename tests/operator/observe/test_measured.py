"""The matrix store's rows in the order of one topology's tasks and of the nodes."""

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from thalweg_operator.observe.measured import NOTHING_MEASURED, filled, measured_for
from thalweg_operator.observe.store import TABLES, Matrices

NAN = math.nan
KEY = ("shop", "wc")
ROW = {"namespace": "shop", "topology": "wc"}
DOMAINS = {"n1": "a", "n2": "a", "n3": "b"}


def matrices(**tables: list[dict[str, Any]]) -> Matrices:
    found: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
    return Matrices(run="1", engine="numpy", observed_at_s=50.0, tables={**found, **tables})


def test_nothing_measured() -> None:
    assert measured_for(None, KEY, ["read-0"], DOMAINS) is NOTHING_MEASURED
    found = measured_for(matrices(), KEY, ["read-0"], DOMAINS)
    assert (found.traffic, found.loads, found.latency.observed) == (None, None, None)
    assert math.isnan(found.coverage)


def test_rows_of_other_topologies_and_tasks_are_left_out() -> None:
    pair = {"source_task": "read-0", "target_task": "split-0", "bytes_per_s": 1.0}
    rates = {"tuples_per_s": 7.0, "recent_tuples_per_s": 9.0}
    found = measured_for(
        matrices(
            dependency=[
                {**ROW, **pair, **rates},
                {**ROW, **pair, **rates, "target_task": "split-9"},
                {**pair, **rates, "namespace": "shop", "topology": "other"},
            ],
            tuple_latency=[{**ROW, "mean_s": 0.2, "throughput_per_s": 5.0}],
        ),
        KEY,
        ["read-0", "split-0"],
        DOMAINS,
    )
    assert found.traffic is not None
    assert found.recent_traffic is not None
    assert found.traffic.tuples_per_s.tolist() == [7.0]
    assert found.recent_traffic.tuples_per_s.tolist() == [9.0]
    assert (found.latency_s, found.throughput_per_s) == (0.2, 5.0)


def test_of_a_partial_answer_nobody_knows_how_much_is_missing() -> None:
    """Thanos without one of its stores: what there is looks whole, and is not acted on."""
    seen = {**ROW, "window_s": 300, "observed_at_s": 40.0, "samples": 3, "coverage": 1.0}
    load = {**ROW, "task": "read-0", "processed_per_s": 5.0}
    whole = matrices(
        task_load=[load],
        coverage=[{**seen, "matrix": "task_load"}],
        tuple_latency=[{**ROW, "mean_s": 0.2, "throughput_per_s": 5.0}],
    )
    partial = replace(whole, warnings=("store gateway down",), is_partial=True)
    for given, is_whole in ((whole, True), (partial, False)):
        found = measured_for(given, KEY, ["read-0"], DOMAINS)
        assert found.loads is not None
        assert found.loads.observed is not None
        assert found.loads.observed.is_whole(0.9) is is_whole
        assert found.warnings == given.warnings
        assert math.isfinite(found.throughput_per_s) is is_whole, "no plan is judged by it"


def test_which_routes_tasks_follow() -> None:
    rows = [
        {**ROW, "task": "read-0", "routes_version": 7.0},
        {**ROW, "task": "read-1", "routes_version": NAN},
        {**ROW, "task": "read-8", "routes_version": 7.0},
    ]
    found = measured_for(matrices(task_load=rows), KEY, ["read-0", "read-1", "read-2"], DOMAINS)
    assert found.routes_versions == {"read-0": 7}


@pytest.mark.parametrize(
    ("known", "pair", "seconds"),
    [
        pytest.param({(0, 2): 0.02}, (0, 2), 0.02, id="measured"),
        pytest.param({(0, 2): 0.02}, (2, 0), 0.02, id="the way back"),
        pytest.param({(0, 2): 0.02}, (1, 2), 0.02, id="a neighbour's"),
        pytest.param({(0, 2): 0.02, (1, 3): 0.04}, (0, 3), 0.03, id="the mean between domains"),
        pytest.param({(0, 1): 0.001}, (1, 0), 0.001, id="within a domain"),
        pytest.param({(0, 1): 0.001}, (0, 2), NAN, id="no pair between the domains"),
        pytest.param({(0, 2): -1.0}, (0, 2), NAN, id="what is no latency"),
        pytest.param({(0, 1): 0.001}, (1, 1), NAN, id="nobody probes itself"),
    ],
)
def test_unknown_pairs_are_filled_by_what_was_measured_near(
    known: dict[tuple[int, int], float], pair: tuple[int, int], seconds: float
) -> None:
    pairs = np.full((4, 4), NAN)
    for (source, target), value in known.items():
        pairs[source, target] = value
    found = filled(pairs, ["a", "a", "b", "b"])[pair]
    assert found == pytest.approx(seconds, nan_ok=True)


def test_what_is_filled_is_not_called_measured() -> None:
    seen = {"matrix": "node_latency", "window_s": 300, "observed_at_s": 40.0, "samples": 3}
    found = measured_for(
        matrices(
            node_latency=[{"source_node": "n1", "target_node": "n3", "latency_s": 0.02}],
            coverage=[{**seen, "namespace": "", "topology": "", "coverage": 1 / 3}],
        ),
        KEY,
        [],
        DOMAINS,
    )
    assert found.latency.pairs_s is not None
    assert found.latency.pairs_s[1, 2] == 0.02
    assert found.latency.observed is not None
    assert found.latency.observed.coverage == 1 / 3
