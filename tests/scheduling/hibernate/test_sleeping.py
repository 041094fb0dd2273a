"""Laws of every search, and what sets them apart."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_bins import bins, filled_bins
from thalweg_scheduling.hibernate import (
    Packing,
    Sleep,
    SleepLimits,
    SleepSearch,
    packing_of,
    sleep_by_prefix,
    sleep_most,
    sleep_underused,
)
from thalweg_scheduling.hibernate.exact import pack_exactly
from thalweg_scheduling.hibernate.packers import best_fit, best_match, by_total, first_fit
from thalweg_scheduling.hibernate.patterns import pack_by_patterns
from thalweg_scheduling.hibernate.search import most_that_may_sleep
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.snapshot import Snapshot

ALL = SleepLimits(min_awake=0, max_asleep_share=1.0)
SEARCHES = [sleep_most, sleep_by_prefix, sleep_underused]


def assert_lawful(packing: Packing, limits: SleepLimits, sleep: Sleep) -> None:
    assert not np.isin(sleep.node, sleep.asleep).any()
    used = np.zeros_like(packing.capacity)
    np.add.at(used, sleep.node, packing.demand[packing.kind_of])
    assert np.all(used <= packing.capacity * (1 + 1e-9) + 1e-9)
    assert packing.allowed[packing.kind_of, sleep.node].all()
    assert len(sleep.asleep) <= limits.max_asleep_share * packing.nodes + 1e-9
    assert limits.may_sleep(packing)[sleep.asleep].all()
    there = np.bincount(packing.domain_of)
    awake = there - np.bincount(packing.domain_of[sleep.asleep], minlength=len(there))
    assert np.all(awake >= np.minimum(there, limits.min_awake))


@pytest.mark.parametrize("search", SEARCHES)
@settings(max_examples=25, deadline=None)
@given(
    snapshot=filled_bins(),
    min_awake=st.integers(0, 2),
    share=st.sampled_from([0.0, 0.3, 0.6, 1.0]),
    data=st.data(),
)
def test_laws(
    search: SleepSearch, snapshot: Snapshot, min_awake: int, share: float, data: st.DataObject
) -> None:
    nodes = len(snapshot.nodes)
    candidates = data.draw(st.lists(st.booleans(), min_size=nodes, max_size=nodes))
    limits = SleepLimits(min_awake=min_awake, max_asleep_share=share, candidates=tuple(candidates))
    packing = packing_of(snapshot)
    sleep = search(packing, limits)
    assert_lawful(packing, limits, sleep)
    again = search(packing, limits)
    assert np.array_equal(sleep.asleep, again.asleep)
    assert np.array_equal(sleep.node, again.node)


def fewest_by_trying(packing: Packing) -> int:
    """The least number of nodes, by trying every set of them."""
    tasks = [int(kind) for kind in packing.kind_of]

    def fits(awake: tuple[int, ...]) -> bool:
        @cache
        def place(position: int, free: tuple[tuple[float, ...], ...]) -> bool:
            if position == len(tasks):
                return True
            kind = tasks[position]
            for slot, node in enumerate(awake):
                left = np.array(free[slot]) - packing.demand[kind]
                if packing.allowed[kind, node] and np.all(left >= -1e-9):
                    rest = (*free[:slot], tuple(left.round(6).tolist()), *free[slot + 1 :])
                    if place(position + 1, rest):
                        return True
            return False

        return place(0, tuple(tuple(packing.capacity[node].tolist()) for node in awake))

    sizes = range(packing.nodes + 1)
    return next(n for n in sizes if any(map(fits, combinations(range(packing.nodes), n))))


@settings(max_examples=10, deadline=None)
@given(snapshot=filled_bins(most_nodes=4, most_tasks=6))
def test_small_clusters_use_as_few_nodes_as_possible(snapshot: Snapshot) -> None:
    packing = packing_of(snapshot)
    fewest = fewest_by_trying(packing)
    assert packing.nodes - len(sleep_most(packing, ALL).asleep) == fewest
    assert packing.nodes - most_that_may_sleep(packing, ALL) <= fewest
    exact = pack_exactly(packing, ALL, fewest=0, most=packing.nodes)
    assert exact is not None
    assert np.count_nonzero(exact.counts.sum(axis=0)) == fewest


@settings(max_examples=20, deadline=None)
@given(snapshot=filled_bins())
def test_ours_is_never_behind_the_baselines(snapshot: Snapshot) -> None:
    packing = packing_of(snapshot)
    ours = len(sleep_most(packing, ALL).asleep)
    assert ours >= len(sleep_by_prefix(packing, ALL).asleep)
    assert ours >= len(sleep_underused(packing, ALL).asleep)


def test_what_sleeps_costs_as_few_moves_as_it_can() -> None:
    # n0 is nearly full, n1 holds one task: that one moves, not the three.
    packing = packing_of(bins([(1, 1)] * 4, [0, 0, 0, 1], [(4, 4), (4, 4)]))
    sleep = sleep_most(packing, ALL)
    assert sleep.asleep.tolist() == [1]
    assert sleep.moved(packing) == 1


def test_an_idle_node_sleeps_without_moves() -> None:
    packing = packing_of(bins([(1, 1)], [1], [(4, 4), (4, 4)]))
    for search in SEARCHES:
        sleep = search(packing, ALL)
        assert sleep.asleep.tolist() == [0]
        assert sleep.moved(packing) == 0


def test_what_the_baselines_miss() -> None:
    # Nodes of 4 with 3 + 3 and 1 + 1: swapping frees one, but no single node can be emptied
    # into the others as they are, and none is less than half full.
    tasks = [(3, 3), (3, 3), (1, 1), (1, 1), (2, 2), (2, 2)]
    snapshot = bins(tasks, [0, 1, 2, 2, 2, 3], [(4, 4)] * 4, vertex_of=[0, 0, 1, 1, 2, 2])
    packing = packing_of(snapshot)
    assert len(sleep_underused(packing, ALL).asleep) == 0
    assert packing.nodes - len(sleep_most(packing, ALL).asleep) == 3


def test_cluster_autoscaler_spares_what_is_half_used() -> None:
    packing = packing_of(bins([(2, 1), (2, 1)], [0, 1], [(4, 4), (4, 4)]))
    assert sleep_underused(packing, ALL).asleep.size == 0
    assert sleep_by_prefix(packing, ALL).asleep.size == 1


def test_measured_use_needs_headroom() -> None:
    tasks, nodes = [(2, 1), (2, 1)], [(4, 4), (4, 4)]
    idle = packing_of(bins(tasks, [0, 1], nodes, used=0.5))
    assert sleep_most(idle, ALL).asleep.size == 1
    busy = packing_of(bins(tasks, [0, 1], nodes, used=0.9))  # 3.6 of 4 cores is more than 85 %
    assert sleep_most(busy, ALL).asleep.size == 0


@pytest.mark.parametrize(
    ("placement", "asleep"),
    [
        (PlacementLimits(), 3),
        (PlacementLimits(min_domains=2), 2),
        (PlacementLimits(max_share_percent=50), 2),
    ],
)
@pytest.mark.parametrize("search", [sleep_most, sleep_by_prefix])
def test_a_vertex_stays_spread(
    search: SleepSearch, placement: PlacementLimits, asleep: int
) -> None:
    snapshot = bins(
        [(1, 1)] * 4,
        [0, 1, 2, 3],
        [(8, 8)] * 4,
        domains=[0, 0, 1, 1],
        vertex_of=[0] * 4,
        limits=Limits(placement=placement),
    )
    packing = packing_of(snapshot)
    sleep = search(packing, ALL)
    assert len(sleep.asleep) == asleep
    in_domain = np.bincount(packing.domain_of[sleep.node], minlength=2)
    assert np.count_nonzero(in_domain) >= placement.min_domains
    assert in_domain.max() <= 4 * placement.max_share_percent / 100


def test_packing_anew_reaches_the_domains_it_must() -> None:
    snapshot = bins(
        [(1, 1)] * 3,
        [0, 1, 2],
        [(8, 8)] * 3,
        domains=[0, 1, 2],
        vertex_of=[0] * 3,
        limits=Limits(placement=PlacementLimits(min_domains=2)),
    )
    packing = packing_of(snapshot)
    awake = np.ones(3, dtype=np.bool_)
    for packer in (first_fit(by_total), best_fit(by_total)):
        filling = packer(packing, awake, np.arange(3))
        assert filling is not None
        assert filling.is_spread()
        assert np.count_nonzero(filling.counts.sum(axis=0)) == 2


def test_node_by_node_keeps_resources_in_proportion() -> None:
    # Two with much cpu and two with much memory fill two nodes only as mixed pairs.
    packing = packing_of(
        bins([(3, 1), (3, 1), (1, 3), (1, 3)], [0, 1, 2, 3], [(4, 4)] * 4, vertex_of=[0, 0, 1, 1])
    )
    filling = best_match(packing, np.ones(4, dtype=np.bool_), np.arange(4))
    assert filling is not None
    assert np.count_nonzero(filling.counts.sum(axis=0)) == 2


def test_patterns_find_what_filling_by_size_does_not() -> None:
    # Three kinds that fill a node of (8, 8) only as one of each: 24 nodes for 24 of each.
    tasks = [(5, 1), (1, 5), (2, 2)] * 24
    snapshot = bins(sorted(tasks), list(range(72)), [(8, 8)] * 72, vertex_of=sorted([0, 1, 2] * 24))
    packing = packing_of(snapshot)
    everyone = np.ones(72, dtype=np.bool_)
    start = first_fit(by_total)(packing, everyone, np.arange(72))
    assert start is not None
    filling = pack_by_patterns(packing, ALL, start, fewest=24)
    assert filling is not None
    assert np.count_nonzero(filling.counts.sum(axis=0)) == 24
    assert filling.counts.sum(axis=1).tolist() == packing.wanted.tolist()
    assert np.all(filling.free >= 0)


@settings(max_examples=8, deadline=None)
@given(snapshot=filled_bins())
def test_patterns_pack_everything(snapshot: Snapshot) -> None:
    packing = packing_of(snapshot)
    everyone = np.ones(packing.nodes, dtype=np.bool_)
    start = first_fit(by_total)(packing, everyone, np.arange(packing.nodes))
    if start is None or not packing.wanted.size:
        return
    filling = pack_by_patterns(packing, SleepLimits(), start, fewest=0)
    if filling is not None:
        assert filling.counts.sum(axis=1).tolist() == packing.wanted.tolist()
        assert np.all(filling.used() <= packing.capacity + 1e-6)
        assert not np.any(filling.counts[~packing.allowed])


@pytest.mark.parametrize("search", SEARCHES)
def test_what_does_not_fit_now_does_not_sleep(search: SleepSearch) -> None:
    packing = packing_of(bins([(9, 1), (9, 1)], [0, 0], [(4, 4), (4, 4)]))
    assert search(packing, ALL).asleep.size == 0


@pytest.mark.parametrize("search", SEARCHES)
def test_hardly_anything(search: SleepSearch) -> None:
    nothing = packing_of(bins([], [], [(4, 4)] * 3))
    assert search(nothing, SleepLimits()).asleep.size == 0  # 30 % of 3 is less than one
    assert search(nothing, ALL).asleep.size == 3
    assert search(nothing, SleepLimits(max_asleep_share=1.0)).asleep.size == 2
    assert search(packing_of(bins([], [], [])), ALL).asleep.size == 0


def test_tasks_that_are_alike_are_one_kind() -> None:
    snapshot = bins([(1, 1), (1, 1), (2, 1)], [0, 0, 1], [(4, 4)] * 2, vertex_of=[0, 1, 2])
    assert packing_of(snapshot).wanted.tolist() == [2, 1]
    spread = bins(
        [(1, 1), (1, 1), (2, 1)],
        [0, 0, 1],
        [(4, 4)] * 2,
        vertex_of=[0, 1, 2],
        limits=Limits(placement=PlacementLimits(max_share_percent=50)),
    )
    assert packing_of(spread).wanted.tolist() == [1, 1, 1]
