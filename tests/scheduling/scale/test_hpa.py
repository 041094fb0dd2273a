"""The HorizontalPodAutoscaler's rule."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale import Lull, Memory, follow_utilization
from thalweg_streams import NAN, NOW_S, Flow, streaming


def working(busy: list[float], *, most: int = 100) -> Snapshot:
    snapshot = streaming({"work": Flow(tasks=len(busy), most=most)}, {})
    assert snapshot.loads is not None
    return replace(snapshot, loads=replace(snapshot.loads, busy_share=np.array(busy)))


@pytest.mark.parametrize(
    ("busy", "expected"),
    [
        ([0.7, 0.7], {}),
        ([0.76, 0.76], {}),  # within 10 %
        ([0.8, 0.8], {"work": 3}),
        ([1.0], {"work": 2}),
        ([1.0] * 10, {"work": 15}),
        ([NAN, NAN], {}),
        ([0.8, NAN], {}),  # counted as idle, it would shrink: so nothing
        ([1.0, 1.0, 1.0, NAN], {}),
        ([0.1, 0.1], {}),  # not before five minutes have passed
    ],
)
def test_the_rule(busy: list[float], expected: dict[str, int]) -> None:
    assert dict(follow_utilization(working(busy), now_s=NOW_S).replicas) == expected


def test_it_shrinks_to_the_most_of_five_minutes() -> None:
    lulls = {"work": Lull(since_s=NOW_S - 301, most_wanted=2)}
    memory = Memory(at_s=NOW_S - 15, lulls=lulls)
    scaling = follow_utilization(working([0.1] * 4), now_s=NOW_S, memory=memory)
    assert dict(scaling.replicas) == {"work": 2}
    unmeasured = follow_utilization(working([0.5, NAN, NAN, NAN]), now_s=NOW_S, memory=memory)
    assert not unmeasured.replicas


def test_bounds_hold() -> None:
    assert dict(follow_utilization(working([5.0] * 8, most=9), now_s=NOW_S).replicas) == {"work": 9}


def test_nothing_measured() -> None:
    assert not follow_utilization(replace(working([1.0]), loads=None), now_s=NOW_S).replicas
