"""A changed spec: vertices and edges come and go; a wrong one leaves the last valid in force."""

from typing import Any

import pytest

from thalweg_operator import naming
from thalweg_operator.cluster.resources import CONFIG_MAPS, PODS
from thalweg_stories import OWNED, Story, by_task, chain, vertex, word_count

pytestmark = pytest.mark.control_plane

NAME = "word-count"


def _labelled(story: Story, name: str, vertex_name: str) -> list[str]:
    """All that carries a vertex's label."""
    labels = f"{naming.TOPOLOGY}={name},{naming.VERTEX}={vertex_name}"
    return [
        f"{resource.kind} {found['metadata']['name']}"
        for resource in OWNED
        for found in story.user.list(resource, namespace=story.namespace, labels=labels)
    ]


def test_a_vertex_is_added(story: Story) -> None:
    story.apply(chain("grow", vertex("read"), vertex("work", 2)))
    story.until_ready("grow")
    before = {task: pods[0]["metadata"]["uid"] for task, pods in story.serving("grow").items()}
    story.apply(chain("grow", vertex("read"), vertex("work", 2), vertex("store", 2)))
    story.until_ready("grow")
    assert set(by_task(story.pods("grow"))) == {"read-0", "work-0", "work-1", "store-0", "store-1"}
    assert set(story.receivers("grow", "work", "store")) == {"store-0", "store-1"}
    assert story.pod_of("grow", "read-0")["metadata"]["uid"] == before["read-0"]


def test_a_vertex_is_removed_with_all_that_it_had(story: Story) -> None:
    story.apply(chain("shrink", vertex("read"), vertex("work", 2), vertex("store", 2)))
    story.until_ready("shrink")
    assert _labelled(story, "shrink", "store")
    story.apply(chain("shrink", vertex("read"), vertex("work", 2)))
    story.until(lambda: not _labelled(story, "shrink", "store"), what="nothing of store is left")
    story.until_ready("shrink")
    assert set(by_task(story.pods("shrink"))) == {"read-0", "work-0", "work-1"}


def test_a_removed_vertex_comes_back(story: Story) -> None:
    """Under the name of the one that is still going; receivers have met its pods and routes."""
    story.apply(word_count())
    story.until_ready("word-count")
    newest, version = _highest(story)
    story.apply(chain("word-count", vertex("read", most=4), vertex("split", 2, most=4)))
    story.turn()
    story.apply(word_count())
    story.until_ready("word-count")
    assert len(story.pods("word-count")) == 5
    assert set(story.receivers("word-count", "split", "count")) == {"count-0", "count-1"}
    assert story.routes("word-count", "split")["version"] > version
    assert _lowest(story, "count") > newest


def test_a_deleted_vertex_comes_back(story: Story) -> None:
    """The counters in its status and its routes are gone with it; receivers remember them."""
    story.apply(word_count())
    story.until_ready("word-count")
    newest, version = _highest(story)
    gone = story.vertex("word-count", "split")["metadata"]["uid"]
    story.kubectl("delete", "svtx", "word-count-split", "--wait=false")
    # Nobody else counted, and the operator that did is gone.
    story.restart()
    story.until(
        lambda: (
            story.is_settled("word-count")
            and story.vertex("word-count", "split")["metadata"]["uid"] != gone
        ),
        what="another vertex of that name",
    )
    assert story.routes("word-count", "split")["version"] > version
    assert _lowest(story, "split") > newest


def _highest(story: Story) -> tuple[int, int]:
    """The highest incarnation of any pod, and the version by which `split` sends."""
    newest = max(naming.incarnation_of(one["metadata"]["labels"]) for one in story.pods(NAME))
    return newest, story.routes(NAME, "split")["version"]


def _lowest(story: Story, vertex_name: str) -> int:
    """The lowest incarnation of a vertex's pods."""
    labels = [one["metadata"]["labels"] for one in story.pods(NAME)]
    return min(naming.incarnation_of(one) for one in labels if one[naming.VERTEX] == vertex_name)


def test_an_edge_turns(story: Story) -> None:
    fork = chain("fork", vertex("read"), vertex("left"), vertex("right"))
    fork["spec"]["edges"] = [{"from": "read", "to": "left"}]
    story.apply(fork)
    story.until_ready("fork")
    assert [edge["to"] for edge in story.routes("fork", "read")["edges"]] == ["left"]
    version = story.routes("fork", "read")["version"]
    fork["spec"]["edges"] = [
        {"from": "read", "to": "right", "grouping": {"type": "Fields", "keys": ["word"]}}
    ]
    story.apply(fork)
    story.until(
        lambda: [edge["to"] for edge in story.routes("fork", "read")["edges"]] == ["right"],
        what="routes to right",
    )
    story.until_ready("fork")
    document = story.routes("fork", "read")
    assert document["version"] > version
    assert document["edges"][0]["grouping"] == {"type": "Fields", "keys": ["word"]}
    assert set(story.receivers("fork", "read", "right")) == {"right-0"}


def test_a_vertex_that_sends_no_more_has_no_routes(story: Story) -> None:
    story.apply(chain("pair", vertex("read"), vertex("work")))
    story.until_ready("pair")
    parted = chain("pair", vertex("read"), vertex("work"))
    parted["spec"]["edges"] = []
    story.apply(parted)
    story.until_ready("pair")
    story.until(
        lambda: story.user.get(CONFIG_MAPS, story.namespace, "pair-read-routes") is None,
        what="no routes",
    )
    environment = story.pod_of("pair", "read-0")["spec"]["containers"][0]["env"]
    assert "THALWEG_ROUTES" not in {variable["name"] for variable in environment}


def _circle() -> dict[str, Any]:
    circle = word_count(image="example.org/worker:2")
    circle["spec"]["edges"].append({"from": "count", "to": "read"})
    return circle


def test_a_wrong_spec_leaves_the_last_valid_one_in_force(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    before = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    story.apply(_circle())
    story.until(lambda: story.condition("word-count", "Valid")[0] == "False", what="invalid")
    _, reason, message = story.condition("word-count", "Valid")
    assert reason == "Cycle"
    assert "read → split → count → read" in message
    story.until_still()
    assert {pod["metadata"]["uid"] for pod in story.pods("word-count")} == before
    assert story.condition("word-count", "Ready")[0] == "True"
    status = story.topology("word-count")["status"]
    assert (status["lastValidGeneration"], status["observedGeneration"]) == (1, 2)

    # What is in force is also kept alive, and by an operator that never saw it.
    story.restart()
    story.kubectl("delete", "pods", "--all", "--wait=false")
    story.until(
        lambda: (
            len(story.serving("word-count")) == 5
            and not before & {pod["metadata"]["uid"] for pod in story.pods("word-count")}
        ),
        what="replaced by the last valid spec",
    )
    images = {pod["spec"]["containers"][0]["image"] for pod in story.pods("word-count")}
    assert images == {"example.org/worker:1"}

    story.apply(word_count(image="example.org/worker:3"))
    story.until(
        lambda: (
            story.is_settled("word-count")
            and {pod["spec"]["containers"][0]["image"] for pod in story.pods("word-count")}
            == {"example.org/worker:3"}
        ),
        what="the corrected spec",
    )
    assert story.condition("word-count", "Valid")[0] == "True"
    assert story.topology("word-count")["status"]["lastValidGeneration"] == 3


def test_a_spec_that_never_was_valid_runs_nothing(story: Story) -> None:
    story.apply(_circle())
    story.until(lambda: story.condition("word-count", "Valid")[0] == "False", what="invalid")
    story.until_still()
    for resource in OWNED:
        assert story.owned(resource, "word-count") == []
    assert story.user.list(PODS, namespace=story.namespace) == []
    assert story.condition("word-count", "Ready")[:2] == ("False", "Invalid")
    story.apply(word_count())
    story.until_ready("word-count")
