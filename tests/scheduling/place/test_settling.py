"""Wishes are kept where they can be."""

from dataclasses import replace

import numpy as np

from thalweg_generators import MAY_MOVE, Cluster, make_snapshot
from thalweg_scheduling.model.limits import PlacementLimits
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.settling import settle

SMALL = Cluster(nodes=3, domains=1, cpu=1.0)


def settled(snapshot: Snapshot, wish: list[int]) -> list[int]:
    movable = np.ones(len(wish), dtype=np.bool_)
    return [int(each) for each in settle(problem_of(snapshot, movable), np.array(wish))]


def test_a_wish_that_fits_is_kept() -> None:
    snapshot = make_snapshot({"a": 2, "b": 2}, cluster=SMALL)
    assert settled(snapshot, [2, 1, 2, 0]) == [2, 1, 2, 0]


def test_who_does_not_fit_goes_where_it_costs_least() -> None:
    snapshot = make_snapshot(
        {"a": 1, "b": 1, "c": 1}, cluster=SMALL, rates={("a", "b"): 1.0, ("b", "c"): 9.0}
    )
    # Two of three fit on node 0; the third has no wish and talks with nobody elsewhere.
    assert settled(snapshot, [0, 1, UNPLACED]) == [0, 1, 1]


def test_domains_are_kept_to() -> None:
    limits = replace(MAY_MOVE, placement=PlacementLimits(min_domains=2))
    snapshot = make_snapshot({"a": 2}, cluster=Cluster(nodes=4, domains=2), limits=limits)
    first, second = settled(snapshot, [0, 0])
    assert first == 0
    assert second in {1, 3}


def test_all_are_packed_where_wishes_would_leave_some_out() -> None:
    snapshot = replace(
        make_snapshot({"a": 3}, cluster=Cluster(nodes=2, domains=1, cpu=1.0)),
        demand=np.array([[0.5, 1.0], [0.5, 1.0], [1.0, 1.0]]),
    )
    assert UNPLACED not in settled(snapshot, [0, 1, UNPLACED])


def test_what_fits_nowhere_stays_out() -> None:
    snapshot = make_snapshot({"a": 3}, cluster=Cluster(nodes=2, domains=1, cpu=1.0), cpu=0.7)
    assert sorted(settled(snapshot, [0, 0, 0])) == [UNPLACED, 0, 1]
