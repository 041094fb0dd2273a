"""`kubectl scale`, bounds, suspend and resume."""

import pytest

from thalweg_ear import Ear
from thalweg_operator import naming
from thalweg_stories import Story, by_task, word_count
from thalweg_testbed import OPERATOR_USER, CommandFailed, eventually

pytestmark = pytest.mark.control_plane


def _start(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")


def test_scaling_up_within_bounds_holds(story: Story) -> None:
    _start(story)
    kept = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    story.scale("word-count", "split", 4)
    story.until_ready("word-count")
    story.until_still()
    assert story.vertex("word-count", "split")["spec"]["replicas"] == 4
    assert kept < {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    assert set(story.receivers("word-count", "read", "split")) == {
        f"split-{index}" for index in range(4)
    }
    assert story.topology("word-count")["status"]["tasks"]["summary"] == "7/7"


def test_scaling_down_drains_before_it_ends(story: Story) -> None:
    story.restart(retire_grace_s=3600.0)
    _start(story)
    story.scale("word-count", "count", 1)
    story.until(
        lambda: set(story.receivers("word-count", "split", "count")) == {"count-0"},
        what="count-1 out of the routes",
    )
    story.until_still()
    (retiring,) = by_task(story.pods("word-count"))["count-1"]
    assert retiring["metadata"]["labels"][naming.STATE] == naming.RETIRING
    assert "deletionTimestamp" not in retiring["metadata"]
    spans = story.receivers("word-count", "split", "count")["count-0"]["keyGroups"]
    assert spans == [[0, 1023]]
    story.restart(retire_grace_s=0.0)
    story.until_ready("word-count")
    assert "count-1" not in by_task(story.pods("word-count"))


def test_scaling_back_up_while_the_old_pod_still_retires(story: Story) -> None:
    story.restart(retire_grace_s=3600.0)
    _start(story)
    story.scale("word-count", "count", 1)
    story.until(
        lambda: set(story.receivers("word-count", "split", "count")) == {"count-0"},
        what="count-1 out of the routes",
    )
    story.scale("word-count", "count", 2)
    story.until(
        lambda: set(story.receivers("word-count", "split", "count")) == {"count-0", "count-1"},
        what="count-1 served again",
    )
    story.restart(retire_grace_s=0.0)
    story.until_ready("word-count")


@pytest.mark.parametrize("replicas", [0, 5])
def test_scaling_out_of_bounds_is_refused(story: Story, replicas: int) -> None:
    _start(story)
    with pytest.raises(CommandFailed, match="between min and max"):
        story.scale("word-count", "split", replicas)
    assert story.vertex("word-count", "split")["spec"]["replicas"] == 2


def test_narrower_bounds_clamp_in_one_write(story: Story) -> None:
    _start(story)
    story.scale("word-count", "split", 4)
    story.until_ready("word-count")
    ear = Ear(story.cluster)
    narrow = word_count()
    narrow["spec"]["vertices"][1]["replicas"] = {"min": 1, "max": 3, "initial": 2}
    story.apply(narrow)
    story.until_ready("word-count")
    split = story.vertex("word-count", "split")
    assert (split["spec"]["replicas"], split["spec"]["max"]) == (3, 3)

    def writes() -> list[str]:
        log = ear.heard().within(story.namespace)
        return log.writes_by(OPERATOR_USER).of("streamvertices").lines()

    assert eventually(writes, what="the write in the audit log") == [
        f"update streamvertices {story.namespace}/word-count-split"
    ]


def test_wider_bounds_leave_replicas_alone(story: Story) -> None:
    _start(story)
    wide = word_count()
    wide["spec"]["vertices"][1]["replicas"] = {"min": 1, "max": 9, "initial": 7}
    story.apply(wide)
    story.until_ready("word-count")
    split = story.vertex("word-count", "split")
    assert (split["spec"]["replicas"], split["spec"]["max"]) == (2, 9)


def test_a_scale_that_comes_between_reading_and_writing(story: Story) -> None:
    """The operator's write of new bounds must not undo it."""
    _start(story)
    wide = word_count()
    wide["spec"]["vertices"][1]["replicas"] = {"min": 1, "max": 9, "initial": 2}
    story.apply(wide)
    scaled: list[int] = []

    def scale() -> None:
        if not scaled:
            scaled.append(3)
            story.scale("word-count", "split", 3)

    story.loop = story.operator(guard=scale)
    story.until_ready("word-count")
    split = story.vertex("word-count", "split")
    assert (split["spec"]["replicas"], split["spec"]["max"]) == (3, 9)
    assert story.condition("word-count", "Degraded")[0] == "False"


def test_suspend_and_resume(story: Story) -> None:
    _start(story)
    story.scale("word-count", "split", 3)
    story.until_ready("word-count")
    rest = word_count()
    rest["spec"]["suspend"] = True
    story.apply(rest)
    story.until(lambda: not story.pods("word-count"), what="no pods")
    story.until_still()
    assert story.condition("word-count", "Ready")[:2] == ("False", "Suspended")
    assert story.routes("word-count", "read")["edges"][0]["tasks"] == []
    assert story.vertex("word-count", "split")["spec"]["replicas"] == 3
    story.apply(word_count())
    story.until_ready("word-count")
    assert len(story.pods("word-count")) == 6
