"""Series become tables; what was not measured stays unknown."""

import math
from typing import Any

import numpy as np
import pytest

from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.condense.figures import is_ours, latest
from thalweg_spark.condense.quantiles import histogram_quantile
from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import Windows, condense
from thalweg_spark.errors import InvalidInput
from thalweg_spark.pull.presets import load_preset, parse_preset

FOREIGN = {"x-abc": (1, 1, 1), "x-def": (2, 2)}
SPLIT = {"namespace": "n", "topology": "wc", "vertex": "split", "task": "split-0", "pod": "p"}


def counter(labels: dict[str, str], rate: float, *, until_s: float = 30.0) -> Series:
    times = np.arange(until_s - 20, until_s + 1)
    found = clean_series(labels, [(float(at), rate * at) for at in times])
    assert found is not None
    return found


def gauge(labels: dict[str, str], *values: float, until_s: float = 30.0) -> Series:
    begin = until_s - len(values) + 1
    found = clean_series(labels, [(begin + at, value) for at, value in enumerate(values)])
    assert found is not None
    return found


def tables(pulled: dict[str, list[Series]], expectation: Any = None) -> dict[str, Any]:
    parsed = None if expectation is None else parse_expectation(expectation)
    return condense(pulled, parsed, at_s=30.0, windows=Windows())


def test_loads() -> None:
    pulled = {
        "processed": [counter(SPLIT, 200)],
        "busy": [counter(SPLIT, 0.5)],
        "wait": [counter(SPLIT, 2.0)],
        "backpressured": [counter(SPLIT, 0.1)],
        "cpu": [counter(SPLIT, 0.4)],
        "queue": [gauge(SPLIT, 3, 4, 5)],
    }
    (row,) = tables(pulled)["task_load"]
    assert row["processed_per_s"] == pytest.approx(200)
    assert row["busy_share"] == pytest.approx(0.5)
    assert row["true_rate_per_s"] == pytest.approx(400)
    assert row["wait_s"] == pytest.approx(0.01)
    assert row["backpressured_share"] == pytest.approx(0.1)
    assert row["cpu_cores"] == pytest.approx(0.4)
    assert row["queue_tuples"] == 5
    assert math.isnan(row["memory_bytes"])


def test_an_idle_task_has_no_known_true_rate() -> None:
    (row,) = tables({"processed": [counter(SPLIT, 0)], "busy": [counter(SPLIT, 0)]})["task_load"]
    assert row["processed_per_s"] == 0
    assert math.isnan(row["true_rate_per_s"])


def test_series_without_our_labels_are_not_ours() -> None:
    assert tables({"processed": [counter({"pod": "x"}, 1)]})["task_load"] == []


def test_the_reading_of_a_pod_that_is_gone_does_not_count() -> None:
    old = gauge({"pod": "a"}, 7, 7, 7, until_s=20)
    new = gauge({"pod": "b"}, 1, 2, 3, until_s=30)
    assert latest([old, new]) == 3
    assert math.isnan(latest([]))


def test_routes_are_those_of_the_pod_that_was_made_last() -> None:
    old = gauge({**SPLIT, "pod": "wc-split-0-9"}, 6, 6, 6)
    new = gauge({**SPLIT, "pod": "wc-split-0-10"}, 4, 5)
    gone = gauge({**SPLIT, "pod": "wc-split-0-11"}, 7, 7, 7, until_s=20)
    (row,) = tables({"routes_version": [new, old, gone]})["task_load"]
    assert row["routes_version"] == 5
    assert math.isnan(row["processed_per_s"])
    foreign = [gauge({**SPLIT, "pod": name}, *values) for name, values in FOREIGN.items()]
    (row,) = tables({"routes_version": foreign})["task_load"]
    assert row["routes_version"] == 2, "without a number the one that came last"
    (row,) = tables({"processed": [counter(SPLIT, 1)]})["task_load"]
    assert math.isnan(row["routes_version"]), "unknown is no version"


def test_mean_latency_is_the_sum_over_the_count() -> None:
    sinks = [counter({**SPLIT, "le": bound}, rate) for bound, rate in (("1", 5), ("+Inf", 20))]
    found = tables({"latency": sinks, "latency_sum": [counter(SPLIT, 5)]})
    assert found["tuple_latency"][0]["mean_s"] == pytest.approx(0.25)
    (row,) = tables({"latency": sinks})["tuple_latency"]
    assert math.isnan(row["mean_s"]), "without a sum the mean is not known"


def test_dependency_and_latency() -> None:
    edge = {**SPLIT, "to_vertex": "count", "to_task": "count-1"}
    pair = {"source_node": "a", "target_node": "b"}
    found = tables({"tuples": [counter(edge, 40)], "rtt": [gauge(pair, 0.01, 0.02, 0.5)]})
    (row,) = found["dependency"]
    assert (row["source_task"], row["target_task"]) == ("split-0", "count-1")
    assert row["tuples_per_s"] == pytest.approx(40)
    assert math.isnan(row["bytes_per_s"])
    (hop,) = found["node_latency"]
    assert hop["latency_s"] == pytest.approx(0.01), "half of the median round trip"


@pytest.mark.parametrize(
    ("counts", "quantile", "expected"),
    [
        ({"0.1": 50, "1": 100, "+Inf": 100}, 0.5, 0.1),
        ({"0.1": 0, "1": 100, "+Inf": 100}, 0.5, 0.55),
        ({"0.1": 0, "1": 0, "+Inf": 10}, 0.5, 1.0),
        ({"0.1": 0, "1": 0, "+Inf": 0}, 0.5, math.nan),
        ({"0.1": 5, "1": 5}, 0.5, math.nan),
    ],
)
def test_quantiles(counts: dict[str, float], quantile: float, expected: float) -> None:
    buckets = [gauge({"le": bound}, 0, count) for bound, count in counts.items()]
    assert histogram_quantile(buckets, quantile) == pytest.approx(expected, nan_ok=True)


def expectation(*tasks: str, since_s: float = 0.0) -> dict[str, Any]:
    def vertex(name: str) -> dict[str, Any]:
        own = [task for task in tasks if task.startswith(name)]
        return {"name": name, "tasks": [{"name": t, "pod": t, "since_s": since_s} for t in own]}

    return {
        "topologies": [
            {
                "namespace": "n",
                "name": "wc",
                "vertices": [vertex("split"), vertex("count")],
                "edges": [{"from": "split", "to": "count"}],
            }
        ],
        "nodes": ["a", "b"],
    }


def coverage_of(found: dict[str, Any]) -> dict[str, float]:
    return {row["matrix"]: row["coverage"] for row in found["coverage"]}


def test_coverage_is_the_share_of_what_ought_to_be_there() -> None:
    edge = {**SPLIT, "to_vertex": "count", "to_task": "count-0"}
    pulled = {
        "processed": [counter(SPLIT, 1)],
        "tuples": [counter(edge, 1)],
        "rtt": [gauge({"source_node": "a", "target_node": "b"}, 1, 1)],
    }
    shares = coverage_of(tables(pulled, expectation("split-0", "split-1", "count-0", "count-1")))
    assert shares == {
        "task_load": 0.25,
        "dependency": 0.5,
        "node_latency": 0.5,
        "node_capacity": 0.0,
    }


def test_what_a_node_has_and_who_uses_it() -> None:
    """Of b nothing was measured; on a one of our pods uses half a core of one and a half."""
    expected = expectation("split-0")
    expected["topologies"][0]["vertices"][0]["tasks"][0]["node"] = "a"
    expected["allocatable"] = {"a": {"cpu": 4.0, "memory": 100.0}, "b": {"cpu": 2.0}}
    pod = {"namespace": "n", "pod": "split-0", "container": "main"}
    pulled = {
        "node_cpu": [counter({"node": "a"}, 1.5)],
        "node_memory": [gauge({"node": "a"}, 120, 120)],
        "pod_cpu": [counter(pod, 0.5)],
        "processed": [counter(SPLIT, 1)],
    }
    found = tables(pulled, expected)
    one, other = found["node_capacity"]
    assert (one["node"], one["cpu_allocatable_cores"]) == ("a", 4.0)
    assert one["cpu_used_cores"] == pytest.approx(1.5)
    assert one["cpu_others_cores"] == pytest.approx(1.0)
    assert one["cpu_free_cores"] == pytest.approx(2.5)
    assert one["memory_free_bytes"] == 0, "a node may use more than is allocatable"
    assert math.isnan(one["memory_others_bytes"]), "how much is ours was not measured"
    assert (other["node"], other["cpu_allocatable_cores"]) == ("b", 2.0)
    assert math.isnan(other["cpu_free_cores"])
    (row,) = (row for row in found["coverage"] if row["matrix"] == "node_capacity")
    assert (row["coverage"], row["observed_at_s"], row["window_s"]) == (0.5, 30.0, 300.0)
    assert row["samples"] == 21
    (alone,) = tables({"node_cpu": pulled["node_cpu"]})["node_capacity"]
    assert math.isnan(alone["cpu_others_cores"]), "nobody said which pods are ours"


def test_a_series_that_ended_is_not_there() -> None:
    old = {"processed": [counter(SPLIT, 1, until_s=15)]}
    assert coverage_of(tables(old, expectation("split-0")))["task_load"] == 0


def test_a_task_that_just_started_is_not_missed() -> None:
    pulled = {"processed": [counter(SPLIT, 1)]}
    young = expectation("split-0")
    young["topologies"][0]["vertices"][1]["tasks"] = [
        {"name": "count-0", "pod": "x", "since_s": 25.0}
    ]
    assert coverage_of(tables(pulled, young))["task_load"] == 1


def test_without_an_expectation_coverage_is_unknown() -> None:
    shares = coverage_of(tables({"processed": [counter(SPLIT, 1)]}))
    assert all(math.isnan(share) for share in shares.values())


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"topologies": [{}], "nodes": []},
        {"topologies": [], "nodes": [], "allocatable": {"a": 3}},
        {"topologies": [], "nodes": [], "allocatable": 3},
        [],
        3,
    ],
)
def test_a_wrong_expectation_is_refused(document: Any) -> None:
    with pytest.raises(InvalidInput, match="expectation"):
        parse_expectation(document)


def test_presets_are_checked() -> None:
    with pytest.raises(InvalidInput, match=r"there are flink, goldpinger, .*, thalweg"):
        load_preset("nope")
    with pytest.raises(InvalidInput, match="goldpinger has no query for tuples or sent, processed"):
        load_preset("goldpinger")
    with pytest.raises(InvalidInput, match="busy needs a selector"):
        parse_preset("x", "[queries.busy]\nscale=2\n")
    with pytest.raises(InvalidInput, match="not TOML"):
        parse_preset("x", "[")


def test_what_does_not_say_what_it_is_about_is_not_ours() -> None:
    assert is_ours("processed", SPLIT)
    assert not is_ours("tuples", SPLIT)
    assert not is_ours("processed", {**SPLIT, "vertex": ""})
