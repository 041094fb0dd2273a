"""Md-Stream's Algorithm 3, by hand."""

from dataclasses import replace

import numpy as np

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.matrices import NodeLatency
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.multi_domain import Allotment, allocate, node_order, sources_domain
from thalweg_scheduling.place.problem import Problem, problem_of

CHAIN = {"a": 1, "b": 1, "c": 1, "d": 1}


def chain(*, cpu: float = 1.0, nodes: int = 4, domains: int = 2) -> Snapshot:
    """Four tasks a → b → c → d, of which b and c talk most; nodes of 4 cpu, domains in turn."""
    return make_snapshot(
        CHAIN,
        cluster=Cluster(nodes=nodes, domains=domains),
        rates={("a", "b"): 10.0, ("b", "c"): 100.0, ("c", "d"): 50.0},
        cpu=cpu,
    )


def problem_for(snapshot: Snapshot) -> Problem:
    return problem_of(snapshot, snapshot.placement == UNPLACED)


def allotted(snapshot: Snapshot, *, margin: float = 0.7, block: list[int] | None = None) -> Ints:
    """Each task its own block, weights in cpu of nodes of 4."""
    movable = snapshot.placement == UNPLACED
    numbers = np.where(movable, np.cumsum(movable) - 1, UNPLACED)
    return allocate(
        problem_for(snapshot),
        Allotment(
            block=np.array(block) if block is not None else numbers,
            weight=snapshot.demand[:, 0],
            capacity=snapshot.capacity[:, 0],
            margin=margin,
        ),
    )


def test_the_strongest_pair_comes_first_and_then_whoever_depends_on_it() -> None:
    # 2.8 cpu of a node may be filled: b and c; then d, which is more drawn to c than a is to b.
    assert allotted(chain(cpu=0.9)).tolist() == [2, 0, 0, 0]
    assert allotted(chain(cpu=0.5)).tolist() == [0, 0, 0, 0]


def test_the_next_node_of_the_same_domain_comes_before_other_domains() -> None:
    node = allotted(chain(cpu=1.4), margin=0.7)
    assert node.tolist() == [2, 0, 0, 2]
    assert chain().domain_of[node].tolist() == [0, 0, 0, 0]


def test_the_margin_is_kept_before_a_block_is_put_down() -> None:
    # A single task of 3 cpu is three quarters of a node.
    assert allotted(chain(cpu=3.0), margin=0.7).tolist() == [UNPLACED] * 4
    assert sorted(allotted(chain(cpu=3.0), margin=0.75).tolist()) == [0, 1, 2, 3]


def test_a_block_is_put_down_whole_or_not_at_all() -> None:
    node = allotted(chain(cpu=1.0), block=[0, 0, 1, 1], margin=0.5)
    assert node[0] == node[1]
    assert node[2] == node[3]
    assert node[0] != node[2]


def test_a_block_that_may_not_run_there_is_passed_over() -> None:
    snapshot = chain(cpu=0.5)
    eligible = np.array(snapshot.eligible)
    eligible[2, 0] = False
    node = allotted(replace(snapshot, eligible=eligible))
    assert node.tolist() == [0, 0, 2, 0]


def test_domain_limits_undo_a_block_that_is_half_put_down() -> None:
    snapshot = make_snapshot({"a": 4}, [], Cluster(nodes=2, domains=2), rates={})
    limits = snapshot.limits
    halves = replace(
        snapshot, limits=replace(limits, placement=replace(limits.placement, max_share_percent=50))
    )
    assert allotted(halves, block=[0, 0, 0, 1]).tolist() == [UNPLACED] * 3 + [0]
    assert allotted(snapshot, block=[0, 0, 0, 1]).tolist() == [0, 0, 0, 0]


def test_whoever_stays_draws_its_partners() -> None:
    snapshot = replace(chain(cpu=0.5), placement=np.array([0, UNPLACED, 3, UNPLACED]))
    # To c on n3 both are drawn, b more than to a on n0.
    assert allotted(snapshot).tolist() == [0, 3, 3, 3]


def test_domains_stand_by_their_latency_and_nodes_by_their_use() -> None:
    snapshot = chain(nodes=6, domains=3)
    seconds = np.full((6, 6), 0.02)
    seconds[np.ix_([0, 3], [2, 5])] = 0.01
    near = replace(snapshot, latency=NodeLatency(pairs_s=seconds))
    use = np.array([0.5, 0.0, 0.0, 0.1, 0.0, 0.9])
    assert sources_domain(problem_for(near)) == 0
    assert node_order(problem_for(near), use).tolist() == [3, 0, 2, 5, 1, 4]


def test_the_stream_starts_where_its_sources_are_or_may_be() -> None:
    snapshot = chain()
    assert sources_domain(problem_for(snapshot)) == 0
    settled = replace(snapshot, placement=np.array([1, UNPLACED, UNPLACED, UNPLACED]))
    assert sources_domain(problem_for(settled)) == 1
    eligible = np.array(snapshot.eligible)
    eligible[0, [0, 2]] = False
    assert sources_domain(problem_for(replace(snapshot, eligible=eligible))) == 1
    richer = np.array(snapshot.capacity)
    richer[3] *= 2
    assert sources_domain(problem_for(replace(snapshot, capacity=richer))) == 1
