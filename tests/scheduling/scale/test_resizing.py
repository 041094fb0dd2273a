"""The snapshot with other numbers of tasks."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.matrices import DependencyMatrix
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.scale import resized
from thalweg_streams import NAN, Flow, streaming


def pipeline(grouping: GroupingType = GroupingType.SHUFFLE) -> Snapshot:
    return streaming(
        {
            "read": Flow(tasks=2, processed_per_s=100, true_rate_per_s=100),
            "work": Flow(tasks=2, processed_per_s=100, true_rate_per_s=100),
            "sink": Flow(tasks=1, processed_per_s=50, true_rate_per_s=100),
        },
        {("read", "work"): 100, ("work", "sink"): 50},
        groupings={("read", "work"): grouping},
    )


def dense(traffic: DependencyMatrix | None) -> Floats:
    assert traffic is not None
    matrix = np.zeros((traffic.tasks, traffic.tasks))
    matrix[traffic.sources, traffic.targets] = traffic.tuples_per_s
    return matrix


def test_the_same_numbers_are_the_same_snapshot() -> None:
    snapshot = pipeline()
    assert resized(snapshot, {"work": 2}) is snapshot


def test_new_tasks_come_last_in_their_vertex_without_a_node() -> None:
    placed = replace(pipeline(), placement=np.zeros(5, dtype=np.int64), process=np.arange(5))
    grown = resized(placed, {"work": 4})
    assert [task.name for task in grown.tasks] == [
        "read-0",
        "read-1",
        "work-0",
        "work-1",
        "work-2",
        "work-3",
        "sink-0",
    ]
    assert grown.placement.tolist() == [0, 0, 0, 0, UNPLACED, UNPLACED, 0]
    assert grown.process is not None
    assert grown.process.tolist() == [0, 1, 2, 3, 5, 6, 4]


def test_tasks_are_taken_from_the_end() -> None:
    placed = replace(pipeline(), placement=np.zeros(5, dtype=np.int64))
    shrunk = resized(placed, {"work": 1, "read": 1})
    assert [task.name for task in shrunk.tasks] == ["read-0", "work-0", "sink-0"]
    assert dense(shrunk.traffic)[0, 1] == pytest.approx(100)
    assert dense(shrunk.traffic)[1, 2] == pytest.approx(50)


@pytest.mark.parametrize(
    ("grouping", "row"),
    [
        (GroupingType.SHUFFLE, [12.5, 12.5, 12.5, 12.5]),
        (GroupingType.FIELDS, [12.5, 12.5, 12.5, 12.5]),
        (GroupingType.PARTIAL_KEY, [12.5, 12.5, 12.5, 12.5]),
        (GroupingType.W_CHOICES, [12.5, 12.5, 12.5, 12.5]),
        (GroupingType.BROADCAST, [25, 25, 25, 25]),
        (GroupingType.GLOBAL, [50, 0, 0, 0]),
    ],
)
def test_traffic_is_spread_by_the_grouping(grouping: GroupingType, row: list[float]) -> None:
    grown = resized(pipeline(grouping), {"work": 4})
    assert dense(grown.traffic)[0, 2:6].tolist() == pytest.approx(row)


def test_a_vertex_that_stays_keeps_its_skew() -> None:
    snapshot = pipeline()
    assert snapshot.traffic is not None
    skewed = replace(snapshot.traffic, tuples_per_s=np.array([70.0, 20.0, 7.0, 3.0, 30.0, 20.0]))
    grown = dense(resized(replace(snapshot, traffic=skewed), {"read": 3}).traffic)
    assert grown[:3, 3:5].sum(axis=0).tolist() == pytest.approx([77, 23])
    assert grown[:3, 3:5].sum(axis=1).tolist() == pytest.approx([100 / 3] * 3)
    assert grown[3:5, 5].tolist() == [30, 20]


def test_unknown_traffic_stays_unknown() -> None:
    snapshot = pipeline()
    assert snapshot.traffic is not None
    holed = replace(snapshot.traffic, tuples_per_s=np.array([NAN, 25, 25, 25, 25, 25]))
    grown = dense(resized(replace(snapshot, traffic=holed), {"work": 3}).traffic)
    assert np.isnan(grown[:2, 2:5]).all()
    assert grown[2:5, 5].sum() == pytest.approx(50)


def test_loads_are_shared_or_unknown() -> None:
    grown = resized(pipeline(), {"work": 4}).loads
    assert grown is not None
    assert grown.processed_per_s[2:6].tolist() == [25] * 4
    assert grown.busy_share[2:6].tolist() == [0.25] * 4
    assert grown.true_rate_per_s[2:6].tolist() == [100] * 4
    assert np.isnan(grown.wait_s[2:6]).all()
    assert grown.processed_per_s[:2].tolist() == [50, 50]


def test_new_tasks_ask_for_what_the_largest_sibling_asks_for() -> None:
    demand = np.array([[0.1], [0.1], [0.1], [0.4], [0.1]])
    grown = resized(replace(pipeline(), demand=demand), {"work": 3})
    assert grown.demand[:, 0].tolist() == [0.1, 0.1, 0.1, 0.4, 0.4, 0.1]


def test_new_tasks_may_go_where_all_siblings_may() -> None:
    wide = replace(
        pipeline(),
        nodes=("a", "b", "c"),
        domain_of=np.zeros(3, dtype=np.int64),
        capacity=np.full((3, 1), 10.0),
        eligible=np.array([[1, 1, 1], [1, 1, 1], [1, 1, 0], [0, 1, 0], [1, 1, 1]], dtype=bool),
    )
    assert resized(wide, {"work": 3}).eligible[4].tolist() == [False, True, False]
    tied = replace(wide, eligible=np.where(np.arange(5)[:, None] == 2, [1, 0, 0], wide.eligible))
    assert resized(tied, {"work": 3}).eligible[4].tolist() == [True, True, False]


@settings(max_examples=30, deadline=None)
@given(read=st.integers(1, 5), work=st.integers(1, 5), sink=st.integers(1, 5))
def test_what_flows_is_kept(read: int, work: int, sink: int) -> None:
    grown = resized(pipeline(), {"read": read, "work": work, "sink": sink})
    assert dense(grown.traffic).sum() == pytest.approx(150)
    assert grown.loads is not None
    assert grown.loads.processed_per_s.sum() == pytest.approx(250)
