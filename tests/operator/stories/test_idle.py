"""With nothing to do the operator writes nothing: shown from the API server's audit log."""

import pytest

from thalweg_ear import Ear
from thalweg_stories import Story, chain, vertex, word_count
from thalweg_testbed import OPERATOR_USER, AuditLog, eventually

pytestmark = pytest.mark.control_plane

TURNS = 5


def _idle_writes(story: Story) -> list[str]:
    """What the audit log has of the operator over a few turns."""
    ear = Ear(story.cluster)
    for _ in range(TURNS):
        story.turn()
    # A write of our own comes after all that was answered before it.
    story.kubectl("create", "configmap", "after")

    def heard() -> AuditLog | None:
        log = ear.heard()
        return log if any(one.name == "after" for one in log.within(story.namespace)) else None

    log = eventually(heard, what="our own write in the audit log")
    assert log is not None
    looks = [record for record in log.by(OPERATOR_USER) if not record.is_write]
    assert len(looks) >= TURNS, "the operator did not even look"
    return log.writes_by(OPERATOR_USER).within(story.namespace).lines()


def test_a_running_topology(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    story.until_still()
    assert _idle_writes(story) == []


def test_a_topology_without_room(story: Story) -> None:
    # On nodes of its own: what is free elsewhere is no news here.
    story.add_nodes(domains=1)
    story.apply(chain("huge", vertex("work", 2, requests={"cpu": "100"}, **story.here)))
    story.until(lambda: story.condition("huge", "Scheduled")[0] == "False", what="no room")
    story.until_still()
    assert _idle_writes(story) == []


def test_an_invalid_topology(story: Story) -> None:
    circle = word_count()
    circle["spec"]["edges"].append({"from": "count", "to": "read"})
    story.apply(circle)
    story.until(lambda: story.condition("word-count", "Valid")[0] == "False", what="invalid")
    story.until_still()
    assert _idle_writes(story) == []


def test_a_suspended_topology(story: Story) -> None:
    rest = word_count()
    rest["spec"]["suspend"] = True
    story.apply(rest)
    story.until(lambda: story.condition("word-count", "Ready")[1] == "Suspended", what="suspended")
    story.until_still()
    assert _idle_writes(story) == []


def test_a_topology_whose_tasks_share_pods(story: Story) -> None:
    shared = word_count()
    shared["spec"]["placement"] = {"processes": "Shared"}
    story.apply(shared)
    story.until_ready("word-count")
    story.until_still()
    story.loop = story.operator()
    assert _idle_writes(story) == []


def test_a_restarted_operator(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    story.until_still()
    story.loop = story.operator()
    assert _idle_writes(story) == []
