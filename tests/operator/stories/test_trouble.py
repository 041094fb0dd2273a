"""One topology's trouble is its own."""

import pytest

from thalweg_operator.cluster.resources import RESOURCE_QUOTAS
from thalweg_stories import Story, chain, vertex, word_count

pytestmark = pytest.mark.control_plane


def test_others_go_on_beside_one_in_trouble(story: Story) -> None:
    """In the fixed order of a turn, trouble comes before, between and after the sound ones."""
    for name in ("a-trouble", "m-trouble", "z-trouble"):
        story.kubectl("create", "configmap", f"{name}-read-routes")
        story.apply(chain(name, vertex("read"), vertex("work")))
    story.apply(word_count("good"), word_count("sound"))
    story.until_ready("good")
    story.until_ready("sound")
    for name in ("a-trouble", "m-trouble", "z-trouble"):
        assert story.condition(name, "Degraded")[0] == "True"
    story.delete_pod(story.pod_of("sound", "split-0"))
    story.until(
        lambda: story.is_settled("sound") and len(story.pods("sound")) == 5, what="kept alive"
    )


def test_an_invalid_one_does_not_stop_the_others(story: Story) -> None:
    circle = word_count("circle")
    circle["spec"]["edges"].append({"from": "count", "to": "read"})
    story.apply(circle, word_count("sound"))
    story.until_ready("sound")
    assert story.condition("circle", "Valid")[0] == "False"


def test_one_without_room_does_not_stop_the_others(story: Story) -> None:
    story.apply(chain("huge", vertex("work", 2, requests={"cpu": "100"})), word_count("sound"))
    story.until_ready("sound")
    assert story.condition("huge", "Scheduled")[0] == "False"


def test_a_template_that_the_server_refuses_is_told(story: Story) -> None:
    """What only pod validation sees: the server's own words reach the user."""
    wrong = vertex("work", volumes=[{"name": "Not A Name", "emptyDir": {}}])
    story.apply(chain("wrong", wrong), word_count("sound"))
    story.until_ready("sound")
    story.until(lambda: story.condition("wrong", "Degraded")[0] == "True", what="told")
    assert "volumes" in story.condition("wrong", "Degraded")[2]
    story.turn()
    told = story.topology("wrong")["status"]["conditions"]
    again = [write for _ in range(3) for write in story.turn()]
    # The topology and the vertex only count the numbers that were tried.
    counting = {"patch streamtopologies", "patch streamvertices"}
    assert set(again) == {*counting, "create pods"}, "tried again, told once"
    assert story.topology("wrong")["status"]["conditions"] == told
    story.apply(chain("wrong", vertex("work")))
    story.until_ready("wrong")


def test_a_quota_is_told_and_waited_for(story: Story) -> None:
    quota = {
        "metadata": {"name": "small", "namespace": story.namespace},
        "spec": {"hard": {"pods": "2"}},
    }
    made = story.user.create(RESOURCE_QUOTAS, quota)
    story.until(
        lambda: (
            (story.user.get(RESOURCE_QUOTAS, story.namespace, "small") or {})
            .get("status", {})
            .get("hard")
        ),
        what="the quota counts",
    )
    story.apply(word_count())
    story.until(lambda: story.condition("word-count", "Degraded")[0] == "True", what="told")
    assert "quota" in story.condition("word-count", "Degraded")[2]
    story.user.delete(RESOURCE_QUOTAS, story.namespace, "small", uid=made["metadata"]["uid"])
    story.until_ready("word-count")
    assert story.condition("word-count", "Degraded")[0] == "False"
