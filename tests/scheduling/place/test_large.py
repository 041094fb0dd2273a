"""The path for large topologies, walked with small ones and interpreted kernels."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings

from thalweg_generators import Cluster, make_snapshot, snapshots
from thalweg_scheduling.kernels.compiling import can_compile
from thalweg_scheduling.measure.needs import overloaded
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.matrices import NodeLatency
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.effort import VECTORISED, Effort
from thalweg_scheduling.place.large import packed, place_large
from thalweg_scheduling.place.multilevel import place_multilevel
from thalweg_scheduling.place.polishing import annealed, cooling, refined, worth
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.terrain import (
    Terrain,
    Toolbox,
    compiled_tools,
    interpreted_tools,
    terrain_of,
    vectorised_tools,
)
from thalweg_scheduling.place.warming import warm
from thalweg_scheduling.strategies.even import place_evenly


def whole(snapshot: Snapshot) -> Problem:
    return problem_of(snapshot, np.ones(len(snapshot.tasks), dtype=np.bool_))


def pipeline(tasks: int = 20, nodes: int = 8, domains: int = 2) -> Snapshot:
    replicas = dict.fromkeys("abcde", tasks // 5)
    cluster = Cluster(nodes=nodes, domains=domains, cpu=0.65 * tasks / nodes)
    return make_snapshot(replicas, cluster=cluster)


@settings(
    max_examples=20, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(snapshot=snapshots())
def test_every_placement_that_is_offered_is_feasible(snapshot: Snapshot) -> None:
    problem = whole(snapshot)
    if not snapshot.tasks:
        return
    for node in place_large(problem, np.random.default_rng(3)):
        if not problem.spread.binds:
            assert problem.is_feasible(node)
        placed = np.flatnonzero(node != UNPLACED)
        assert snapshot.eligible[placed, node[placed]].all()


@settings(
    max_examples=20, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(snapshot=snapshots(placed=True))
def test_what_a_terrain_is_worth_is_j(snapshot: Snapshot) -> None:
    problem = whole(snapshot)
    terrain = terrain_of(problem, interpreted_tools())
    node = np.array(snapshot.placement)
    without_moves = problem.score(node)[1]
    assert worth(terrain, node)[1] == pytest.approx(without_moves, rel=1e-9, abs=1e-12)


@settings(
    max_examples=20, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(snapshot=snapshots(placed=True))
def test_refining_never_raises_j_and_move_cost(snapshot: Snapshot) -> None:
    problem = whole(snapshot)
    terrain = terrain_of(problem, interpreted_tools())
    after = refined(terrain, np.array(snapshot.placement), 8)
    before_value, after_value = (problem.score(node)[1] for node in (snapshot.placement, after))
    assert after_value <= before_value * (1 + 1e-9) + 1e-12


def test_annealing_reports_by_how_much_j_changed() -> None:
    snapshot = pipeline()
    problem = whole(snapshot)
    terrain = terrain_of(problem, interpreted_tools())
    start = place_evenly(snapshot, movable=problem.movable, rng=np.random.default_rng(0)).node
    heat = cooling(worth(terrain, start)[1], len(start), 500, first=1.0, last=0.05)
    end = annealed(terrain, np.array(start), heat, np.random.default_rng(1))
    assert problem.is_feasible(end)
    assert worth(terrain, end)[1] < worth(terrain, np.array(start))[1]


def test_multilevel_beats_even() -> None:
    snapshot = pipeline(40, 12, 3)
    problem = whole(snapshot)
    terrain = terrain_of(problem, interpreted_tools())
    rng = np.random.default_rng(0)
    node = place_multilevel(terrain, snapshot, Effort(deals=2, anneal_steps=500), rng)
    even = place_evenly(snapshot, movable=problem.movable, rng=rng).node
    assert problem.is_feasible(node)
    assert objective(snapshot, node) < 0.75 * objective(snapshot, even)


def test_packing_fits_what_greed_does_not() -> None:
    """Ten halves fill five nodes to the last drop."""
    snapshot = make_snapshot({"a": 5, "b": 5}, cluster=Cluster(nodes=5, cpu=1.0), cpu=0.5)
    node = packed(terrain_of(whole(snapshot), interpreted_tools()))
    assert np.array_equal(np.sort(node), np.repeat(np.arange(5), 2))


def test_spread_is_kept() -> None:
    limits = Limits(placement=PlacementLimits(min_domains=2, max_share_percent=50))
    snapshot = make_snapshot({"a": 6, "b": 6}, cluster=Cluster(nodes=8), limits=limits)
    problem = whole(snapshot)
    for node in place_large(problem, np.random.default_rng(0)):
        assert problem.is_feasible(node)
        assert not np.any(node == UNPLACED)


def compiled_and_interpreted(snapshot: Snapshot) -> tuple[Terrain, Terrain]:
    problem = whole(snapshot)
    pair = [terrain_of(problem, tools) for tools in (compiled_tools(), interpreted_tools())]
    return pair[0], pair[1]


def vectorised(snapshot: Snapshot) -> Terrain:
    return terrain_of(whole(snapshot), vectorised_tools())


@settings(
    max_examples=20, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(snapshot=snapshots(placed=True))
def test_the_stand_ins_keep_what_the_kernels_keep(snapshot: Snapshot) -> None:
    problem = whole(snapshot)
    if not snapshot.tasks:
        return
    rng = np.random.default_rng(0)
    terrain = vectorised(snapshot)
    for node in (place_multilevel(terrain, snapshot, VECTORISED, rng), packed(terrain)):
        placed = np.flatnonzero(node != UNPLACED)
        assert snapshot.eligible[placed, node[placed]].all()
        assert not overloaded(problem.needs, node).any()
    after = refined(terrain, np.array(snapshot.placement), 8)
    before = problem.score(snapshot.placement)[1]
    assert problem.score(after)[1] <= before * (1 + 1e-9) + 1e-12


@settings(
    max_examples=20, derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
@given(snapshot=snapshots(placed=True))
def test_drawing_together_keeps_what_is_exchanged(snapshot: Snapshot) -> None:
    tasks = len(snapshot.tasks)
    label = np.arange(tasks) // 2
    count = (tasks + 1) // 2
    graphs = [
        tools.coarsening.contract(terrain_of(whole(snapshot), tools).graph, label, count)
        for tools in (interpreted_tools(), vectorised_tools())
    ]
    assert graphs[0].indptr.tolist() == graphs[1].indptr.tolist()
    assert graphs[0].split.tolist() == graphs[1].split.tolist()
    for graph in graphs:
        assert not np.any(np.repeat(np.arange(count), np.diff(graph.indptr)) == graph.other)
    assert graphs[0].weight.sum() == pytest.approx(graphs[1].weight.sum())


def test_what_is_packed_level_is_level() -> None:
    snapshot = make_snapshot({"a": 8, "b": 8}, cluster=Cluster(nodes=4, cpu=2.05), cpu=0.5)
    for terrain in (terrain_of(whole(snapshot), interpreted_tools()), vectorised(snapshot)):
        assert np.bincount(packed(terrain)).tolist() == [4, 4, 4, 4]


def test_a_present_placement_of_ours_gets_no_fresh_look() -> None:
    snapshot = pipeline(60, 12, 3)
    first = place_large(whole(snapshot), np.random.default_rng(0))[0]
    settled = replace(snapshot, placement=first)
    again = place_large(whole(settled), np.random.default_rng(0))
    assert len(again) == 1
    even = place_evenly(snapshot, movable=whole(snapshot).movable, rng=np.random.default_rng(0))
    uncared = replace(snapshot, placement=even.node)
    assert len(place_large(whole(uncared), np.random.default_rng(0))) == 2


@pytest.mark.slow
@pytest.mark.skipif(not can_compile(), reason="numba is not installed")
def test_compiled_kernels_do_what_the_interpreted_ones_do() -> None:
    uneven = pipeline(30, 6, 2)
    pairs = np.random.default_rng(5).random((6, 6))
    uneven = replace(uneven, latency=NodeLatency(pairs_s=pairs))
    for seed, snapshot in enumerate((pipeline(), pipeline(60, 12, 3), make_snapshot(), uneven)):
        placements = []
        for terrain in compiled_and_interpreted(snapshot):
            rng = np.random.default_rng(seed)
            effort = Effort(deals=2, anneal_steps=2000)
            placements.append(place_multilevel(terrain, snapshot, effort, rng))
        assert placements[0].tolist() == placements[1].tolist()
        first, second = compiled_and_interpreted(snapshot)
        assert packed(first).tolist() == packed(second).tolist()


@pytest.mark.slow
@pytest.mark.skipif(not can_compile(), reason="numba is not installed")
def test_warming_compiles_each_kernel_once_for_all_problems() -> None:
    warm()
    tools: Toolbox = compiled_tools()
    before = _signatures(tools)
    for snapshot in (pipeline(), make_snapshot({"a": 3, "b": 2}, cluster=Cluster(domains=1))):
        terrain = terrain_of(whole(snapshot), tools)
        place_multilevel(terrain, snapshot, Effort(anneal_steps=10), np.random.default_rng(0))
    assert _signatures(tools) == before
    assert before["anneal"] == before["refine"] == before["cluster"] == 1


def _signatures(tools: Toolbox) -> dict[str, int]:
    return {
        kernel.__name__: len(getattr(module, kernel.__name__).signatures)
        for module in (tools.placing, tools.annealing, tools.coarsening)
        for kernel in module.KERNELS
    }
