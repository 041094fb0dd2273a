"""What is not known stays unknown, and takes nothing with it that is."""

import math
from itertools import accumulate
from typing import Any

import numpy as np
import pytest

from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import Tables, Windows, condense

AT_S = 1000.0
SCRAPE_S = 5.0


def series(labels: dict[str, str], values: list[float], *, silent_s: float = 0.0) -> Series:
    """Scraped every five seconds until so long ago."""
    times = AT_S - silent_s - SCRAPE_S * np.arange(len(values))[::-1]
    found = clean_series(labels, list(zip(times.tolist(), values, strict=True)))
    assert found is not None
    return found


def task(name: str, **more: str) -> dict[str, str]:
    vertex = name.partition("-")[0]
    return {"namespace": "n", "topology": "wc", "vertex": vertex, "task": name, **more}


def expectation(*nodes: str, pods: dict[str, str] | None = None) -> dict[str, Any]:
    tasks: list[dict[str, Any]] = [
        {"name": name, "pod": f"p-{name}", "node": node, "since_s": 0.0}
        for name, node in (pods or {}).items()
    ]
    vertices = [
        {"name": name, "tasks": [one for one in tasks if one["name"].startswith(name)]}
        for name in ("split", "count")
    ]
    edges = [{"from": "split", "to": "count"}]
    topology = {"namespace": "n", "name": "wc", "vertices": vertices, "edges": edges}
    return {"topologies": [topology], "nodes": list(nodes)}


def tables(pulled: dict[str, list[Series]], expected: dict[str, Any] | None = None) -> Tables:
    parsed = parse_expectation(expected or expectation())
    return condense(pulled, parsed, at_s=AT_S, windows=Windows())


def latencies(found: Tables) -> dict[tuple[str, str], float]:
    return {
        (row["source_node"], row["target_node"]): row["latency_s"] for row in found["node_latency"]
    }


def test_how_far_a_silent_node_was_is_not_known_any_more() -> None:
    ways = [({"source_node": "a", "target_node": "b"}, 16.0)]
    ways += [({"source_node": "b", "target_node": "a"}, 14.0)]
    pulled = {"rtt": [series(way, [0.02] * 40, silent_s=age) for way, age in ways]}
    found = latencies(tables(pulled))
    assert found == pytest.approx({("a", "b"): math.nan, ("b", "a"): 0.01}, nan_ok=True)


def test_nor_by_probers_that_tell_a_sum_and_a_count() -> None:
    rising = [float(number) for number in range(40)]
    pulled = {
        fact: [
            series({"source_node": source, "target_node": "z"}, rising, silent_s=age)
            for source, age in (("a", 100.0), ("b", 0.0))
        ]
        for fact in ("rtt_sum", "rtt_count")
    }
    assert latencies(tables(pulled)) == {("b", "z"): 0.5}


def test_one_reading_is_known_until_some_scrapes_later() -> None:
    way = {"source_node": "a", "target_node": "b"}
    assert latencies(tables({"rtt": [series(way, [0.02], silent_s=40)]})) == {("a", "b"): 0.01}
    (late,) = latencies(tables({"rtt": [series(way, [0.02], silent_s=50)]})).values()
    assert math.isnan(late)


def test_what_takes_longer_than_any_round_trip_is_none() -> None:
    way = {"source_node": "a", "target_node": "b"}
    mixed = tables({"rtt": [series(way, [30.0, 30.0, 30.0, 0.02])]})
    assert latencies(mixed) == {("a", "b"): 0.01}
    (alone,) = latencies(tables({"rtt": [series(way, [30.0, 30.0])]})).values()
    assert math.isnan(alone)
    sums = {"rtt_sum": [series(way, [0.0, 99.0])], "rtt_count": [series(way, [0.0, 9.0])]}
    assert latencies(tables(sums)) == {}


def test_where_all_ask_all_every_pair_is_wanted() -> None:
    ways = [{"source_node": a, "target_node": b} for a, b in ("ab", "bc", "ca", "aa")]
    pulled = {"rtt": [series(way, [0.02] * 9) for way in ways]}
    (row,) = (
        row
        for row in tables(pulled, expectation("a", "b", "c"))["coverage"]
        if row["matrix"] == "node_latency"
    )
    assert row["coverage"] == pytest.approx(3 / 6), "each node asks, but only one other each"


def test_kubernetes_has_the_last_word_about_where_a_pod_is() -> None:
    """A series may carry any label its exporter likes."""
    own = task("split-0", pod="p-split-0", node="elsewhere")
    edge = {**own, "to_vertex": "count", "to_task": "count-0"}
    rising = [50.0 * number for number in range(10)]
    other = task("count-0", pod="p-count-0", node="b")
    pulled = {"tuples": [series(edge, rising)], "processed": [series(other, rising)]}
    found = tables(pulled, expectation(pods={"split-0": "a", "count-0": "b"}))["node_traffic"]
    assert [(row["source_node"], row["target_node"]) for row in found] == [("a", "b")]


def rates(*per_s: float) -> list[float]:
    """A counter that rises by each rate for one scrape."""
    return list(accumulate((SCRAPE_S * rate for rate in per_s), initial=0.0))


def pairs(found: Tables, column: str) -> dict[str, float]:
    return {row["target_task"]: row[column] for row in found["dependency"]}


def test_an_unknown_receiver_leaves_the_others_theirs() -> None:
    pulled = {
        "sent": [series(task("split-0"), rates(*[90.0] * 12))],
        "processed": [
            series(task("count-0"), rates(*[40.0] * 6)),
            series(task("count-1"), rates(*[20.0] * 6)),
            series(task("count-2"), [7.0]),
        ],
    }
    expected = {"count-0": 40.0, "count-1": 20.0, "count-2": math.nan}
    found = pairs(tables(pulled), "tuples_per_s")
    assert found == pytest.approx(expected, nan_ok=True)
    pulled["processed"] = pulled["processed"][2:]
    assert pairs(tables(pulled), "tuples_per_s") == pytest.approx(
        {"count-2": math.nan}, nan_ok=True
    )


def test_what_is_divided_lately_is_what_was_sent_lately() -> None:
    pulled = {
        "sent": [series(task("split-0"), rates(*[100.0] * 28, *[400.0] * 8))],
        "processed": [series(task("count-0"), rates(*[400.0] * 6))],
    }
    found = tables(pulled)
    assert pairs(found, "recent_tuples_per_s") == pytest.approx({"count-0": 400.0})
    assert 140 < pairs(found, "tuples_per_s")["count-0"] < 180
