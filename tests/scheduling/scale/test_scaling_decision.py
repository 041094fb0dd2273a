"""Bounds, steps, delays and doubts around what the rates ask for."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from thalweg_scheduling.model.limits import Limits, ScalingLimits
from thalweg_scheduling.model.matrices import LOAD_FIELDS, Observed
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale import Lull, Memory, Raise, Scaling, decide_replicas
from thalweg_streams import NAN, NOW_S, Flow, seen, streaming


def working(
    tasks: int,
    load: float,
    *,
    limits: ScalingLimits | None = None,
    most: int = 1024,
    loads_seen: Observed | None = None,
    last_scaled_at_s: float | None = None,
    queue_tuples: float = 0.0,
    backpressured: float = 0.0,
) -> Snapshot:
    """A source and one vertex whose tasks do 100/s each, `load` tasks' worth of them used."""
    rate = 100 * load
    return streaming(
        {
            "read": Flow(tasks=1, processed_per_s=rate, true_rate_per_s=1e9),
            "work": Flow(
                tasks=tasks,
                processed_per_s=rate,
                true_rate_per_s=100,
                most=most,
                queue_tuples=queue_tuples,
                backpressured=backpressured,
            ),
        },
        {("read", "work"): rate},
        limits=Limits(scaling=limits or ScalingLimits()),
        loads_seen=loads_seen,
        last_scaled_at_s=last_scaled_at_s,
    )


def codes(scaling: Scaling) -> list[ReasonCode]:
    return [reason.code for reason in scaling.reasons]


def test_the_message_says_from_where_to_where_and_why() -> None:
    scaling = decide_replicas(working(4, 4 * 0.91), now_s=NOW_S)
    assert scaling.reasons[0].message.startswith("work 4→6: busy 0.91")
    assert codes(scaling) == [ReasonCode.SCALED_UP]


@pytest.mark.parametrize(
    ("snapshot", "expected", "code"),
    [
        (working(2, 20), {"work": 8}, ReasonCode.SCALED_UP),  # at most ×4
        (working(2, 20, most=5), {"work": 5}, ReasonCode.SCALED_UP),
        (working(5, 20, most=5), {}, ReasonCode.AT_LIMIT),
        (working(4, 2.8), {}, ReasonCode.WITHIN_TOLERANCE),
        (working(4, 2.9), {}, ReasonCode.WITHIN_TOLERANCE),
        (working(40, 1), {"work": 2}, ReasonCode.SCALED_DOWN),
        (
            working(40, 1, limits=ScalingLimits(max_down_share=0.25)),
            {"work": 30},
            ReasonCode.SCALED_DOWN,
        ),
        (
            working(2, 1, limits=ScalingLimits(max_down_share=0.1, target_utilization=1.0)),
            {"work": 1},  # a share of less than one task is one task
            ReasonCode.SCALED_DOWN,
        ),
        (working(4, 4, last_scaled_at_s=NOW_S - 59), {}, ReasonCode.COOLING_DOWN),
        (working(4, 4, last_scaled_at_s=NOW_S - 61), {"work": 6}, ReasonCode.SCALED_UP),
        (working(4, 1, last_scaled_at_s=NOW_S - 599), {}, ReasonCode.STABILISING),
        (working(4, 1, last_scaled_at_s=NOW_S - 601), {"work": 2}, ReasonCode.SCALED_DOWN),
        (working(4, 4, loads_seen=seen(age_s=46)), {}, ReasonCode.METRICS_STALE),
        (working(4, 4, loads_seen=seen(age_s=-46)), {}, ReasonCode.METRICS_STALE),
        (working(4, 4, loads_seen=seen(coverage=0.5)), {"work": 6}, ReasonCode.SCALED_UP),
        (working(4, 1, loads_seen=seen(coverage=0.5)), {}, ReasonCode.METRICS_PARTIAL),
        (working(4, 1, loads_seen=seen(coverage=NAN)), {}, ReasonCode.METRICS_PARTIAL),
        (working(4, 1, backpressured=0.2), {}, ReasonCode.STABILISING),
    ],
)
def test_limits(snapshot: Snapshot, expected: Mapping[str, int], code: ReasonCode) -> None:
    scaling = decide_replicas(snapshot, now_s=NOW_S)
    assert dict(scaling.replicas) == expected
    assert codes(scaling) == [code]


def test_nothing_measured_is_no_reason_to_do_anything() -> None:
    scaling = decide_replicas(replace(working(4, 1), loads=None), now_s=NOW_S)
    assert not scaling.replicas
    assert codes(scaling) == [ReasonCode.METRICS_MISSING]


def test_a_queue_that_grows_keeps_its_tasks() -> None:
    memory = Memory(
        at_s=NOW_S - 11,
        queue_tuples={"read": 0.0, "work": 0.0},
        lulls={"work": Lull(since_s=0.0, most_wanted=2)},
    )
    snapshot = working(4, 1, queue_tuples=200)
    assert codes(decide_replicas(snapshot, now_s=NOW_S, memory=memory)) == [ReasonCode.STABILISING]


@pytest.mark.parametrize("field", ["processed_per_s", "true_rate_per_s"])
def test_one_unmeasured_task_keeps_all(field: str) -> None:
    snapshot = working(4, 1)
    assert snapshot.loads is not None
    holes = np.array(getattr(snapshot.loads, field))
    holes[2] = NAN
    loads = replace(snapshot.loads, busy_share=np.full(5, NAN), observed=seen(), **{field: holes})
    assert not decide_replicas(replace(snapshot, loads=loads), now_s=NOW_S).replicas


def test_without_traffic_a_vertex_is_judged_by_itself_and_does_not_shrink() -> None:
    assert not decide_replicas(replace(working(4, 1), traffic=None), now_s=NOW_S).replicas
    grown = decide_replicas(replace(working(4, 4), traffic=None), now_s=NOW_S)
    assert dict(grown.replicas) == {"work": 6}


def two(first: tuple[int, float], second: tuple[int, float]) -> Snapshot:
    """Two vertices side by side: how many tasks, and how many tasks' worth of them used."""
    flows = {
        name: Flow(tasks=tasks, processed_per_s=100 * load, true_rate_per_s=100)
        for name, (tasks, load) in (("one", first), ("other", second))
    }
    return streaming(flows, {})


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    [
        ((40, 28.0), (40, 29.0), {}),  # 41.4 wanted: within the tolerance
        ((40, 40.0), (40, 29.0), {"one": 58, "other": 42}),  # where one must grow, both do
        ((40, 28.0), (40, 27.0), {}),  # 38.6 wanted: not worth the trouble
        ((40, 14.0), (40, 27.0), {"one": 20, "other": 39}),  # where one shrinks, both do
    ],
)
def test_what_is_tolerated_alone_goes_along_with_others(
    first: tuple[int, float], second: tuple[int, float], expected: dict[str, int]
) -> None:
    assert dict(decide_replicas(two(first, second), now_s=NOW_S).replicas) == expected


class TestMemory:
    """What two moments tell and one does not."""

    def test_a_lull_has_to_last(self) -> None:
        memory = decide_replicas(working(8, 1), now_s=NOW_S).memory
        assert memory is not None
        assert memory.lulls["work"] == Lull(since_s=NOW_S, most_wanted=2)
        again = decide_replicas(working(8, 1), now_s=NOW_S + 10, memory=memory)
        assert not again.replicas
        assert codes(again) == [ReasonCode.STABILISING]

    def test_it_ends_in_the_most_that_was_wanted(self) -> None:
        lulls = {"work": Lull(since_s=NOW_S - 601, most_wanted=5)}
        scaling = decide_replicas(
            working(8, 1), now_s=NOW_S, memory=Memory(at_s=NOW_S - 15, lulls=lulls)
        )
        assert dict(scaling.replicas) == {"work": 5}

    def test_a_snapshot_brings_its_own(self) -> None:
        lulls = {"work": Lull(since_s=NOW_S - 601, most_wanted=5)}
        snapshot = replace(working(8, 1), memory=Memory(at_s=NOW_S - 15, lulls=lulls))
        assert dict(decide_replicas(snapshot, now_s=NOW_S).replicas) == {"work": 5}

    def test_it_is_over_when_all_tasks_are_needed(self) -> None:
        lulls = {"work": Lull(since_s=NOW_S - 500, most_wanted=2)}
        scaling = decide_replicas(
            working(8, 5.5), now_s=NOW_S, memory=Memory(at_s=NOW_S - 15, lulls=lulls)
        )
        assert scaling.memory is not None
        assert "work" not in scaling.memory.lulls

    def test_a_raise_that_did_not_help_is_not_repeated(self) -> None:
        earlier = Raise(at_s=NOW_S - 70, from_replicas=4, to_replicas=8, capacity_per_s=790.0)
        memory = Memory(at_s=NOW_S - 15, raises={"work": earlier})
        scaling = decide_replicas(working(8, 8), now_s=NOW_S, memory=memory)
        assert not scaling.replicas
        assert codes(scaling) == [ReasonCode.INEFFECTIVE]
        helped = replace(earlier, capacity_per_s=400.0)
        memory = Memory(at_s=NOW_S - 15, raises={"work": helped})
        assert decide_replicas(working(8, 8), now_s=NOW_S, memory=memory).replicas

    def test_the_same_moment_twice_says_the_same(self) -> None:
        memory = Memory(at_s=NOW_S - 11, queue_tuples={"read": 0.0, "work": 0.0})
        snapshot = working(4, 4, queue_tuples=900)
        first = decide_replicas(snapshot, now_s=NOW_S, memory=memory)
        second = decide_replicas(snapshot, now_s=NOW_S, memory=first.memory)
        assert first.replicas
        assert dict(first.replicas) == dict(second.replicas)


UNKNOWN = st.sampled_from([NAN, -1.0, np.inf])


@settings(max_examples=50, deadline=None)
@given(
    tasks=st.integers(1, 12),
    load=st.floats(0, 30),
    field=st.sampled_from([name for name in LOAD_FIELDS if name != "memory_bytes"]),
    hole=st.integers(0, 12),
    value=UNKNOWN,
)
def test_what_cannot_be_a_measurement_never_shrinks_and_never_raises(
    tasks: int, load: float, field: str, hole: int, value: float
) -> None:
    snapshot = working(tasks, load)
    assert snapshot.loads is not None
    values = np.array(getattr(snapshot.loads, field))
    values[hole % len(values)] = value
    fields = {field: values}
    if field in {"true_rate_per_s", "busy_share"}:
        fields = {"true_rate_per_s": values, "busy_share": values}
    loads = replace(snapshot.loads, observed=seen(), **fields)
    scaling = decide_replicas(replace(snapshot, loads=loads), now_s=NOW_S)
    needed_for_less = {"processed_per_s", "true_rate_per_s", "busy_share"}
    if field in needed_for_less and hole % len(values) > 0:
        assert scaling.replicas.get("work", tasks) >= tasks


@settings(max_examples=50, deadline=None)
@given(tasks=st.integers(1, 200), load=st.one_of(st.floats(0, 1e4), st.just(1e300)))
def test_replicas_keep_to_bounds_and_steps(tasks: int, load: float) -> None:
    snapshot = working(tasks, load, most=300)
    number = decide_replicas(snapshot, now_s=NOW_S).replicas.get("work", tasks)
    assert 1 <= number <= min(300, max(tasks + 1, 4 * tasks))
