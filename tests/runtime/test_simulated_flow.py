"""What the simulated data plane does to tuples: nothing is lost, queues fill and drain."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_simulated_scenes import (
    Scene,
    advance,
    play_of,
    scraped,
    simulation_of,
    total,
    word_count,
)

NODES = ("a-0", "a-1", "b-0", "b-1")


@settings(max_examples=15)
@given(
    placed=st.lists(st.sampled_from(NODES), min_size=3, max_size=12),
    rate=st.integers(min_value=0, max_value=40_000),
    seed=st.integers(min_value=0, max_value=5),
)
def test_what_is_sent_is_processed_and_what_is_not_waits(
    placed: list[str], rate: int, seed: int
) -> None:
    scene = Scene()
    for number, node in enumerate(placed):
        scene.put(f"{('read', 'split', 'count')[number % 3]}-{number // 3}", node)
    simulation = simulation_of(scene, profile=str(rate), seed=seed)
    arrived = 0.0
    for _ in range(5):
        before = play_of(simulation).backlog.sum()
        simulation.advance(1.0)
        play = play_of(simulation)
        assert play.tick is not None
        read = play.tick.processed[play.stage.source_of >= 0].sum()
        arrived += play.backlog.sum() - before + read
    counters = play_of(simulation).counters
    by_vertex = {
        vertex: sum(
            counters.totals["processed"][number]
            for number, pod in enumerate(counters.stage.fact.pods)
            if pod.vertex == vertex
        )
        for vertex in ("read", "split", "count")
    }
    assert by_vertex["split"] == pytest.approx(by_vertex["read"])
    assert by_vertex["count"] == pytest.approx(3 * by_vertex["split"])
    assert arrived == pytest.approx(by_vertex["read"] + play_of(simulation).backlog.sum())
    assert arrived == pytest.approx(5 * rate, rel=0.2)
    assert counters.sent.sum() == pytest.approx(by_vertex["split"] + by_vertex["count"])


def test_a_task_that_is_overloaded_holds_its_senders_up() -> None:
    scene = word_count()
    scene.traits = {**scene.traits, "split": {"service_us": 1000, "selectivity": 1}}
    simulation = simulation_of(scene, profile="5000")
    advance(simulation, 20)
    samples = scraped(simulation)

    def share(name: str, vertex: str) -> float:
        return total(samples, name, vertex=vertex) / simulation.now_s / 2

    assert share("thalweg_busy_seconds_total", "split") > 0.9
    assert share("thalweg_busy_seconds_total", "read") < 0.5
    assert share("thalweg_backpressured_seconds_total", "read") > 0.5
    assert share("thalweg_backpressured_seconds_total", "split") < 0.1
    assert share("thalweg_backpressured_seconds_total", "count") == 0.0
    assert total(samples, "thalweg_queue_tuples", vertex="split") > 500
    assert total(samples, "thalweg_processed_total", vertex="count") < 20 * 2500


def test_a_backlog_grows_under_overload_and_drains_afterwards() -> None:
    simulation = simulation_of(word_count(), profile="1000@0,20000@5,1000@10")
    waiting = []
    for _ in range(40):
        simulation.advance(1.0)
        waiting.append(float(play_of(simulation).backlog.sum()))
    assert waiting[3] == 0
    assert waiting[5] < waiting[6] < waiting[8]
    assert waiting[9] > waiting[10] > waiting[12] > 0
    assert waiting[-1] == 0


def test_more_tasks_get_more_through() -> None:
    def throughput(splitters: int) -> float:
        scene = word_count()
        scene.traits = {**scene.traits, "split": {"service_us": 1000, "selectivity": 1}}
        for index in range(splitters):
            scene.put(f"split-{index}", ("a-0", "a-1", "b-0", "b-1")[index % 4])
        simulation = simulation_of(scene, profile="50000")
        advance(simulation, 10)
        return total(scraped(simulation), "thalweg_processed_total", vertex="split") / 10

    assert throughput(4) > 1.7 * throughput(2)


def test_crossing_domains_costs_latency() -> None:
    def latency_s(count_node: str) -> tuple[float, float]:
        scene = word_count()
        for index in range(2):
            scene.put(f"count-{index}", count_node)
        simulation = simulation_of(scene)
        advance(simulation, 5)
        tick = play_of(simulation).tick
        assert tick is not None
        return tick.latency_s, tick.cross_domain_share

    near, far = latency_s("a-1"), latency_s("b-0")
    assert near[1] == 0
    assert far[1] == pytest.approx(0.75)
    assert far[0] > near[0] + 0.002


def test_ages_at_the_sinks_have_the_mean_that_the_simulator_gives() -> None:
    scene = word_count()
    scene.put("count-0", "b-0")
    scene.put("split-1", "b-1")
    simulation = simulation_of(scene)
    simulation.advance(1.0)
    play = play_of(simulation)
    assert play.tick is not None
    weight = np.where(play.stage.is_sink, play.tick.processed, 0.0)
    assert np.average(play.tick.age_s, weights=weight) == pytest.approx(play.tick.latency_s)


def test_without_receivers_nothing_flows_and_everything_waits() -> None:
    scene = word_count()
    simulation = simulation_of(scene)
    advance(simulation, 2)
    before = total(scraped(simulation), "thalweg_processed_total")
    for index in range(2):
        del scene.pods[f"words-count-{index}-0"]
    simulation.see(scene.world())
    advance(simulation, 3)
    samples = scraped(simulation)
    after = total(samples, "thalweg_processed_total", vertex="read")
    assert after + total(samples, "thalweg_processed_total", vertex="split") < before
    assert total(samples, "thalweg_queue_tuples", vertex="read") == pytest.approx(3000, rel=0.2)
    assert total(samples, "thalweg_backpressured_seconds_total", task="read-0") == 3.0


def test_nothing_is_offered_until_every_vertex_has_a_task() -> None:
    scene = Scene()
    scene.put("read-0", "a-0")
    simulation = simulation_of(scene)
    advance(simulation, 3)
    assert play_of(simulation).backlog.sum() == 0
    scene.put("split-0", "a-0")
    scene.put("count-0", "a-0")
    simulation.see(scene.world())
    simulation.advance(1.0)
    assert total(scraped(simulation), "thalweg_processed_total", task="read-0") > 900


def test_two_topologies_on_a_node_slow_each_other_down() -> None:
    alone, other = word_count(), word_count()
    other.name = "others"
    other.pods.clear()
    for index in range(6):
        other.put_all("a-0", read=4, split=4, count=4)
        other.put(f"split-{index}", "a-0")
    simulation = simulation_of(alone, profile="9000")
    advance(simulation, 5)
    calm = play_of(simulation).tick
    world = alone.world()
    both = type(world)(nodes=world.nodes, topologies=(*other.world().topologies, *world.topologies))
    simulation.see(both)
    advance(simulation, 5)
    crowded = play_of(simulation).tick
    assert calm is not None
    assert crowded is not None
    assert crowded.latency_s > calm.latency_s


def test_the_same_seed_gives_the_same_series_and_another_gives_others() -> None:
    def text(seed: int) -> list[tuple[str, float]]:
        simulation = simulation_of(word_count(), seed=seed)
        advance(simulation, 5)
        return [(sample.name, sample.value) for sample in scraped(simulation)]

    assert text(1) == text(1)
    assert text(1) != text(2)


def test_what_is_declared_is_not_exactly_what_is_done() -> None:
    simulation = simulation_of(word_count())
    advance(simulation, 5)
    samples = scraped(simulation)
    for task in ("split-0", "split-1"):
        each_s = total(samples, "thalweg_cpu_seconds_total", task=task) / total(
            samples, "thalweg_processed_total", task=task
        )
        assert each_s != pytest.approx(100e-6, rel=0.01)
        assert 50e-6 < each_s < 400e-6


def test_what_cannot_be_sent_waits_where_it_is() -> None:
    scene = word_count()
    scene.traits = {**scene.traits, "count": {"service_us": 1000}}
    simulation = simulation_of(scene, profile="5000")
    advance(simulation, 3)
    samples = scraped(simulation)
    for task in ("split-0", "split-1"):
        assert total(samples, "thalweg_queue_tuples", task=task) == pytest.approx(1000, abs=1)
        assert total(samples, "thalweg_backpressured_seconds_total", task=task) > 1.5
    tick = play_of(simulation).tick
    assert tick is not None
    assert tick.latency_s > 1.0
