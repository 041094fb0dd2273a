"""A deleted topology leaves nothing behind, and its name can be used again at once."""

import pytest

from thalweg_operator.cluster.resources import STREAM_TOPOLOGIES
from thalweg_stories import DEADLINE_S, OWNED, Story, chain, vertex, word_count
from thalweg_testbed import eventually

pytestmark = pytest.mark.control_plane


def _left(story: Story, name: str) -> list[str]:
    return [
        f"{resource.kind} {found['metadata']['name']}"
        for resource in (STREAM_TOPOLOGIES, *OWNED)
        for found in story.user.list(resource, namespace=story.namespace)
        if found["metadata"]["name"].startswith(name)
    ]


def test_deletion_leaves_nothing(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    assert len(_left(story, "word-count")) == 1 + 3 + 3 + 3 + 5
    story.kubectl("delete", "stopo", "word-count", "--wait=false")
    story.until(lambda: not _left(story, "word-count"), what="nothing left")


def test_deletion_leaves_nothing_with_the_operator_off(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    story.kubectl("delete", "stopo", "word-count", "--wait=false")
    eventually(lambda: not _left(story, "word-count"), what="nothing left", timeout_s=DEADLINE_S)
    story.restart()
    assert story.turn() == []


def test_deletion_in_the_middle_of_the_start(story: Story) -> None:
    story.apply(word_count())
    story.turn()
    story.kubectl("delete", "stopo", "word-count", "--wait=false")
    story.until(lambda: not _left(story, "word-count"), what="nothing left")


def test_deletion_in_the_middle_of_a_roll(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    story.apply(word_count(image="example.org/worker:2"))
    story.turn()
    story.kubectl("delete", "stopo", "word-count", "--wait=false")
    story.until(lambda: not _left(story, "word-count"), what="nothing left")


def test_deletion_between_reading_and_writing(story: Story) -> None:
    """What the turn still makes belongs to an owner that is gone, and goes too."""
    story.apply(word_count())
    deleted: list[str] = []

    def delete() -> None:
        if not deleted:
            deleted.append("word-count")
            story.kubectl("delete", "stopo", "word-count", "--wait=true")

    story.loop = story.operator(guard=delete)
    story.turn()
    assert deleted
    story.until(lambda: not _left(story, "word-count"), what="nothing left")


def test_delete_and_create_again_at_once(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    old = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    first = story.topology("word-count")["metadata"]["uid"]
    story.kubectl("delete", "stopo", "word-count", "--wait=true")
    story.apply(word_count(image="example.org/worker:2"))
    story.until_ready("word-count")
    assert story.topology("word-count")["metadata"]["uid"] != first
    pods = story.pods("word-count")
    assert not old & {pod["metadata"]["uid"] for pod in pods}
    assert {pod["spec"]["containers"][0]["image"] for pod in pods} == {"example.org/worker:2"}
    assert story.condition("word-count", "Degraded")[0] == "False"


def test_an_orphaning_deletion_leaves_pods_that_are_not_adopted(story: Story) -> None:
    """The user asked to keep them: a new topology of the name makes its own."""
    story.apply(chain("one", vertex("work")))
    story.until_ready("one")
    orphan = story.pod_of("one", "work-0")
    story.kubectl("delete", "stopo", "one", "--cascade=orphan")
    story.kubectl("delete", "svtx", "one-work", "--cascade=orphan")
    story.until_still()
    (kept,) = story.pods("one")
    assert kept["metadata"]["uid"] == orphan["metadata"]["uid"]
