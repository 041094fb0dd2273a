"""How many tasks the rates ask for, in one step, over the whole graph."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Limits, ScalingLimits
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale import Memory, decide_replicas
from thalweg_scheduling.scale.flow import vertices_in_order
from thalweg_streams import NAN, NOW_S, Flow, streaming

AT_ONCE = Limits(scaling=ScalingLimits(scale_down_after_s=0.0))


def word_count(rate_per_s: float, *, split: int = 2, count: int = 2) -> Snapshot:
    """Reads sentences of five words; nothing is held up."""
    return streaming(
        {
            "read": Flow(tasks=1, processed_per_s=rate_per_s, true_rate_per_s=10_000),
            "split": Flow(tasks=split, processed_per_s=rate_per_s, true_rate_per_s=500),
            "count": Flow(tasks=count, processed_per_s=5 * rate_per_s, true_rate_per_s=2000),
        },
        {("read", "split"): rate_per_s, ("split", "count"): 5 * rate_per_s},
        limits=AT_ONCE,
    )


@pytest.mark.parametrize(
    ("rate_per_s", "expected"),
    [
        (0, {"split": 1, "count": 1}),
        (300, {"split": 1}),
        (500, {}),
        (580, {}),  # count would need 2.07 tasks: within the tolerance of 2
        (700, {"count": 3}),
        (1000, {"split": 3, "count": 4}),
    ],
)
def test_every_vertex_gets_what_its_rate_needs(rate_per_s: float, expected: dict[str, int]) -> None:
    scaling = decide_replicas(word_count(rate_per_s), now_s=NOW_S)
    assert dict(scaling.replicas) == expected


def throttled(*, queue_tuples: float, backpressured: float = 0.6) -> Snapshot:
    """1000/s are offered, but split can only do 400/s, so read is held up and its queue grows."""
    return streaming(
        {
            "read": Flow(
                tasks=1,
                processed_per_s=400,
                true_rate_per_s=10_000,
                queue_tuples=queue_tuples,
                backpressured=backpressured,
            ),
            "split": Flow(tasks=1, processed_per_s=400, true_rate_per_s=400),
            "count": Flow(tasks=1, processed_per_s=2000, true_rate_per_s=8000),
        },
        {("read", "split"): 400, ("split", "count"): 2000},
        limits=Limits(scaling=ScalingLimits(backlog_seconds=1e9)),
    )


def test_a_growing_queue_tells_the_offered_rate_exactly() -> None:
    memory = Memory(at_s=NOW_S - 11, queue_tuples={"read": 0.0, "split": 0.0, "count": 0.0})
    scaling = decide_replicas(throttled(queue_tuples=6000), now_s=NOW_S, memory=memory)
    # 400/s processed and 6000 more waiting after 10 s: 1000/s. split needs 1000 / 280, count
    # 5000 / 5600.
    assert dict(scaling.replicas) == {"split": 4}


def test_without_a_second_look_held_up_time_stands_for_it() -> None:
    scaling = decide_replicas(throttled(queue_tuples=6000), now_s=NOW_S)
    # 400/s in 40 % of the time: 1000/s.
    assert dict(scaling.replicas) == {"split": 4}


def test_a_source_that_is_always_held_up_counts_as_the_largest_step() -> None:
    scaling = decide_replicas(throttled(queue_tuples=0, backpressured=1.0), now_s=NOW_S)
    assert scaling.wanted["split"] == 6  # 1600 / 280


def test_a_backlog_is_worked_off_in_time() -> None:
    limits = Limits(scaling=ScalingLimits(backlog_seconds=10.0))
    snapshot = streaming(
        {
            "read": Flow(tasks=1, processed_per_s=100, true_rate_per_s=1000, queue_tuples=9000),
            "work": Flow(tasks=1, processed_per_s=100, true_rate_per_s=250),
        },
        {("read", "work"): 100},
        limits=limits,
    )
    scaling = decide_replicas(snapshot, now_s=NOW_S)
    # 1000/s for ten seconds, with tasks that may then be busy all the time: exactly one reader.
    assert dict(scaling.replicas) == {"work": 4}


def test_a_diamond_adds_up() -> None:
    snapshot = streaming(
        {
            "read": Flow(tasks=1, processed_per_s=100, true_rate_per_s=1000),
            "left": Flow(tasks=1, processed_per_s=100, true_rate_per_s=1000),
            "right": Flow(tasks=1, processed_per_s=50, true_rate_per_s=1000),
            "join": Flow(tasks=1, processed_per_s=150, true_rate_per_s=100),
        },
        {
            ("read", "left"): 100,
            ("read", "right"): 50,
            ("left", "join"): 100,
            ("right", "join"): 50,
        },
    )
    assert dict(decide_replicas(snapshot, now_s=NOW_S).replicas) == {"join": 3}


def test_a_broadcast_is_not_divided_by_adding_tasks() -> None:
    def snapshot(rules_per_s: float) -> Snapshot:
        return streaming(
            {
                "events": Flow(tasks=1, processed_per_s=900, true_rate_per_s=10_000),
                "rules": Flow(tasks=1, processed_per_s=rules_per_s, true_rate_per_s=10_000),
                "match": Flow(tasks=2, processed_per_s=900 + 2 * rules_per_s, true_rate_per_s=1000),
            },
            {("events", "match"): 900, ("rules", "match"): 2 * rules_per_s},
            groupings={("rules", "match"): GroupingType.BROADCAST},
        )

    # Each task gets all 400 rules/s, which leaves 300/s of its 700/s for events.
    assert dict(decide_replicas(snapshot(400), now_s=NOW_S).replicas) == {"match": 3}
    hopeless = decide_replicas(snapshot(800), now_s=NOW_S)
    assert not hopeless.replicas
    assert [reason.code for reason in hopeless.reasons] == [ReasonCode.AT_LIMIT]


def test_a_global_stream_stays_on_one_task() -> None:
    snapshot = streaming(
        {
            "read": Flow(tasks=1, processed_per_s=500, true_rate_per_s=10_000),
            "rank": Flow(tasks=1, processed_per_s=500, true_rate_per_s=510),
        },
        {("read", "rank"): 500},
        groupings={("read", "rank"): GroupingType.GLOBAL},
    )
    scaling = decide_replicas(snapshot, now_s=NOW_S)
    assert not scaling.replicas
    assert scaling.reasons[0].code is ReasonCode.AT_LIMIT


def test_the_true_rate_follows_from_busy_time_where_it_is_not_given() -> None:
    snapshot = word_count(1000)
    assert snapshot.loads is not None
    busy = np.minimum(snapshot.loads.busy_share, 1.0)
    loads = replace(
        snapshot.loads,
        true_rate_per_s=np.full(5, NAN),
        busy_share=np.where(np.arange(5) < 3, busy, np.array([0, 0, 0, 0.5, 0.5])),
    )
    scaling = decide_replicas(replace(snapshot, loads=loads), now_s=NOW_S)
    assert dict(scaling.replicas) == {"split": 3}  # 500/s a task; count does 5000/s a task


def test_a_cycle_is_refused() -> None:
    looped = streaming({"a": Flow(tasks=1), "b": Flow(tasks=1)}, {("a", "b"): 1.0, ("b", "a"): 1.0})
    with pytest.raises(InvalidSnapshot, match="cycle"):
        vertices_in_order(looped)
