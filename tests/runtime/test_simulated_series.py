"""Which series there are: one pod a task, none for what is gone, counters that begin anew."""

from itertools import pairwise

import pytest

from thalweg_simulated_scenes import (
    NAMESPACE,
    Scene,
    advance,
    scraped,
    simulation_of,
    total,
    word_count,
)
from thalweg_spark.condense.series import Series, clean_series
from thalweg_spark.engine import Windows, condense
from thalweg_spark.pull.presets import load_preset

PRESET = load_preset("thalweg")


def pods_of(scene: Scene, ticks: int = 2) -> set[str]:
    simulation = simulation_of(scene)
    advance(simulation, ticks)
    return {sample.labels["pod"] for sample in scraped(simulation) if "pod" in sample.labels}


OWN = sorted(fact for fact, query in PRESET.queries.items() if query.startswith("thalweg_"))
"""The others are Kubernetes' own."""


@pytest.mark.parametrize("fact", OWN)
def test_every_fact_that_condensing_asks_for_is_there(fact: str) -> None:
    scene = word_count()
    scene.route("read", "split", {"name": "split-0", "incarnation": 0, "weight": 1})
    simulation = simulation_of(scene)
    advance(simulation, 2)
    found = [sample for sample in scraped(simulation) if sample.name == PRESET.queries[fact]]
    assert found
    labels = {"namespace", "topology", "vertex", "task", "pod"}
    if fact == "rtt":
        labels = {"source_node", "target_node"}
    if fact in ("tuples", "bytes"):
        labels |= {"to_vertex", "to_task"}
    if fact in ("latency", "complete"):
        labels |= {"le"}
    if fact == "task_info":
        labels |= {"process", "incarnation"}
    assert all(
        sample.labels.keys() == {PRESET.labels.get(x, x) for x in labels} for sample in found
    )


def test_condensing_makes_of_it_what_was_simulated() -> None:
    scene = word_count()
    simulation = simulation_of(scene, profile="1000")
    history: dict[tuple[str, tuple[tuple[str, str], ...]], list[tuple[float, float]]] = {}
    for _ in range(4):
        advance(simulation, 5)
        for sample in scraped(simulation):
            key = sample.name, tuple(sorted(sample.labels.items()))
            history.setdefault(key, []).append((simulation.now_s, sample.value))
    pulled: dict[str, list[Series]] = {}
    for fact, name in PRESET.queries.items():
        cleaned = [clean_series(dict(key[1]), h) for key, h in history.items() if key[0] == name]
        pulled[fact] = [series for series in cleaned if series is not None]
    tables = condense(pulled, None, at_s=simulation.now_s, windows=Windows())
    loads = {row["task"]: row for row in tables["task_load"]}
    assert loads["read-0"]["processed_per_s"] == pytest.approx(500, rel=0.05)
    assert 1 / loads["split-1"]["true_rate_per_s"] == pytest.approx(180e-6, rel=0.4)
    assert loads["split-1"]["namespace"] == NAMESPACE
    rows = {(row["source_task"], row["target_task"]): row for row in tables["dependency"]}
    assert len(rows) == 8
    assert sum(row["tuples_per_s"] for row in rows.values()) == pytest.approx(4000, rel=0.05)
    assert rows["read-0", "split-0"]["bytes_per_s"] == pytest.approx(
        200 * rows["read-0", "split-0"]["tuples_per_s"], rel=0.01
    )
    apart = {(row["source_node"], row["target_node"]): row for row in tables["node_latency"]}
    assert apart["a-0", "b-0"]["latency_s"] > 5 * apart["a-0", "a-1"]["latency_s"]


def test_a_histogram_rises_to_its_count() -> None:
    simulation = simulation_of(word_count())
    advance(simulation, 5)
    samples = scraped(simulation)
    for name, task in (
        ("thalweg_latency_seconds", "count-0"),
        ("thalweg_complete_seconds", "read-1"),
    ):
        buckets = [
            (float(sample.labels["le"]), sample.value)
            for sample in samples
            if sample.name == f"{name}_bucket" and sample.labels["task"] == task
        ]
        assert buckets == sorted(buckets)
        assert all(low[1] <= high[1] for low, high in pairwise(buckets))
        count = total(samples, f"{name}_count", task=task)
        assert buckets[-1] == (float("inf"), count)
        assert count == pytest.approx(total(samples, "thalweg_processed_total", task=task), abs=1)
        assert 0.0001 < total(samples, f"{name}_sum", task=task) / count < 0.1


def test_latency_is_at_sinks_and_complete_latency_at_sources() -> None:
    simulation = simulation_of(word_count())
    advance(simulation, 1)
    where = {
        (sample.name, sample.labels["vertex"])
        for sample in scraped(simulation)
        if sample.name in ("thalweg_latency_seconds_count", "thalweg_complete_seconds_count")
    }
    assert where == {
        ("thalweg_latency_seconds_count", "count"),
        ("thalweg_complete_seconds_count", "read"),
    }


def test_a_task_without_a_pod_that_works_emits_nothing() -> None:
    scene = word_count()
    unready = scene.put("split-2", "a-0")
    scene.pods[unready]["status"]["conditions"] = [{"type": "Ready", "status": "False"}]
    nowhere = scene.put("split-3", "")
    retiring = scene.put("split-4", "a-0")
    scene.pods[retiring]["metadata"]["labels"]["thalweg.dev/state"] = "retiring"
    going = scene.put("split-5", "a-0")
    scene.pods[going]["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    elsewhere = scene.put("split-6", "a-99")
    shown = pods_of(scene)
    assert shown == set(scene.pods) - {unready, nowhere, retiring, going, elsewhere}


def test_a_pod_that_is_gone_leaves_no_series() -> None:
    scene = word_count()
    simulation = simulation_of(scene)
    advance(simulation, 2)
    del scene.pods["words-split-1-0"]
    simulation.see(scene.world())
    simulation.advance(1.0)
    for sample in scraped(simulation):
        assert sample.labels.get("pod") != "words-split-1-0"
        assert sample.labels.get("to_task") != "split-1"


def test_a_topology_that_is_gone_leaves_no_series() -> None:
    scene = word_count()
    simulation = simulation_of(scene)
    advance(simulation, 2)
    world = scene.world()
    simulation.see(type(world)(nodes=world.nodes))
    simulation.advance(1.0)
    assert {sample.name for sample in scraped(simulation)} == {"thalweg_node_rtt_seconds"}


def test_a_new_incarnation_begins_at_zero_and_the_others_go_on() -> None:
    scene = word_count()
    simulation = simulation_of(scene)
    advance(simulation, 10)
    before = scraped(simulation)
    del scene.pods["words-split-0-0"]
    scene.put("split-0", "b-0", incarnation=1)
    simulation.see(scene.world())
    at_once = scraped(simulation)
    for name in ("thalweg_processed_total", "thalweg_tuples_total", "thalweg_cpu_seconds_total"):
        assert total(at_once, name, pod="words-split-0-1") == 0
        assert total(at_once, name, task="split-1") == total(before, name, task="split-1") > 0
    advance(simulation, 1)
    moved = total(scraped(simulation), "thalweg_processed_total", pod="words-split-0-1")
    assert moved == pytest.approx(500, rel=0.1)
    info = [sample for sample in scraped(simulation) if sample.name == "thalweg_task_info"]
    assert {(s.labels["pod"], s.labels["incarnation"], s.labels["process"]) for s in info} >= {
        ("words-split-0-1", "1", "words-split-0-1")
    }


def test_routes_say_which_incarnation_gets_the_tuples() -> None:
    scene = word_count()
    old, new = "words-split-0-0", scene.put("split-0", "b-0", incarnation=1)
    assert pods_of(scene) & {old, new} == {new}
    scene.route(
        "read",
        "split",
        {"name": "split-0", "incarnation": 0, "weight": 1},
        {"name": "split-1", "incarnation": 0, "weight": 1},
    )
    assert pods_of(scene) & {old, new} == {old}


def test_weights_and_missing_receivers_in_routes_count() -> None:
    scene = word_count()
    scene.put("split-2", "a-0")
    scene.route(
        "read",
        "split",
        {"name": "split-0", "incarnation": 0, "weight": 3},
        {"name": "split-1", "incarnation": 0, "weight": 1},
        version=4,
    )
    simulation = simulation_of(scene)
    advance(simulation, 10)
    samples = scraped(simulation)
    got = [total(samples, "thalweg_processed_total", task=f"split-{index}") for index in range(3)]
    assert got[0] == pytest.approx(3 * got[1])
    assert got[2] == 0
    assert total(samples, "thalweg_routes_version", task="read-0") == 4


@pytest.mark.parametrize(
    ("grouping", "shares"),
    [
        ("Shuffle", (1 / 2, 1 / 2)),
        ("PartialKey", (1 / 2, 1 / 2)),
        ("WChoices", (1 / 2, 1 / 2)),
        ("NearSource", (1 / 2, 1 / 2)),  # all senders are beside split-0, which weighs a half
        ("LoadAwareLocal", (1, 0)),
        ("Global", (1, 0)),
        ("Broadcast", (1, 1)),
    ],
)
def test_groupings_pick_the_receivers(grouping: str, shares: tuple[float, float]) -> None:
    scene = word_count()
    scene.edges[0]["grouping"] = {"type": grouping}
    scene.put("split-1", "b-0")
    simulation = simulation_of(scene)
    advance(simulation, 5)
    samples = scraped(simulation)
    read = total(samples, "thalweg_processed_total", vertex="read")
    got = [total(samples, "thalweg_processed_total", task=f"split-{i}") / read for i in range(2)]
    assert got == pytest.approx(shares)


def test_keys_are_dealt_by_key_groups() -> None:
    scene = word_count()
    task = {"incarnation": 0, "weight": 1}
    scene.route(
        "split",
        "count",
        {**task, "name": "count-0", "keyGroups": [[0, 511], [768, 1023]]},
        {**task, "name": "count-1", "keyGroups": [[512, 767]]},
    )
    assert counted(scene) == pytest.approx([0.75, 0.25], abs=0.03)


def test_skewed_keys_make_one_task_work_harder() -> None:
    scene = word_count()
    scene.put_all("a-0", count=4)
    assert max(counted(scene)) < 0.3
    scene.traits = {**scene.traits, "count": {"service_us": 10, "skew": 2}}
    assert max(counted(scene)) > 0.5


def counted(scene: Scene) -> list[float]:
    """The share of each counter."""
    simulation = simulation_of(scene)
    advance(simulation, 5)
    counters = [
        sample.value
        for sample in scraped(simulation)
        if sample.name == "thalweg_processed_total" and sample.labels["vertex"] == "count"
    ]
    return [one / sum(counters) for one in counters]
