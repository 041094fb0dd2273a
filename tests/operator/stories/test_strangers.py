"""What the operator did not make it does not touch, whatever its name."""

from typing import Any

import pytest

from thalweg_operator.cluster.resources import (
    CONFIG_MAPS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_stories import Story, chain, vertex, word_count

pytestmark = pytest.mark.control_plane


def _stranger(resource: Resource) -> dict[str, Any]:
    """An object of somebody else with a name that word-count needs."""
    bodies: dict[Resource, dict[str, Any]] = {
        CONFIG_MAPS: {"metadata": {"name": "word-count-read-routes"}, "data": {"mine": "yes"}},
        STREAM_VERTICES: {
            "metadata": {"name": "word-count-split"},
            "spec": {
                "topology": "word",
                "vertex": "count-split",
                "replicas": 1,
                "min": 1,
                "max": 1,
            },
        },
        POD_DISRUPTION_BUDGETS: {
            "metadata": {"name": "word-count-count"},
            "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "else"}}},
        },
        PODS: {
            "metadata": {"name": "word-count-read-0-1"},
            "spec": {"containers": [{"name": "it", "image": "example.org/it"}]},
        },
    }
    return bodies[resource]


def _made(story: Story, resource: Resource) -> Object:
    body = _stranger(resource)
    body["metadata"]["namespace"] = story.namespace
    return story.user.create(resource, body)


def _again(story: Story, resource: Resource, stranger: Object) -> Object:
    found = story.user.get(resource, story.namespace, stranger["metadata"]["name"])
    assert found is not None
    return found


@pytest.mark.parametrize(
    "resource",
    [CONFIG_MAPS, STREAM_VERTICES, POD_DISRUPTION_BUDGETS],
    ids=lambda resource: resource.plural,
)
def test_a_stranger_of_a_name_that_is_needed(story: Story, resource: Resource) -> None:
    stranger = _made(story, resource)
    story.apply(word_count())
    story.until(lambda: story.condition("word-count", "Degraded")[0] == "True", what="told")
    message = story.condition("word-count", "Degraded")[2]
    assert f"{resource.kind} {stranger['metadata']['name']}" in message
    assert "somebody else" in message
    found = _again(story, resource, stranger)
    assert found["metadata"]["uid"] == stranger["metadata"]["uid"]
    assert found.get("spec") == stranger.get("spec")
    assert found.get("data") == stranger.get("data")
    assert not found["metadata"].get("ownerReferences")
    assert f"create {resource.plural}" not in story.turn(), "it is not tried again and again"

    story.user.delete(
        resource, story.namespace, stranger["metadata"]["name"], uid=found["metadata"]["uid"]
    )
    story.until_ready("word-count")
    assert story.condition("word-count", "Degraded")[0] == "False"


def test_a_pod_of_a_name_that_is_needed(story: Story) -> None:
    """The task takes its next incarnation, whose name is free."""
    stranger = _made(story, PODS)
    story.apply(word_count())
    story.until_ready("word-count")
    found = _again(story, PODS, stranger)
    assert found["metadata"]["uid"] == stranger["metadata"]["uid"]
    assert "labels" not in found["metadata"]
    assert story.pod_of("word-count", "read-0")["metadata"]["name"] != "word-count-read-0-1"


def test_a_pod_that_only_looks_like_ours(story: Story) -> None:
    """It carries all our labels but no owner: it counts for nothing and stays."""
    story.apply(word_count())
    story.until_ready("word-count")
    ours = story.pod_of("word-count", "split-1")
    alike = {
        "metadata": {
            "name": "alike",
            "namespace": story.namespace,
            "labels": {**ours["metadata"]["labels"], "thalweg.dev/incarnation": "99"},
        },
        "spec": {"containers": [{"name": "it", "image": "example.org/it"}]},
    }
    made = story.user.create(PODS, alike)
    story.until_still()
    assert _again(story, PODS, made)["metadata"]["labels"] == made["metadata"]["labels"]
    assert _again(story, PODS, ours)["metadata"]["labels"] == ours["metadata"]["labels"]


def test_a_vertex_without_its_labels(story: Story) -> None:
    """Labels are anybody's to change: the vertex keeps its pods."""
    story.apply(word_count())
    story.until_ready("word-count")
    before = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    story.kubectl("label", "svtx", "word-count-split", "thalweg.dev/vertex-")
    story.until_still()
    assert {pod["metadata"]["uid"] for pod in story.pods("word-count")} == before


def test_two_topologies_whose_names_run_together(story: Story) -> None:
    """a-b + c and a + b-c need the same names: the first has them, the second says so."""
    story.apply(chain("a-b", vertex("c")))
    story.until_ready("a-b")
    held = story.vertex("a-b", "c")["metadata"]["uid"]
    story.apply(chain("a", vertex("b-c")))
    story.until(lambda: story.condition("a", "Degraded")[0] == "True", what="told")
    assert "StreamVertex a-b-c" in story.condition("a", "Degraded")[2]
    assert story.vertex("a-b", "c")["metadata"]["uid"] == held
    assert story.is_settled("a-b")

    story.kubectl("delete", "stopo", "a-b", "--wait=false")
    story.until_ready("a")
    assert story.vertex("a", "b-c")["metadata"]["uid"] != held
