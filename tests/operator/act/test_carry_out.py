"""The writes of a turn: in which order, with which preconditions, and what is told of them."""

from collections.abc import Iterator
from typing import Any

import pytest

from thalweg_fake_client import FakeClient
from thalweg_operator import naming
from thalweg_operator.act.carry_out import Happening, Post, end_pods, retire_pods
from thalweg_operator.act.making import Batch, make_pods
from thalweg_operator.act.manifests import Berth
from thalweg_operator.cluster.resources import NODES, PODS, STREAM_TOPOLOGIES, STREAM_VERTICES
from thalweg_operator.errors import Conflict, Refused, Unavailable
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.survey import Ending, Need, Why
from thalweg_operator_worlds import (
    NAMESPACE,
    NOW_S,
    TOPOLOGY,
    ZONE,
    pod,
    stream_vertex,
    topology,
    topology_spec,
    vertex_body,
)

(SPLIT,) = topology_spec(vertex_body("split")).vertices
VERTEX_NAME = "word-count-split"
RESERVING = ("merge", "streamtopologies/status", TOPOLOGY)
COUNTING = ("merge", "streamvertices/status", VERTEX_NAME)


def post(index: int, *, node: str | None = "n1", why: Why = Why.FIRST, after: int = 0) -> Post:
    return Post(
        need=Need(task=TaskKey(vertex="split", index=index), why=why, after=after),
        berth=Berth(domain_label=ZONE, domain="a", node=node),
        planned_node=node,
    )


def counting(next_incarnation: int | None) -> dict[str, int]:
    return {} if next_incarnation is None else {"nextIncarnation": next_incarnation}


def making(
    next_incarnation: int | None = None, *, of_topology: int | None = None
) -> tuple[FakeClient, dict[str, Any]]:
    vertex = stream_vertex(status=counting(next_incarnation))
    whole = topology(status=counting(of_topology))
    return FakeClient((STREAM_VERTICES, vertex), (STREAM_TOPOLOGIES, whole)), vertex


def make(client: FakeClient, vertex: dict[str, Any], posts: list[Post]) -> Iterator[Happening]:
    whole = client.get(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY) or topology()
    return make_pods(client, whole, [Batch(vertex=vertex, spec=SPLIT, posts=posts, sends=True)])


def body(fact: PodFact) -> dict[str, Any]:
    return {
        "metadata": {
            "namespace": fact.namespace,
            "name": fact.name,
            "uid": fact.uid,
            "resourceVersion": fact.resource_version,
            "labels": dict(fact.labels),
        }
    }


def created(client: FakeClient) -> list[str]:
    return [name for verb, plural, name in client.writes if (verb, plural) == ("create", "pods")]


def test_numbers_are_reserved_before_pods_are_made() -> None:
    client, vertex = making(next_incarnation=5)
    told = list(make(client, vertex, [post(0), post(1)]))
    assert client.writes == [
        RESERVING,
        COUNTING,
        ("create", "pods", "word-count-split-0-5"),
        ("create", "pods", "word-count-split-1-6"),
    ]
    now = client.found(STREAM_VERTICES, NAMESPACE, VERTEX_NAME)
    assert now["status"]["nextIncarnation"] == 7
    whole = client.found(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY)
    assert whole["status"]["nextIncarnation"] == 7
    assert [happening.message for happening in told] == [
        "split-0 starts on n1",
        "split-1 starts on n1",
    ]


def test_no_posts_no_writes() -> None:
    client, vertex = making()
    assert list(make(client, vertex, [])) == []
    assert client.writes == []


@pytest.mark.parametrize(
    ("counted", "after", "first"), [(None, 0, 1), (0, 0, 1), (4, 0, 4), (4, 9, 10), (None, 9, 10)]
)
def test_a_number_is_never_given_twice(counted: int | None, after: int, first: int) -> None:
    client, vertex = making(counted)
    list(make(client, vertex, [post(0, after=after)]))
    assert created(client) == [f"word-count-split-0-{first}"]


def test_a_vertex_that_is_put_back_goes_on_where_it_was() -> None:
    """Receivers that are still there take no lower number of a sender than they have seen."""
    client, vertex = making(next_incarnation=5)
    list(make(client, vertex, [post(0), post(1)]))
    client.delete(STREAM_VERTICES, NAMESPACE, VERTEX_NAME, uid=vertex["metadata"]["uid"])
    anew = stream_vertex()
    client.put(STREAM_VERTICES, anew)
    list(make(client, anew, [post(0)]))
    assert created(client)[-1] == "word-count-split-0-7"


def test_tasks_that_no_longer_share_pods_have_higher_numbers_than_these() -> None:
    client, vertex = making(next_incarnation=5, of_topology=30)
    list(make(client, vertex, [post(0)]))
    assert created(client) == ["word-count-split-0-30"]


def test_vertices_of_a_turn_are_numbered_alike() -> None:
    client, split = making(next_incarnation=2)
    read = stream_vertex("read", status={"nextIncarnation": 9})
    client.put(STREAM_VERTICES, read)
    batches = [
        Batch(vertex=vertex, spec=SPLIT, posts=posts, sends=True)
        for vertex, posts in ((split, [post(0), post(1)]), (read, [post(2)]))
    ]
    whole = client.found(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY)
    list(make_pods(client, whole, batches))
    assert sorted(name.rsplit("-", 1)[1] for name in created(client)) == ["2", "3", "9"]
    now = client.found(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY)
    assert now["status"]["nextIncarnation"] == 10


def test_a_topology_that_was_edited_meanwhile_is_looked_at_again() -> None:
    client, vertex = making()
    list(make_pods(client, topology(), []))
    edited = topology()
    edited["metadata"]["resourceVersion"] = "6"
    client.put(STREAM_TOPOLOGIES, edited)
    batch = Batch(vertex=vertex, spec=SPLIT, posts=[post(0)], sends=True)
    assert list(make_pods(client, topology(), [batch])) == []
    assert client.writes == [RESERVING]


def test_the_vertex_is_as_it_was_written_for_whoever_writes_it_next() -> None:
    client, vertex = making()
    list(make(client, vertex, [post(0)]))
    now = client.found(STREAM_VERTICES, NAMESPACE, VERTEX_NAME)
    assert vertex["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]
    assert vertex["status"] == now["status"]


def test_a_vertex_that_was_scaled_meanwhile_is_looked_at_again() -> None:
    client, vertex = making()
    client.put(
        STREAM_VERTICES, {**vertex, "metadata": {**vertex["metadata"], "resourceVersion": "6"}}
    )
    assert list(make(client, vertex, [post(0)])) == []
    assert created(client) == []


def test_a_vertex_that_is_gone_gets_no_pods() -> None:
    client, vertex = making()
    client.objects.clear()
    assert list(make(client, vertex, [post(0)])) == []
    assert client.objects == {}


def test_a_vertex_that_is_being_deleted_gets_no_pods() -> None:
    client, vertex = making()
    vertex["metadata"]["deletionTimestamp"] = "2026-03-01T12:00:00Z"
    assert list(make(client, vertex, [post(0)])) == []
    assert client.writes == []


def test_a_name_that_is_still_taken_is_passed_over() -> None:
    client, vertex = making()
    client.put(PODS, body(pod(0, 1)))
    told = list(make(client, vertex, [post(0), post(1)]))
    assert [happening.task for happening in told] == ["split-1"]


def test_a_refusal_is_told_once_and_in_the_same_words_each_time() -> None:
    client, vertex = making()
    said = []
    for incarnation in (1, 4):
        name = f"word-count-split-0-{incarnation}"
        client.fail("create", Refused(f'pods "{name}" is forbidden: exceeded quota', status=403))
        told = list(make(client, vertex, [post(0), post(1), post(2)]))
        said.append([(happening.why, happening.message) for happening in told])
    assert said[0] == said[1]
    assert said[0] == [
        (
            Why.REFUSED,
            "no pod can be made for vertex split: "
            'pods "word-count-split-0" is forbidden: exceeded quota',
        )
    ]


def test_what_was_done_before_an_error_is_told() -> None:
    client, vertex = making()
    client.fail("create", None, Unavailable("no answer"))
    told: list[Happening] = []
    with pytest.raises(Unavailable):
        told += make(client, vertex, [post(0), post(1)])
    assert [happening.task for happening in told] == ["split-0"]


@pytest.mark.parametrize(
    ("why", "words"),
    [
        (Why.CHANGED, "gets the changed template"),
        (Why.DRAINING, "leaves its cordoned node"),
        (Why.STUCK, "could not be scheduled as planned"),
        (Why.NODE_LOST, "lost its node"),
        (Why.FAILED, "failed"),
        (Why.LOST, "lost its pod"),
    ],
)
def test_words(why: Why, words: str) -> None:
    client, vertex = making()
    (told,) = make(client, vertex, [post(0, why=why, node=None)])
    assert (told.why, told.task) == (why, "split-0")
    assert words in told.message
    assert "wherever it fits" in told.message


def ending(fact: PodFact, why: Why = Why.SUPERSEDED) -> Ending:
    return Ending(pod=fact, why=why)


def test_pods_are_deleted_as_they_were_seen() -> None:
    fact = pod(0, 1, failure="Evicted")
    client = FakeClient((PODS, body(fact)))
    (told,) = end_pods(client, [ending(fact, Why.FAILED)])
    assert client.objects == {}
    assert told.message == "word-count-split-0-1 is deleted: Failed (Evicted)"


@pytest.mark.parametrize("act", ["end", "retire"])
@pytest.mark.parametrize("change", [{"uid": "another"}, {"resourceVersion": "8"}])
def test_pods_that_have_changed_are_left_for_the_next_turn(
    act: str, change: dict[str, str]
) -> None:
    fact = pod(0, 1)
    there = body(fact)
    there["metadata"] |= change
    client = FakeClient((PODS, there))
    doing = end_pods(client, [ending(fact)]) if act == "end" else retire(client, fact)
    assert list(doing) == []
    assert client.found(PODS, NAMESPACE, fact.name) == there


@pytest.mark.parametrize("act", ["end", "retire"])
def test_pods_that_are_gone_are_no_trouble(act: str) -> None:
    client = FakeClient()
    fact = pod(0, 1)
    list(end_pods(client, [ending(fact)]) if act == "end" else retire(client, fact))
    assert client.objects == {}


def retire(client: FakeClient, fact: PodFact) -> list[Any]:
    return list(retire_pods(client, [ending(fact)], NOW_S + 0.7, lambda _: "read=7"))


def test_retiring() -> None:
    fact = pod(0, 1)
    client = FakeClient((PODS, body(fact)))
    (told,) = retire(client, fact)
    metadata = client.found(PODS, NAMESPACE, fact.name)["metadata"]
    assert metadata["labels"] == {**fact.labels, naming.STATE: naming.RETIRING}
    assert metadata["annotations"] == {
        naming.RETIRED_AT: str(int(NOW_S)),
        naming.RETIRED_ROUTES: "read=7",
    }
    assert told.message == "word-count-split-0-1 retires: Superseded"


def node_body(name: str, *, ready: bool) -> dict[str, Any]:
    return {
        "metadata": {"name": name},
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}]},
    }


def test_a_node_is_asked_once_more_before_its_pods_are_given_up() -> None:
    facts = [pod(0, 1, on="n1"), pod(1, 2, on="n1"), pod(2, 3, on="n2"), pod(3, 4, on="n3")]
    client = FakeClient(
        *((PODS, body(fact)) for fact in facts),
        (NODES, node_body("n1", ready=True)),
        (NODES, node_body("n2", ready=False)),
    )
    list(end_pods(client, [ending(fact, Why.NODE_LOST) for fact in facts]))
    left = sorted(name for plural, _, name in client.objects if plural == "pods")
    assert left == ["word-count-split-0-1", "word-count-split-1-2"]
    assert client.reads == ["nodes/n1", "nodes/n2", "nodes/n3"]


def test_a_conflict_is_not_hidden_from_whoever_counts_writes() -> None:
    client = FakeClient((PODS, body(pod(0, 1))))
    client.fail("delete", Conflict("changed"))
    assert list(end_pods(client, [ending(pod(0, 1))])) == []
    assert [verb for verb, _, _ in client.writes] == ["delete"]
