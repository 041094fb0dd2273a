"""Nodes that go away, fall silent, are cordoned or drained."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest

from thalweg_hand_run_node import HandRunNode
from thalweg_operator.cluster.resources import PODS
from thalweg_stories import (
    Story,
    chain,
    node_name,
    vertex,
    word_count,
)
from thalweg_testbed import eventually

pytestmark = pytest.mark.control_plane


def _start(story: Story) -> None:
    story.apply(word_count(**story.here))
    story.until_ready("word-count")


def _served_elsewhere(story: Story, name: str, lost: str, tasks: int) -> Callable[[], bool]:
    """Whether all tasks are served by pods on other nodes, and the routes agree."""

    def check() -> bool:
        serving = {
            task: pod
            for task, pods in story.serving(name).items()
            for pod in pods
            if node_name(pod) != lost
        }
        routed = {
            task: receiver["node"]
            for sender, to in (("read", "split"), ("split", "count"))
            for task, receiver in story.receivers(name, sender, to).items()
        }
        return len(serving) == tasks and lost not in routed.values() and len(routed) == tasks - 1

    return check


def test_a_deleted_node(story: Story) -> None:
    nodes = story.add_nodes(domains=3)
    _start(story)
    lost = nodes[0]
    on_it = [task for task, node in story.nodes_of("word-count").items() if node == lost]
    assert on_it
    story.cluster.remove_nodes(lost)
    check = _served_elsewhere(story, "word-count", lost, 5)
    story.until(check, what="tasks of the deleted node served elsewhere")
    story.until(
        lambda: story.condition("word-count", "Ready")[0] == "True", what="ready without the node"
    )
    assert not [node for node in story.nodes_of("word-count").values() if node == lost]


def test_a_silent_node(story: Story) -> None:
    """It is borne for a while; then its pods are not counted any more, and replaced."""
    nodes = story.add_nodes(domains=3)
    _start(story)
    lost = nodes[0]
    before = {pod["metadata"]["name"] for pod in story.pods("word-count")}
    on_it = {pod["metadata"]["name"] for pod in story.pods("word-count") if node_name(pod) == lost}
    story.cluster.silence_node(lost)
    eventually(
        lambda: lost not in story.cluster.ready_nodes(), what="the node NotReady", timeout_s=120
    )
    story.restart(replace_after_not_ready_s=3600.0)
    story.until_still()
    assert {pod["metadata"]["name"] for pod in story.pods("word-count")} == before

    story.restart(replace_after_not_ready_s=3.0)
    check = _served_elsewhere(story, "word-count", lost, 5)
    story.until(check, what="tasks of the silent node served elsewhere")
    story.until(
        lambda: story.topology("word-count")["status"]["tasks"]["summary"] == "5/5",
        what="each task counted once",
    )
    going = {
        pod["metadata"]["name"]
        for pod in story.pods("word-count")
        if "deletionTimestamp" in pod["metadata"]
    }
    assert going == on_it, "nobody is there to end them, so they are still going"
    story.until_still()
    story.cluster.wake_node(lost)
    story.until_ready("word-count")
    assert not {pod["metadata"]["name"] for pod in story.pods("word-count")} & on_it


def test_a_cordon_moves_tasks_before_it_breaks_them(story: Story) -> None:
    nodes = story.add_nodes(domains=3)
    _start(story)
    left = nodes[0]
    moving = [task for task, node in story.nodes_of("word-count").items() if node == left]
    story.kubectl("cordon", left)

    def moved() -> bool:
        if not set(moving) <= set(story.serving("word-count")):
            pytest.fail(f"one of {moving} is not served while it moves")
        return story.is_settled("word-count") and left not in story.nodes_of("word-count").values()

    assert moving
    story.until(moved, what=f"{moving} moved from {left}")
    assert "NodeCordoned" in {reason for reason, _ in story.events("word-count")}


def test_a_move_waits_until_the_new_pod_is_ready(story: Story) -> None:
    """Make before break, step by step: the story plays the kubelet of the target."""
    (left,) = story.add_nodes(domains=1)
    story.apply(chain("one", vertex("read", **story.here), vertex("work", **story.here)))
    story.until_ready("one")
    with HandRunNode(story, "target") as target:
        story.kubectl("cordon", left)
        story.until(
            lambda: {node_name(pod) for pod in story.pods("one")} == {left, target.name},
            what="new pods on the target",
        )
        story.until_still()
        routed = story.receivers("one", "read", "work")["work-0"]
        assert routed["node"] == left
        assert story.condition("one", "Ready")[0] == "True"
        for number, pod in enumerate(story.pods("one")):
            if node_name(pod) == target.name:
                target.start(pod, f"10.99.0.{number + 1}")
        story.until(
            lambda: story.receivers("one", "read", "work")["work-0"]["node"] == target.name,
            what="routes to the target",
        )
        story.until(
            lambda: {node_name(pod) for pod in story.pods("one")} == {target.name},
            what="old pods gone",
        )
        story.kubectl("delete", "stopo", "one", "--wait=false")


def test_drain_without_force(story: Story) -> None:
    nodes = story.add_nodes(domains=3)
    _start(story)
    drained = nodes[0]
    with ThreadPoolExecutor(max_workers=1) as pool:
        draining = pool.submit(
            story.cluster.kubectl, "drain", drained, "--timeout=100s", timeout_s=150
        )
        story.until(draining.done, what="the drain ended", timeout_s=160)
        assert "drained" in draining.result()
    story.until_ready("word-count")
    assert drained not in story.nodes_of("word-count").values()
    left = story.user.list(PODS, fields=f"spec.nodeName={drained}")
    assert left == []


def test_a_cordon_with_nowhere_to_go_ends_nothing(story: Story) -> None:
    (only,) = story.add_nodes(domains=1)
    story.apply(chain("pair", vertex("work", 2, **story.here)))
    story.until_ready("pair")
    before = {pod["metadata"]["uid"] for pod in story.pods("pair")}
    story.kubectl("cordon", only)
    story.until(lambda: story.condition("pair", "Scheduled")[0] == "False", what="no room")
    story.until_still()
    assert {pod["metadata"]["uid"] for pod in story.pods("pair")} == before
    assert story.condition("pair", "Ready")[0] == "True"
    story.kubectl("uncordon", only)
    story.until(lambda: story.condition("pair", "Scheduled")[0] == "True", what="room again")
    assert {pod["metadata"]["uid"] for pod in story.pods("pair")} == before


def test_an_added_node_moves_nothing(story: Story) -> None:
    story.add_nodes(domains=1)
    _start(story)
    before = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    story.add_nodes(domains=1, first=1)
    story.until_still()
    assert {pod["metadata"]["uid"] for pod in story.pods("word-count")} == before
