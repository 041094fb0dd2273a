"""What sets the schedulers apart that the papers compare with."""

from dataclasses import replace

import numpy as np

from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.matrices import DependencyMatrix
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.baselines import BASELINES
from thalweg_trials import cluster

CHAIN = [("read", "split"), ("split", "count")]


def placed(name: str, snapshot: Snapshot) -> list[int]:
    movable = np.ones(len(snapshot.placement), dtype=np.bool_)
    proposal = BASELINES[name](snapshot, movable=movable, rng=np.random.default_rng(1))
    assert not proposal.missing
    nodes: list[int] = proposal.node.tolist()
    return nodes


def test_top_storm_fills_the_strongest_node_before_the_next() -> None:
    snapshot = cluster({"read": 2, "split": 2, "count": 2}, CHAIN, cores=[0.2, 0.4, 0.3])
    # One pipeline is read-0, split-0, count-0; four tasks fit on the strongest node.
    assert placed("TOP-Storm-like", snapshot) == [1, 1, 1, 2, 1, 2]


def test_lc_stream_stays_in_the_domain_of_the_source_and_balances_it() -> None:
    snapshot = cluster(
        {"read": 2, "split": 2, "count": 2}, CHAIN, cores=[1.0] * 4, domains=[0, 0, 1, 1]
    )
    snapshot = replace(snapshot, latency=replace(snapshot.latency, pairs_s=_far_apart()))
    nodes = placed("Lc-Stream-like", snapshot)
    assert sorted(nodes[2:]) == [0, 0, 1, 1] or sorted(nodes[2:]) == [2, 2, 3, 3]


def _far_apart() -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    seconds = np.full((4, 4), 0.02)
    seconds[:2, :2] = seconds[2:, 2:] = 0.001
    np.fill_diagonal(seconds, 0.0001)
    return seconds


def test_sp_ant_packs_the_busiest_together_and_beats_an_even_spread() -> None:
    snapshot = cluster({"read": 4, "count": 4}, [("read", "count")], cores=[0.2] * 4)
    pairs = {(s, r): (100.0 if s == 7 - r else 1.0, 1.0) for s in range(4) for r in range(4, 8)}
    classes = replace(snapshot.latency.classes, same_domain_s=0.001, cross_domain_s=0.001)
    snapshot = replace(
        snapshot,
        traffic=DependencyMatrix.from_pairs(8, pairs),
        latency=replace(snapshot.latency, classes=classes),
    )
    nodes = placed("SP-Ant-like", snapshot)
    assert all(nodes[sender] == nodes[7 - sender] for sender in range(4))
    even = np.array([0, 1, 2, 3, 0, 1, 2, 3])
    assert objective(snapshot, np.array(nodes)) < objective(snapshot, even)
