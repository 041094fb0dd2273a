"""Requests may fill a node, measured use may not."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import OBSERVED, Cluster, make_snapshot
from thalweg_scheduling.measure.needs import needs, overloaded
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot

FULL = make_snapshot({"a": 4}, [], Cluster(nodes=2, cpu=1.0), cpu=0.25)


def using(snapshot: Snapshot, cpu: list[float]) -> Snapshot:
    unknown = TaskLoad.unknown(len(cpu))
    return replace(snapshot, loads=replace(unknown, cpu_cores=np.array(cpu), observed=OBSERVED))


def test_requests_may_fill_a_node() -> None:
    assert not overloaded(needs(FULL), np.zeros(4, dtype=np.int64)).any()


@pytest.mark.parametrize(
    ("cpu", "over"),
    [
        pytest.param([0.2, 0.2, 0.2, 0.2], False, id="0.80 of 0.85"),
        pytest.param([0.3, 0.2, 0.2, 0.2], True, id="0.90 of 0.85"),
        pytest.param([np.nan] * 4, False, id="nothing measured"),
        pytest.param([0.2, np.nan, np.nan, np.nan], False, id="the unmeasured by their requests"),
    ],
)
def test_measured_use_may_fill_only_a_share(cpu: list[float], over: bool) -> None:
    wanted = needs(using(FULL, cpu))
    assert overloaded(wanted, np.zeros(4, dtype=np.int64)).tolist() == [over, False]


def test_a_node_without_room_for_us_is_not_overloaded_by_nothing() -> None:
    taken = replace(FULL, capacity=np.array([[-1.0, 10.0], [4.0, 10.0]]))
    assert not overloaded(needs(taken), np.ones(4, dtype=np.int64)).any()
    assert overloaded(needs(taken), np.zeros(4, dtype=np.int64)).tolist() == [True, False]
