"""From a manifest to bound pods, routes and a true status."""

import json
from collections import Counter
from itertools import pairwise

import jsonschema
import pytest

from thalweg_operator import naming
from thalweg_operator.cluster.resources import CONFIG_MAPS, POD_DISRUPTION_BUDGETS, STREAM_VERTICES
from thalweg_stories import Story, chain, node_name, task_name, vertex, word_count

pytestmark = pytest.mark.control_plane

KEY_GROUPS = 1024


def _hundred() -> dict[str, object]:
    return chain(
        "hundred",
        vertex("read", 10),
        vertex("split", 30),
        vertex("count", 40),
        vertex("store", 20),
    )


def _assert_bound_as_planned(story: Story, name: str, tasks: int) -> None:
    pods = story.pods(name)
    assert len({task_name(pod) for pod in pods}) == len(pods) == tasks
    for pod in pods:
        assert pod["metadata"]["annotations"][naming.PLANNED_NODE] == node_name(pod)
    by_node = Counter(node_name(pod) for pod in pods)
    by_domain = Counter(node.split("-")[0] for node in by_node.elements())
    assert set(by_domain) == {"a", "b", "c", "d"}
    assert max(by_domain.values()) - min(by_domain.values()) <= 1
    assert max(by_node.values()) - min(by_node.get(node, 0) for node in _twelve()) <= 1


def _twelve() -> list[str]:
    return [f"{domain}-{index}" for domain in "abcd" for index in range(3)]


def _assert_routes_are_true(story: Story, name: str, schema: dict[str, object]) -> None:
    pods = {task_name(pod): pod for pod in story.pods(name)}
    topology = story.topology(name)
    for edge in topology["spec"]["edges"]:
        document = story.routes(name, edge["from"])
        jsonschema.validate(document, schema)
        assert document["topology"] == name
        assert document["vertex"] == edge["from"]
        receivers = story.receivers(name, edge["from"], edge["to"])
        wanted = {task for task in pods if task.rpartition("-")[0] == edge["to"]}
        assert set(receivers) == wanted
        for task, receiver in receivers.items():
            pod = pods[task]
            assert receiver["address"] == pod["status"]["podIP"]
            assert receiver["node"] == node_name(pod)
            assert receiver["domain"] == node_name(pod).split("-")[0]
            assert str(receiver["incarnation"]) == pod["metadata"]["labels"][naming.INCARNATION]
        if edge["grouping"]["type"] == "Fields":
            _assert_every_key_group_once(receivers)


def _assert_every_key_group_once(receivers: dict[str, dict[str, list[list[int]]]]) -> None:
    ranges = sorted(span for task in receivers.values() for span in task["keyGroups"])
    assert ranges[0][0] == 0
    assert ranges[-1][1] == KEY_GROUPS - 1
    assert all(after[0] == before[1] + 1 for before, after in pairwise(ranges))


@pytest.fixture(scope="module")
def routes_schema(pytestconfig: pytest.Config) -> dict[str, object]:
    file = pytestconfig.rootpath / "docs" / "routes.schema.json"
    schema: dict[str, object] = json.loads(file.read_text())
    return schema


def test_five_tasks(story: Story, routes_schema: dict[str, object]) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    _assert_bound_as_planned(story, "word-count", 5)
    _assert_routes_are_true(story, "word-count", routes_schema)


def test_a_hundred_tasks(story: Story, routes_schema: dict[str, object]) -> None:
    story.apply(_hundred())
    story.until_ready("hundred")
    _assert_bound_as_planned(story, "hundred", 100)
    _assert_routes_are_true(story, "hundred", routes_schema)
    assert story.topology("hundred")["status"]["tasks"]["summary"] == "100/100"


def test_what_a_user_sees(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    status = story.topology("word-count")["status"]
    assert status["tasks"] == {"desired": 5, "ready": 5, "summary": "5/5"}
    assert {line["name"]: (line["desired"], line["ready"]) for line in status["vertices"]} == {
        "read": (1, 1),
        "split": (2, 2),
        "count": (2, 2),
    }
    assert story.condition("word-count", "Ready")[:2] == ("True", "AllTasksReady")
    assert story.condition("word-count", "Valid")[0] == "True"
    assert story.condition("word-count", "Scheduled")[0] == "True"
    assert story.condition("word-count", "Degraded")[0] == "False"
    header, row = story.kubectl("get", "stopo").splitlines()
    columns = dict(zip(header.split(), row.split(), strict=False))
    assert columns["NAME"] == "word-count"
    assert columns["READY"] == "True"
    assert columns["TASKS"] == "5/5"
    assert "Created" in {reason for reason, _ in story.events("word-count")}


def test_a_vertex_can_be_scaled_and_budgeted(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    split = story.vertex("word-count", "split")
    assert split["spec"] == {
        "topology": "word-count",
        "vertex": "split",
        "replicas": 2,
        "min": 1,
        "max": 4,
    }
    assert split["status"]["replicas"] == split["status"]["readyReplicas"] == 2
    selected = story.kubectl(
        "get", "pods", "--selector", split["status"]["selector"], "-o", "name"
    ).split()
    assert len(selected) == 2
    budgets = story.owned(POD_DISRUPTION_BUDGETS, "word-count")
    assert {budget["metadata"]["name"]: budget["spec"]["maxUnavailable"] for budget in budgets} == {
        "word-count-read": 1,
        "word-count-split": 1,
        "word-count-count": 1,
    }


def test_what_it_owns_hangs_on_its_owner(story: Story) -> None:
    story.apply(word_count())
    story.until_ready("word-count")
    topology = story.topology("word-count")["metadata"]["uid"]
    vertices = story.owned(STREAM_VERTICES, "word-count")
    by_name = {one["metadata"]["name"]: one["metadata"]["uid"] for one in vertices}
    assert {_owner(one) for one in vertices} == {topology}
    for pod in story.pods("word-count"):
        of_vertex = pod["metadata"]["labels"][naming.VERTEX]
        assert _owner(pod) == by_name[f"word-count-{of_vertex}"]
    kept = {topology, *by_name.values()}
    assert {_owner(one) for one in story.owned(CONFIG_MAPS, "word-count")} <= kept


def _owner(found: dict[str, dict[str, list[dict[str, object]]]]) -> str:
    (owner,) = found["metadata"]["ownerReferences"]
    assert owner["controller"] is True
    return str(owner["uid"])


def test_two_topologies_share_the_nodes(story: Story) -> None:
    """Each sees what the other has taken, though both are planned in the same turn."""
    story.add_nodes(domains=2, per_domain=1, cpu="1")
    halves = {"requests": {"cpu": "450m"}, **story.here}
    story.apply(
        chain("one", vertex("work", 2, **halves)), chain("two", vertex("work", 2, **halves))
    )
    story.until_ready("one")
    story.until_ready("two")
    by_node = Counter([*story.nodes_of("one").values(), *story.nodes_of("two").values()])
    assert sorted(by_node.values()) == [2, 2]
    for name in ("one", "two"):
        for pod in story.pods(name):
            assert pod["metadata"]["annotations"][naming.PLANNED_NODE] == node_name(pod)
            assert pod["metadata"]["labels"][naming.INCARNATION] in ("1", "2")
