"""What is assumed where nothing was measured."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import OBSERVED, make_snapshot
from thalweg_scheduling.measure.rates import search_rates
from thalweg_scheduling.model.graph import Edge, GroupingType
from thalweg_scheduling.model.matrices import DependencyMatrix
from thalweg_scheduling.model.snapshot import Snapshot


def unmeasured(grouping: GroupingType) -> Snapshot:
    snapshot = make_snapshot({"a": 2, "b": 3})
    return replace(snapshot, traffic=None, edges=(Edge(source=0, target=1, grouping=grouping),))


@pytest.mark.parametrize(
    ("grouping", "pairs", "each"),
    [
        (GroupingType.SHUFFLE, 6, 1 / 6),
        (GroupingType.FIELDS, 6, 1 / 6),
        (GroupingType.PARTIAL_KEY, 6, 1 / 6),
        (GroupingType.W_CHOICES, 6, 1 / 6),
        (GroupingType.BROADCAST, 6, 1 / 2),
        (GroupingType.GLOBAL, 2, 1 / 2),
    ],
)
def test_an_unmeasured_edge_is_spread_by_its_grouping(
    grouping: GroupingType, pairs: int, each: float
) -> None:
    rates = search_rates(unmeasured(grouping))
    assert rates.per_s.tolist() == pytest.approx([each] * pairs)
    assert set(rates.source.tolist()) == {0, 1}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
def test_a_gap_gets_the_mean_of_its_edge(bad: float) -> None:
    snapshot = make_snapshot({"a": 1, "b": 2, "c": 1})
    assert snapshot.traffic is not None
    # a→b twice, then b→c twice.
    rates = np.array([bad, 30.0, 8.0, 8.0])
    filled = search_rates(replace(snapshot, traffic=replace(snapshot.traffic, tuples_per_s=rates)))
    assert filled.per_s.tolist() == [30.0, 30.0, 8.0, 8.0]


def test_where_nothing_is_known_every_pair_is_equal() -> None:
    snapshot = make_snapshot({"a": 1, "b": 2})
    assert snapshot.traffic is not None
    unknown = replace(snapshot.traffic, tuples_per_s=np.full(2, np.nan))
    assert search_rates(replace(snapshot, traffic=unknown)).per_s.tolist() == [1.0, 1.0]


def test_a_newcomer_is_expected_to_be_like_its_siblings() -> None:
    snapshot = make_snapshot({"a": 1, "b": 2}, placement=[0, 1, -1])
    only_first = DependencyMatrix.from_pairs(3, {(0, 1): (40.0, 4000.0)}, OBSERVED)
    rates = search_rates(replace(snapshot, traffic=only_first))
    found = dict(zip(zip(rates.source, rates.target, strict=True), rates.per_s, strict=True))
    assert found == {(0, 1): 40.0, (0, 2): 40.0}


def test_who_is_placed_and_silent_is_silent() -> None:
    snapshot = make_snapshot({"a": 1, "b": 2}, placement=[0, 1, 1])
    only_first = DependencyMatrix.from_pairs(3, {(0, 1): (40.0, 4000.0)}, OBSERVED)
    assert search_rates(replace(snapshot, traffic=only_first)).per_s.tolist() == [40.0]
