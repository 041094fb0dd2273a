"""A changed template rolls: within its budget, and without leaving a task unserved."""

from collections.abc import Callable
from typing import Any

import pytest

from thalweg_hand_run_node import HandRunNode
from thalweg_operator import naming
from thalweg_operator.cluster.resources import Object
from thalweg_stories import (
    Story,
    by_task,
    chain,
    is_active,
    is_ready,
    node_name,
    vertex,
    word_count,
)

pytestmark = pytest.mark.control_plane

OLD, NEW, BAD = "example.org/worker:1", "example.org/worker:2", "example.org/typo:2"


def _images(pods: list[Object]) -> set[str]:
    return {pod["spec"]["containers"][0]["image"] for pod in pods}


def _watched(story: Story, name: str, *, surge: int, unserved: int = 0) -> Callable[[], bool]:
    """Whether the roll is over; fails as soon as it goes past its budget."""
    wanted = set(by_task(story.pods(name)))

    def check() -> bool:
        pods = [pod for pod in story.pods(name) if is_active(pod)]
        served = set(by_task(pod for pod in pods if is_ready(pod)))
        if len(wanted - served) > unserved:
            pytest.fail(f"{sorted(wanted - served)} are not served\n{story.picture()}")
        of_vertex: dict[str, int] = {}
        for task, of_task in by_task(pods).items():
            if len(of_task) > 1:
                prefix = task.rpartition("-")[0]
                of_vertex[prefix] = of_vertex.get(prefix, 0) + 1
        if max(of_vertex.values(), default=0) > surge:
            pytest.fail(f"more than {surge} tasks of a vertex in flight: {of_vertex}")
        return story.is_settled(name) and len(served) == len(wanted)

    return check


def _is_rolled(story: Story, name: str, watched: Callable[[], bool], image: str) -> bool:
    return watched() and _images(story.pods(name)) == {image}


@pytest.mark.parametrize("surge", [1, 3])
def test_a_new_image_rolls_within_its_budget(story: Story, surge: int) -> None:
    story.apply(chain("roll", vertex("read", 2), vertex("work", 6, surge=surge)))
    story.until_ready("roll")
    before = {pod["metadata"]["uid"] for pod in story.pods("roll")}
    watched = _watched(story, "roll", surge=surge)
    changed = vertex("work", 6, surge=surge, image=NEW)
    story.apply(chain("roll", vertex("read", 2, image=NEW), changed))
    story.until(lambda: _is_rolled(story, "roll", watched, NEW), what="rolled")
    assert not before & {pod["metadata"]["uid"] for pod in story.pods("roll")}
    assert story.vertex("roll", "work")["status"]["updatedReplicas"] == 6
    assert "TemplateChanged" in {reason for reason, _ in story.events("roll")}


def test_only_the_changed_vertex_rolls(story: Story) -> None:
    story.apply(chain("roll", vertex("read", 2), vertex("work", 2)))
    story.until_ready("roll")
    before = {task: pods[0]["metadata"]["uid"] for task, pods in story.serving("roll").items()}
    heavier = vertex("work", 2, requests={"cpu": "60m", "memory": "64Mi"})
    story.apply(chain("roll", vertex("read", 2), heavier))
    story.until(
        lambda: (
            story.is_settled("roll")
            and story.vertex("roll", "work")["status"]["updatedReplicas"] == 2
            and all(
                story.pod_of("roll", f"work-{index}")["metadata"]["uid"] != before[f"work-{index}"]
                for index in (0, 1)
            )
        ),
        what="work rolled",
    )
    for task in ("read-0", "read-1"):
        assert story.pod_of("roll", task)["metadata"]["uid"] == before[task]


def test_without_room_for_two_one_task_at_a_time_leaves_first(story: Story) -> None:
    story.add_nodes(domains=2, cpu="1")
    tight: dict[str, Any] = {"requests": {"cpu": "700m"}, **story.here}
    story.apply(chain("tight", vertex("work", 2, **tight)))
    story.until_ready("tight")
    watched = _watched(story, "tight", surge=1, unserved=1)
    story.apply(chain("tight", vertex("work", 2, image=NEW, **tight)))
    story.until(lambda: _is_rolled(story, "tight", watched, NEW), what="rolled")
    assert "NoRoomForTwo" in {reason for reason, _ in story.events("tight")}


def test_a_template_that_fits_nowhere_costs_no_pod(story: Story) -> None:
    story.add_nodes(domains=2, cpu="1")
    story.apply(chain("grown", vertex("work", 2, requests={"cpu": "700m"}, **story.here)))
    story.until_ready("grown")
    before = {pod["metadata"]["uid"] for pod in story.pods("grown")}
    story.apply(chain("grown", vertex("work", 2, requests={"cpu": "7"}, **story.here)))
    story.until(lambda: story.condition("grown", "Scheduled")[0] == "False", what="no room")
    story.until_still()
    assert {pod["metadata"]["uid"] for pod in story.pods("grown")} == before
    assert story.condition("grown", "Ready")[0] == "True"


def _at(node: str) -> dict[str, Any]:
    return {"nodeSelector": {"kubernetes.io/hostname": node}}


def _fail_to_pull(story: Story, pod: Object) -> None:
    waiting = {"waiting": {"reason": "ErrImagePull", "message": "no such image"}}
    container = {"name": "worker", "image": BAD, "ready": False, "restartCount": 0, "imageID": ""}
    story.set_pod_status(pod, {"containerStatuses": [{**container, "state": waiting}]})


def test_a_bad_image_halts_the_roll_and_a_good_one_goes_on(story: Story) -> None:
    story.add_nodes(domains=2)
    story.apply(chain("roll", vertex("work", 3, **story.here)))
    story.until_ready("roll")
    with HandRunNode(story, "bad", is_here=False) as bad:
        story.apply(chain("roll", vertex("work", 3, image=BAD, **_at(bad.name))))
        story.until(
            lambda: [pod for pod in story.pods("roll") if node_name(pod) == bad.name],
            what="a pod with the bad image",
        )
        (typo,) = [pod for pod in story.pods("roll") if node_name(pod) == bad.name]
        _fail_to_pull(story, typo)
        story.until_still()
        assert len([pod for pod in story.pods("roll") if node_name(pod) == bad.name]) == 1
        assert len(story.serving("roll")) == 3
        assert story.vertex("roll", "work")["status"]["updatedReplicas"] == 1

        story.apply(chain("roll", vertex("work", 3, image=NEW, **story.here)))
        story.until(
            lambda: "deletionTimestamp" in _again(story, typo)["metadata"], what="the typo ended"
        )
        bad.finish(typo)
        watched = _watched(story, "roll", surge=1)
        story.until(lambda: _is_rolled(story, "roll", watched, NEW), what="rolled")


def test_taking_a_bad_image_back_keeps_the_pods_that_still_serve(story: Story) -> None:
    story.add_nodes(domains=2)
    good = chain("roll", vertex("work", 3, **story.here))
    story.apply(good)
    story.until_ready("roll")
    before = {pod["metadata"]["uid"] for pod in story.pods("roll")}
    with HandRunNode(story, "bad", is_here=False) as bad:
        story.apply(chain("roll", vertex("work", 3, image=BAD, **_at(bad.name))))
        story.until(
            lambda: [pod for pod in story.pods("roll") if node_name(pod) == bad.name],
            what="a pod with the bad image",
        )
        (typo,) = [pod for pod in story.pods("roll") if node_name(pod) == bad.name]
        story.apply(good)
        story.until(
            lambda: "deletionTimestamp" in _again(story, typo)["metadata"], what="the typo ended"
        )
        bad.finish(typo)
        story.until_ready("roll")
        assert {pod["metadata"]["uid"] for pod in story.pods("roll")} == before


def _again(story: Story, pod: Object) -> Object:
    uid = pod["metadata"]["uid"]
    (found,) = [one for one in story.pods("roll") if one["metadata"]["uid"] == uid]
    return found


def test_a_change_in_the_middle_of_a_roll(story: Story) -> None:
    story.apply(chain("roll", vertex("work", 4)))
    story.until_ready("roll")
    watched = _watched(story, "roll", surge=1)
    story.apply(chain("roll", vertex("work", 4, image=BAD)))
    story.until(lambda: BAD in _images(story.pods("roll")), what="the roll began")
    story.apply(chain("roll", vertex("work", 4, image=NEW)))
    story.until(lambda: _is_rolled(story, "roll", watched, NEW), what="rolled to the last change")


def test_a_cordon_in_the_middle_of_a_roll(story: Story) -> None:
    nodes = story.add_nodes(domains=3)
    story.apply(word_count(**story.here))
    story.until_ready("word-count")
    watched = _watched(story, "word-count", surge=1)
    story.apply(word_count(image=NEW, **story.here))
    story.until(lambda: NEW in _images(story.pods("word-count")), what="the roll began")
    story.kubectl("cordon", nodes[1])
    story.until(lambda: _is_rolled(story, "word-count", watched, NEW), what="rolled")
    story.until(
        lambda: nodes[1] not in story.nodes_of("word-count").values(), what="the node is left"
    )


def test_scaling_in_the_middle_of_a_roll(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    story.apply(word_count(image=NEW))
    story.until(lambda: NEW in _images(story.pods("word-count")), what="the roll began")
    story.scale("word-count", "split", 4)
    story.scale("word-count", "count", 1)
    story.until(
        lambda: story.is_settled("word-count") and _images(story.pods("word-count")) == {NEW},
        what="rolled and scaled",
    )
    tasks = set(by_task(story.pods("word-count")))
    assert tasks == {"read-0", *(f"split-{index}" for index in range(4)), "count-0"}
    hashes = {pod["metadata"]["labels"][naming.TEMPLATE_HASH] for pod in story.pods("word-count")}
    assert hashes == {
        story.vertex("word-count", one)["status"]["templateHash"]
        for one in ("read", "split", "count")
    }
