"""What would flow if nothing were held up, and that tasks are laid out by it."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import NOW_S, OBSERVED, Cluster, make_snapshot
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.scale import offered_views
from thalweg_scheduling.scale.offered import CORES_OF_A_WORKER, STEPS

BEFORE = Memory(at_s=OBSERVED.at_s - 10, queue_tuples={"a": 0.0, "b": 0.0})
"""A look at empty queues, ten seconds earlier."""


def running(
    *,
    cpu: float = 0.2,
    busy: float = 0.4,
    queue: Sequence[float] = (0.0, 0.0),
    held_up: float = 0.0,
    placement: Sequence[int] = (0, 0),
    nodes: int = 4,
) -> Snapshot:
    """A source and a sink with 100 tuples/s, on nodes of one core."""
    snapshot = make_snapshot(
        {"a": 1, "b": 1},
        cluster=Cluster(nodes=nodes, domains=1, cpu=1.0),
        placement=placement,
        cpu=0.1,
    )
    loads = TaskLoad(
        cpu_cores=np.full(2, cpu),
        memory_bytes=np.full(2, 1e6),
        busy_share=np.full(2, busy),
        backpressured_share=np.array([held_up, 0.0]),
        wait_s=np.zeros(2),
        processed_per_s=np.full(2, 100.0),
        true_rate_per_s=np.full(2, 100.0 / busy),
        queue_tuples=np.array(queue),
        observed=OBSERVED,
    )
    return replace(snapshot, loads=loads)


def more(view: Snapshot) -> tuple[float, float, float]:
    """What the source does, what it sends and the CPU of the sink, as multiples of what was."""
    assert view.loads is not None
    assert view.traffic is not None
    return (
        float(view.loads.processed_per_s[0]) / 100,
        float(view.traffic.tuples_per_s[0]) / 100,
        float(view.loads.cpu_cores[1]) / 0.2,
    )


@pytest.mark.parametrize(
    "snapshot",
    [
        running(),
        running(queue=(50, 50)),  # half a second's work is no queue
        running(held_up=0.03),
        replace(running(), loads=None),
    ],
)
def test_what_gets_through_is_what_was_measured(snapshot: Snapshot) -> None:
    (only,) = offered_views(snapshot, BEFORE)
    assert only is snapshot


def test_a_source_that_is_held_up_would_go_on_at_its_pace() -> None:
    snapshot = running(held_up=0.5)
    views = offered_views(snapshot, None)
    assert [more(view) for view in views] == [
        pytest.approx((1 + step, 1 + step, 1 + step)) for step in (*STEPS, 0)
    ]
    assert views[-1] is snapshot


def test_a_queue_that_grows_says_what_is_offered() -> None:
    # 50 tuples/s more than are processed, and 500 that wait for 180 s at most.
    view = offered_views(running(queue=(500, 0)), BEFORE)[0]
    assert more(view)[0] == pytest.approx(1.5 + 500 / 180 / 100)


def test_nobody_is_asked_for_more_than_a_core() -> None:
    view = offered_views(running(cpu=0.4, busy=0.2, held_up=0.75, placement=(0, 1)), None)[0]
    assert view.loads is not None
    assert view.loads.cpu_cores.tolist() == [CORES_OF_A_WORKER] * 2


def test_who_is_always_busy_on_a_node_with_room_would_be_no_faster_elsewhere() -> None:
    (only,) = offered_views(running(busy=1.0, held_up=0.5), None)
    assert more(only)[0] == 1
    half = offered_views(running(busy=0.8, held_up=0.5), None)[0]
    assert more(half)[0] == pytest.approx(1.25)
    crowded = offered_views(running(cpu=0.49, busy=1.0, held_up=0.5), None)[0]
    assert more(crowded)[0] == pytest.approx(2)


def test_a_node_that_is_too_small_for_what_is_offered_is_left_in_time() -> None:
    growing = running(cpu=0.4, busy=0.6, queue=(600, 0))
    assert not decide(growing, "Auto", now_s=NOW_S, rng=np.random.default_rng(0)).moves
    known = replace(growing, memory=BEFORE)
    plan = decide(known, "Auto", now_s=NOW_S, rng=np.random.default_rng(0))
    assert len(plan.moves) == 1
    assert "overloaded" in plan.reasons[0].message


def test_where_there_is_no_room_for_all_of_it_nothing_is_given_up() -> None:
    alone = replace(running(cpu=0.4, busy=0.6, queue=(600, 0), nodes=1), memory=BEFORE)
    plan = decide(alone, "Auto", now_s=NOW_S, rng=np.random.default_rng(0))
    assert not plan.moves
    assert "fits" not in plan.reasons[0].message


def test_queues_are_remembered_though_nothing_may_scale() -> None:
    plan = decide(running(queue=(70, 0)), "Auto", now_s=NOW_S, rng=np.random.default_rng(0))
    assert plan.memory is not None
    assert dict(plan.memory.queue_tuples) == {"a": 70.0, "b": 0.0}
