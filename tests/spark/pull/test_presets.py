"""Presets for others' exporters, on exposition text with the names that their documentation has.

A file holds two whole scrapes, 100 s apart: the first and the last of 21.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg_spark.condense.expectation import parse_expectation
from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import Tables, Windows, condense
from thalweg_spark.pull.presets import Preset, load_preset

FOLDER = Path(__file__).parent / "exposition"
AT_S = 1000.0
LATER = "# 100 s later\n"
SELECTOR = re.compile(r"^(?P<name>\w+)?(\{(?P<matchers>.*)\})?$")
MATCHER = re.compile(r'(?P<label>\w+)(?P<sign>=~|!~|!=|=)"(?P<value>[^"]*)"')
WORD_COUNT = (("split", "count"),)


def expectation(
    *tasks: str, nodes: tuple[str, ...] = (), edges: tuple[tuple[str, str], ...] = WORD_COUNT
) -> dict[str, Any]:
    """What the operator expects of a topology with these tasks, which have long been there."""

    def vertex(name: str) -> dict[str, Any]:
        own = [task for task in tasks if task.partition("-")[0] == name]
        return {"name": name, "tasks": [{"name": one, "pod": "", "since_s": 0.0} for one in own]}

    topology = {
        "namespace": "n",
        "name": "wc",
        "vertices": [vertex(name) for name in dict.fromkeys(end for edge in edges for end in edge)],
        "edges": [{"from": source, "to": target} for source, target in edges],
    }
    return {"topologies": [topology], "nodes": list(nodes)}


def scraped(file: str) -> list[tuple[str, dict[str, str], float, float]]:
    """Name, labels, first and last value of each series."""
    first, last = (
        [one for family in text_string_to_metric_families(part) for one in family.samples]
        for part in (FOLDER / file).read_text().split(LATER)
    )
    return [
        (one.name, one.labels, before.value, one.value)
        for before, one in zip(first, last, strict=True)
        if (before.name, before.labels) == (one.name, one.labels)
    ]


def selected(query: str, name: str, labels: dict[str, str]) -> bool:
    """Whether Prometheus would take a series; its expressions must match the whole of a label."""
    match = SELECTOR.match(query)
    assert match is not None, f"a preset's query is a selector: {query}"
    words = {**labels, "__name__": name}
    return match["name"] in (name, None) and all(
        is_matched(one["sign"], one["value"], words.get(one["label"], ""))
        for one in MATCHER.finditer(match["matchers"] or "")
    )


def is_matched(sign: str, wanted: str, word: str) -> bool:
    same = bool(re.fullmatch(wanted, word)) if "~" in sign else word == wanted
    return same != sign.startswith("!")


def condensed(preset: Preset, *files: str, expected: dict[str, Any] | None = None) -> Tables:
    pulled: dict[str, list[Series]] = {}
    for name, labels, first, last in (line for file in files for line in scraped(file)):
        times = np.linspace(AT_S - 100, AT_S, 21)
        values = np.linspace(first, last, 21)
        series = clean_series(labels, list(zip(times.tolist(), values.tolist(), strict=True)))
        for fact, query in preset.queries.items():
            if series is not None and selected(query, name, labels):
                pulled.setdefault(fact, []).append(preset.read(fact, series))
    windows = Windows(scaling_s=100.0, placement_s=100.0)
    parsed = parse_expectation(expected or expectation())
    return condense(pulled, parsed, at_s=AT_S, windows=windows)


def assert_whole(found: Tables, *matrices: str) -> None:
    """Nothing that ought to be there is missing, and when it was seen last is known."""
    rows = {row["matrix"]: row for row in found["coverage"]}
    assert {name: rows[name]["coverage"] for name in matrices} == dict.fromkeys(matrices, 1.0)
    assert {rows[name]["observed_at_s"] for name in matrices} == {AT_S}


@pytest.mark.parametrize("name", ["flink", "numaflow", "kafka-streams"])
def test_engines_that_do_not_say_whom_they_send_to(name: str) -> None:
    """400 tuples/s are sent; of the receivers one takes 300, the other 100."""
    expected = expectation("split-0", "count-0", "count-1")
    found = condensed(load_preset(name), f"{name}.txt", expected=expected)
    assert_whole(found, "dependency", "task_load")
    traffic = {(row["source_task"], row["target_task"]): row for row in found["dependency"]}
    assert {pair: row["tuples_per_s"] for pair, row in traffic.items()} == pytest.approx(
        {("split-0", "count-0"): 300.0, ("split-0", "count-1"): 100.0}
    )
    loads = {row["task"]: row for row in found["task_load"]}
    assert loads["count-0"]["processed_per_s"] == pytest.approx(300)
    assert loads["count-0"]["busy_share"] == pytest.approx(0.5)
    assert loads["count-0"]["true_rate_per_s"] == pytest.approx(600)
    assert np.isnan(loads["count-1"]["busy_share"]), "what Flink calls NaN is unknown, not idle"
    if name == "flink":
        assert loads["split-0"]["backpressured_share"] == pytest.approx(0.25)
    if name == "kafka-streams":
        assert loads["split-0"]["busy_share"] == pytest.approx(0.3), (
            "of a thread that rests a fifth"
        )
    assert np.isnan(loads["count-0"]["queue_tuples"]), "a buffer that all replicas read is nobody's"


def test_storm_knows_bolts_and_spouts_as_wholes() -> None:
    edges = (("read", "split"), ("split", "count"))
    expected = expectation("read-0", "split-0", "count-0", edges=edges)
    found = condensed(load_preset("storm"), "storm.txt", expected=expected)
    assert_whole(found, "dependency", "task_load")
    loads = {row["task"]: row for row in found["task_load"]}
    assert loads["count-0"]["processed_per_s"] == pytest.approx(400)
    assert loads["count-0"]["true_rate_per_s"] == pytest.approx(500)
    assert np.isnan(loads["split-0"]["busy_share"])
    assert loads["read-0"]["processed_per_s"] == pytest.approx(100), "what a spout makes"
    assert loads["read-0"]["vertex"] == "read"
    traffic = {(row["source_task"], row["target_task"]): row for row in found["dependency"]}
    assert {pair: row["tuples_per_s"] for pair, row in traffic.items()} == pytest.approx(
        {("read-0", "split-0"): 100.0, ("split-0", "count-0"): 400.0}
    )


@pytest.mark.parametrize("prober", ["goldpinger", "smokeping"])
def test_round_trips_of_other_probers(prober: str) -> None:
    """20 ms and 40 ms there and back; targets are addresses, which kube-state-metrics knows."""
    expected = expectation("count-0", nodes=("node-a", "node-b"))
    preset = load_preset(f"thalweg-with-{prober}")
    found = condensed(preset, f"{prober}.txt", "kubernetes.txt", expected=expected)
    pairs = {(row["source_node"], row["target_node"]): row for row in found["node_latency"]}
    assert {pair: row["latency_s"] for pair, row in pairs.items()} == pytest.approx(
        {("node-a", "node-b"): 0.01, ("node-b", "node-a"): 0.02}
    )
    assert_whole(found, "node_latency", "task_load")
    assert [row["task"] for row in found["task_load"]] == ["count-0"], "and all else goes on"


def test_what_kubernetes_measures() -> None:
    expected = expectation("count-0")
    found = condensed(load_preset("thalweg"), "kubernetes.txt", expected=expected)
    assert_whole(found, "task_load")
    (load,) = found["task_load"]
    assert load["cpu_cores"] == pytest.approx(0.4), "containers only, not their sums"
    assert load["memory_bytes"] == pytest.approx(1000)
    assert load["io_bytes_per_s"] == pytest.approx(40)
    (node,) = found["node_capacity"]
    assert node["node"] == "node-a"
    assert node["cpu_used_cores"] == pytest.approx(1.5)
    assert node["memory_used_bytes"] == pytest.approx(5000)
    assert node["io_share"] == pytest.approx(0.6), "of the busiest disk"
    assert node["receive_bytes_per_s"] == pytest.approx(80), "of what leaves the node, and once"
    assert np.isnan(node["transmit_bytes_per_s"]), "nobody exported it"
    assert node["bandwidth_bytes_per_s"] == pytest.approx(125e6)


def test_half_a_name_is_another_tasks() -> None:
    series = clean_series({"job_name": "wc", "task_name": "split"}, [(1.0, 2.0)])
    assert series is not None
    assert load_preset("flink").read("processed", series).labels["task"] == ""
