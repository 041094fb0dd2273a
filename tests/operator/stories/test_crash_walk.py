"""The operator ended after every single write, started again, and the end is the same.

One walker never has its operator ended: it counts the writes and shows the end. The others go the
same way, each with its operator ended after another write.
"""

import random
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from thalweg_operator.cluster.resources import NODES
from thalweg_stories import chain, vertex, word_count
from thalweg_testbed import Cluster
from thalweg_told_measuring import ToldMeasuring
from thalweg_walks import Ground, Walker

pytestmark = pytest.mark.control_plane

WIDTH = 10
"""Walkers side by side: each turn reads the pods of all of them."""

Act = Callable[[Walker, int], None]
"""What the user does to a walker's topology in a lap, by its number."""

Likeness = Callable[[dict[str, Any]], dict[str, Any]]
"""The part of a state that walkers must have in common."""


@pytest.fixture
def ground(control_plane: Cluster) -> Iterator[Ground]:
    made = Ground(control_plane)
    yield made
    made.close()


def _batches(points: range) -> Iterator[tuple[int, list[int]]]:
    left = iter(points)
    lap = 1
    while batch := list(islice(left, WIDTH)):
        yield lap, batch
        lap += 1


def _lap(
    ground: Ground,
    walkers: list[Walker],
    points: list[int],
    wanted: dict[str, Any],
    alike: Likeness = dict,
) -> int:
    """Walk; all end where the first one did. Return how many operators were ended on the way."""
    ground.go(walkers)
    for walker, point in zip(walkers, points, strict=True):
        walker.assert_one_pod_each()
        assert alike(walker.state()) == alike(wanted), f"ended after write {point}"
    return sum(walker.deaths for walker in walkers)


def _walk(
    ground: Ground,
    walkers: list[Walker],
    act: Act,
    prepare: Act | None = None,
    alike: Likeness = dict,
) -> int:
    """Walk through every write that follows from what the user does; return how many."""
    first, *others = walkers
    first.arm(None)
    act(first, 0)
    ground.go([first])
    writes, ended = first.writes, 0
    for lap, points in _batches(range(writes)):
        walking = others[: len(points)]
        if prepare is not None:
            for walker in (first, *walking):
                walker.arm(None)
                prepare(walker, lap)
            ground.go([first, *walking])
        for walker, point in zip((first, *walking), (None, *points), strict=True):
            walker.arm(point)
            act(walker, lap)
        ground.go([first])
        first.assert_one_pod_each()
        ended += _lap(ground, walking, points, first.state(), alike)
    # A write that meets a conflict is made again, so that one way may be longer than another.
    assert ended >= writes - 2
    return writes


@pytest.mark.lengthy(seconds=60)
def test_start(ground: Ground) -> None:
    (first,) = ground.walkers(1)
    first.apply(word_count())
    ground.go([first])
    first.assert_one_pod_each()
    assert first.writes > 20
    ended = 0
    for _, points in _batches(range(first.writes)):
        walkers = ground.walkers(len(points))
        for walker, point in zip(walkers, points, strict=True):
            walker.arm(point)
            walker.apply(word_count())
        ended += _lap(ground, walkers, points, first.state())
        ground.dismiss(walkers)
    assert ended >= first.writes - 2


def _shared(**of_vertex: Any) -> dict[str, Any]:
    """The same five tasks, which share pods."""
    written = word_count(**of_vertex)
    written["spec"]["placement"] = {"processes": "Shared"}
    return written


@pytest.mark.lengthy(seconds=50)
def test_start_of_shared_pods(ground: Ground) -> None:
    (first,) = ground.walkers(1)
    first.apply(_shared())
    ground.go([first])
    first.assert_one_pod_each()
    ended = 0
    for _, points in _batches(range(first.writes)):
        walkers = ground.walkers(len(points))
        for walker, point in zip(walkers, points, strict=True):
            walker.arm(point)
            walker.apply(_shared())
        ended += _lap(ground, walkers, points, first.state(), _without_hashes)
        ground.dismiss(walkers)
    assert ended >= first.writes - 2


@pytest.mark.lengthy(seconds=55)
def test_a_task_less_in_a_shared_pod(ground: Ground, control_plane: Cluster) -> None:
    """On one node all tasks are in one pod, which is made anew without the task."""
    names = control_plane.add_nodes(domains=["alone"], per_domain=1, labels={"fleet": "alone"})
    small = {"cpu": "10m", "memory": "16Mi"}

    def settled(count: int) -> list[Walker]:
        walkers = ground.walkers(count)
        for walker in walkers:
            walker.apply(_shared(nodeSelector={"fleet": "alone"}, requests=small))
        ground.go(walkers)
        return walkers

    try:
        (first,) = settled(1)
        first.arm(None)
        first.scale("count", 1)
        ground.go([first])
        assert first.writes > 5
        ended = 0
        for _, points in _batches(range(first.writes)):
            walkers = settled(len(points))
            for walker, point in zip(walkers, points, strict=True):
                walker.arm(point)
                walker.scale("count", 1)
            ended += _lap(ground, walkers, points, first.state())
            ground.dismiss(walkers)
        assert ended >= first.writes - 2
    finally:
        control_plane.remove_nodes(*names)


def _settled(ground: Ground, count: int, **of_vertex: Any) -> list[Walker]:
    walkers = ground.walkers(count)
    for walker in walkers:
        walker.apply(word_count(**of_vertex))
    ground.go(walkers)
    return walkers


@pytest.mark.lengthy(seconds=145)
def test_roll(ground: Ground) -> None:
    def roll(walker: Walker, lap: int) -> None:
        walker.apply(word_count(image=f"example.org/worker:{lap + 2}"))

    walkers = _settled(ground, WIDTH + 1)
    assert _walk(ground, walkers, roll) > 20


def test_scale_down(ground: Ground) -> None:
    walkers = _settled(ground, WIDTH + 1)
    writes = _walk(
        ground,
        walkers,
        act=lambda walker, _: walker.scale("count", 1),
        prepare=lambda walker, _: walker.scale("count", 2),
    )
    assert writes > 5


@pytest.mark.lengthy(seconds=115)
def test_node_loss(ground: Ground, control_plane: Cluster) -> None:
    """The first walker loses a node of its own, to count; the others one that they share."""
    names: list[str] = []

    def fleet(name: str) -> dict[str, Any]:
        domains = [f"{name}-{letter}" for letter in "xyz"]
        names.extend(control_plane.add_nodes(domains=domains, per_domain=1, labels={"fleet": name}))
        return {"nodeSelector": {"fleet": name}}

    def lose(node: str) -> None:
        found = ground.user.get(NODES, None, node)
        assert found is not None
        ground.user.delete(NODES, None, node, uid=found["metadata"]["uid"])
        names.remove(node)

    try:
        (first,) = _settled(ground, 1, **fleet("one"))
        first.arm(None)
        lose("one-x-0")
        ground.go([first])
        first.assert_one_pod_each()
        points = list(range(first.writes))
        assert len(points) > 5
        walkers = _settled(ground, len(points), **fleet("many"))
        for walker, point in zip(walkers, points, strict=True):
            walker.arm(point)
        lose("many-x-0")
        ground.go(walkers)
        for walker, point in zip(walkers, points, strict=True):
            walker.assert_one_pod_each()
            state, wanted = walker.state(), first.state()
            # Their templates differ in the name of the fleet, and in nothing else.
            assert _without_hashes(state) == _without_hashes(wanted), f"after write {point}"
        assert sum(walker.deaths for walker in walkers) >= len(points) - 2
    finally:
        control_plane.remove_nodes(*names)


def _measured(walkers: list[Walker]) -> dict[str, ToldMeasuring]:
    """Each walker's operator is told what is measured; figures would come by the clock."""
    told = {
        walker.namespace: ToldMeasuring(per_s=1000.0, shows_figures=False) for walker in walkers
    }
    for walker in walkers:
        walker.measuring = told[walker.namespace]
        walker.arm(None)
    return told


@pytest.mark.lengthy(seconds=135)
def test_scale_by_load(ground: Ground) -> None:
    """A plan that scales two vertices up, because more flows."""
    walkers = ground.walkers(WIDTH + 1)
    told = _measured(walkers)
    scaling = {"mode": "Auto", "cooldownSeconds": 0, "scaleDownAfterSeconds": 0}
    flow = chain(
        "flow",
        vertex("read"),
        vertex("split", 2, least=2, most=3),
        vertex("count", 2, least=2, most=3),
        scaling=scaling,
        placement={"mode": "Off"},
    )
    for walker in walkers:
        walker.apply(flow)
    ground.go(walkers)

    def load(per_s: float) -> Act:
        def act(walker: Walker, _: int) -> None:
            told[walker.namespace].per_s = per_s

        return act

    writes = _walk(ground, walkers, act=load(2000.0), prepare=load(1000.0))
    assert writes > 15
    assert walkers[0].state()["plan"] == ("Applied", 2, 0)


@pytest.mark.lengthy(seconds=195)
def test_move(ground: Ground, control_plane: Cluster) -> None:
    """A plan that moves the tasks of one domain to the other, on nodes of each walker's own."""
    walkers = ground.walkers(WIDTH + 1)
    _measured(walkers)
    names: list[str] = []

    def spread(walker: Walker, least: int) -> None:
        flow = word_count(nodeSelector={"walker": walker.namespace})
        flow["spec"] |= {
            "strategy": "Auto",
            "placement": {"mode": "Auto", "minDomains": least},
            "scaling": {"mode": "Off", "cooldownSeconds": 0},
        }
        walker.apply(flow)

    try:
        for walker in walkers:
            domains = [f"{walker.namespace}-{letter}" for letter in "xy"]
            labels = {"walker": walker.namespace}
            names += control_plane.add_nodes(domains=domains, per_domain=1, labels=labels)
            spread(walker, 2)
        ground.go(walkers)
        writes = _walk(
            ground,
            walkers,
            act=lambda walker, _: spread(walker, 1),
            prepare=lambda walker, _: spread(walker, 2),
            alike=_without_hashes,
        )
        assert writes > 20
        assert walkers[0].state()["plan"] == ("Applied", 0, 2)
    finally:
        control_plane.remove_nodes(*names)


def _without_hashes(state: dict[str, Any]) -> dict[str, Any]:
    return {
        "pods": {task: [pod[1:] for pod in pods] for task, pods in state["pods"].items()},
        **{key: value for key, value in state.items() if key not in ("pods", "vertices")},
    }


def test_a_hundred_tasks_at_three_points(ground: Ground) -> None:
    hundred = chain("hundred", vertex("read", 20), vertex("split", 40), vertex("count", 40))
    first, *others = ground.walkers(4)
    for walker in (first, *others):
        walker.apply(hundred)
    ground.go([first])
    points = sorted(random.Random(20).sample(range(first.writes), len(others)))
    for walker, point in zip(others, points, strict=True):
        walker.arm(point)
    assert _lap(ground, others, points, first.state()) == len(points)
