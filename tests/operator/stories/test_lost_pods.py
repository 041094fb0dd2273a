"""Pods that are deleted, evicted or fail come back; budgets hold others off meanwhile."""

import json

import pytest

from thalweg_operator import naming
from thalweg_operator.cluster.resources import Object
from thalweg_stories import Story, chain, is_active, node_name, task_name, vertex, word_count
from thalweg_testbed import CommandFailed, eventually

pytestmark = pytest.mark.control_plane


def _incarnation(pod: Object) -> int:
    return int(pod["metadata"]["labels"][naming.INCARNATION])


def _evict(story: Story, pod: Object) -> bool:
    name = pod["metadata"]["name"]
    eviction = {
        "apiVersion": "policy/v1",
        "kind": "Eviction",
        "metadata": {"name": name, "namespace": story.namespace},
    }
    path = f"/api/v1/namespaces/{story.namespace}/pods/{name}/eviction"
    story.kubectl("create", "--raw", path, "-f", "-", stdin=json.dumps(eviction))
    return True


def _until_replaced(story: Story, name: str, old: Object) -> Object:
    task = task_name(old)
    story.until(
        lambda: (
            story.is_settled(name)
            and story.pod_of(name, task)["metadata"]["uid"] != old["metadata"]["uid"]
        ),
        what=f"{task} replaced",
    )
    return story.pod_of(name, task)


def test_a_deleted_pod(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    others = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    told = len(story.events("word-count"))
    old = story.pod_of("word-count", "split-0")
    story.delete_pod(old)
    new = _until_replaced(story, "word-count", old)
    assert _incarnation(new) > _incarnation(old)
    assert story.receivers("word-count", "read", "split")["split-0"]["incarnation"] == (
        _incarnation(new)
    )
    kept = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    assert kept - others == {new["metadata"]["uid"]}
    assert len(story.events("word-count")) > told


def test_a_failed_pod(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    old = story.pod_of("word-count", "count-1")
    not_ready = {"type": "Ready", "status": "False", "reason": "PodFailed"}
    ended = {"phase": "Failed", "reason": "OutOfmemory", "conditions": [not_ready]}
    story.set_pod_status(old, ended)
    new = _until_replaced(story, "word-count", old)
    assert _incarnation(new) > _incarnation(old)
    notes = [note for reason, note in story.events("word-count") if reason == "Failed"]
    assert any("OutOfmemory" in note for note in notes)


def test_all_pods_deleted_at_once(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    old = {pod["metadata"]["uid"] for pod in story.pods("word-count")}
    story.kubectl("delete", "pods", "--all", "--wait=false")
    story.until(
        lambda: (
            story.is_settled("word-count")
            and not old & {pod["metadata"]["uid"] for pod in story.pods("word-count")}
        ),
        what="all replaced",
    )
    assert len(story.pods("word-count")) == 5


def test_a_second_eviction_waits_for_the_first(story: Story) -> None:
    story.apply(chain("pair", vertex("work", 2)))
    story.until_ready("pair")
    first, second = (story.pod_of("pair", f"work-{index}") for index in (0, 1))
    eventually(lambda: _evict(story, first), what="the budget allows one eviction")
    # The operator is held still, so one of two is missing.
    eventually(
        lambda: (
            first["metadata"]["uid"]
            not in {pod["metadata"]["uid"] for pod in story.pods("pair") if is_active(pod)}
        ),
        what="the first pod gone",
    )
    with pytest.raises(CommandFailed, match="disruption budget"):
        _evict(story, second)
    _until_replaced(story, "pair", first)
    eventually(lambda: _evict(story, second), what="the budget allows the second")
    _until_replaced(story, "pair", second)


def test_a_lone_task_may_be_evicted(story: Story) -> None:
    """One pod of a vertex may always go, or a node could never be drained."""
    story.apply(chain("lone", vertex("work", 1)))
    story.until_ready("lone")
    old = story.pod_of("lone", "work-0")
    eventually(lambda: _evict(story, old), what="the budget allows it")
    new = _until_replaced(story, "lone", old)
    assert node_name(new)


def test_a_pod_with_spoilt_labels(story: Story) -> None:
    """It belongs to its task no more: the task gets another."""
    story.apply(word_count())
    story.until_ready("word-count")
    old = story.pod_of("word-count", "read-0")
    name = old["metadata"]["name"]
    story.kubectl("label", "pod", name, "--overwrite", f"{naming.TASK}=seven")
    story.until(lambda: "read-0" in story.serving("word-count"), what="read-0 served again")
    assert story.pod_of("word-count", "read-0")["metadata"]["uid"] != old["metadata"]["uid"]
