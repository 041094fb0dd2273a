"""Each benchmark runs, on sizes that take no time."""

import numpy as np
import pytest

from bench import caps, gap, mapping, replan
from bench.balancing import balanced, least_possible
from bench.catalog import CAPSYS
from bench.instances import small_instances
from bench.peers import metis_two_level, mtkahypar_mapping, undirected, violations
from bench.proofs import proof_of, read_proofs
from bench.streams import Size, many_topologies
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.strategies import STRATEGIES

TINY = Size(tasks=120, nodes=12, domains=3)


def test_gap_tells_instances_and_a_summary() -> None:
    instances = list(small_instances())[:2]
    told = gap.run(instances, {name: STRATEGIES[name].place for name in ("Auto", "Even")})
    assert all(instance.name in told for instance in instances)
    assert "gap to the proven optimum" in told


def test_a_placement_is_never_better_than_the_optimum() -> None:
    instance = next(iter(small_instances()))
    proof = proof_of(instance, read_proofs())
    assert proof is not None
    for strategy in STRATEGIES.values():
        found = gap.place(instance.snapshot, strategy.place, 1)
        assert found.value >= proof.value * (1 - 1e-6)
        assert found.over.nodes == 0


def test_partitioners_place_every_task() -> None:
    snapshot = many_topologies(TINY, 1)
    graph = undirected(snapshot)
    dealt = np.arange(TINY.tasks) % TINY.nodes
    for node in (metis_two_level(snapshot, graph, 1), mtkahypar_mapping(snapshot, graph, 1)()):
        assert node.shape == (TINY.tasks,)
        assert set(node.tolist()) <= set(range(TINY.nodes))
        assert objective(snapshot, node) < objective(snapshot, dealt)


def test_violations_count_what_is_overloaded() -> None:
    snapshot = many_topologies(TINY, 1)
    everything_on_one = violations(snapshot, np.zeros(TINY.tasks, dtype=np.int64))
    assert everything_on_one.nodes == 1
    assert everything_on_one.worst == pytest.approx(TINY.nodes / 1.25, rel=0.01)


def test_mapping_tells_everybody() -> None:
    contest = mapping.Contest(
        title="tiny", family="many", size=TINY, peers=("METIS, two levels", "Mt-KaHyPar map")
    )
    results = mapping.play(contest, (1,))
    assert set(results) == {"Auto", *contest.peers}
    assert results["Auto"][0].over.nodes == 0
    told = mapping.told(contest, results)
    assert "J ÷ METIS, two levels" in told
    assert told.count("\n| ") == 5


def test_replan_tells_every_kind_of_change() -> None:
    told = replan.run(TINY, (1,))
    assert all(f"| {name}" in told for name in replan.CHANGES)


def test_replan_places_what_was_lost_and_nothing_else() -> None:
    snapshot = replan.settled(TINY, 1)
    change = replan.lose(snapshot, np.random.default_rng(1))
    done = replan.replanned(change, 1)
    assert done.done == done.needed == 1


def test_caps_is_compared_in_three_dimensions() -> None:
    loads, times = caps.run(32, ["q6"], (1,), repeats=2).split("\n\n")
    columns = [word.strip() for word in loads.splitlines()[0].strip("|").split("|")]
    assert columns == list(caps.LOAD_HEAD)
    assert all(each.splitlines()[2].startswith("| q6") for each in (loads, times))


def test_balancing_carries_everything_within_the_slots_and_nearly_evenly() -> None:
    workers = caps.workers_for(CAPSYS["q1"], 64)
    counts = balanced(workers)
    assert counts.sum(axis=1).tolist() == workers.tasks.tolist()
    assert counts.min() >= 0
    assert counts.sum(axis=0).max() <= workers.slots
    fullest, least = (counts.T @ workers.cost).max(axis=0), least_possible(workers)
    assert (fullest >= least * (1 - 1e-9)).all()
    assert fullest[0] < 1.1 * least[0]


def test_auto_makes_no_worker_fuller_than_balancing_did() -> None:
    workers = caps.workers_for(CAPSYS["q2"], 64)
    counts = caps.ours(workers, caps.snapshot_for(workers), 1)
    assert counts.sum(axis=1).tolist() == workers.tasks.tolist()
    before, after = ((each.T @ workers.cost).max(axis=0) for each in (balanced(workers), counts))
    assert (after <= before * (1 + 1e-6)).all()
