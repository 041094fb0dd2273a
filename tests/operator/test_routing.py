"""Routes as they are kept: weights that stay, and senders that are told of a new version."""

import json
from typing import Any

from thalweg_fake_client import FakeClient
from thalweg_operator import naming
from thalweg_operator.act.manifests import ROUTES_KEY
from thalweg_operator.cluster.resources import CONFIG_MAPS, PODS, STREAM_VERTICES
from thalweg_operator.naming import Process, TaskKey, Unit
from thalweg_operator.observe.facts import PodFact, tasks_in
from thalweg_operator.observe.survey import Survey, Wanted, Wish, survey, survey_shared
from thalweg_operator.routing import Routing
from thalweg_operator_worlds import (
    HASH,
    NAMESPACE,
    NOW_S,
    PATIENCE,
    TOPOLOGY,
    TWO_NODES,
    by_name,
    facts,
    pod,
    shared_pod,
    stream_vertex,
    topology,
    topology_body,
    topology_spec,
    vertex_body,
)

READ_ROUTES = f"{TOPOLOGY}-read-routes"
EDGE = ("read", "split")
WANTED = {name: Wanted(vertex=name, replicas=2, template_hash=HASH) for name in ("read", "split")}


def routes(version: int, **weights: float) -> dict[str, Any]:
    """The routes of `read` as they were, with weights by task."""
    tasks = [{"name": name.replace("_", "-"), "weight": weight} for name, weight in weights.items()]
    edge = {"to": "split", "grouping": {"type": "Shuffle"}, "tasks": tasks}
    document = {"version": version, "topology": TOPOLOGY, "vertex": "read", "edges": [edge]}
    return {
        "metadata": {
            "name": READ_ROUTES,
            "namespace": NAMESPACE,
            "uid": "uid-routes",
            "resourceVersion": "5",
        },
        "data": {ROUTES_KEY: json.dumps(document)},
    }


def pods(*, serving: int = 2, told: str | None = None) -> tuple[PodFact, ...]:
    notes = {} if told is None else {naming.ROUTES_VERSION: told}
    readers = tuple(pod(index, vertex="read", annotations=notes) for index in range(2))
    return (*readers, *(pod(index, ready=index < serving) for index in range(2)))


def surveys(all_pods: tuple[PodFact, ...]) -> dict[str, Survey]:
    nodes = by_name(*TWO_NODES)
    if any(naming.PROCESS in one.labels for one in all_pods):
        units: dict[Unit, Wish] = {
            Process(index=number, tasks=tasks_in(one)): Wish(template_hash=HASH)
            for number, one in enumerate(all_pods)
        }
        shared = survey_shared(units, all_pods, nodes, PATIENCE, NOW_S)
        return {name: shared.part(name) for name in WANTED}
    return {
        name: survey(wanted, all_pods, nodes, PATIENCE, NOW_S) for name, wanted in WANTED.items()
    }


def write(
    before: dict[str, Any] | None,
    all_pods: tuple[PodFact, ...],
    planned: dict[str, float] | None = None,
    grouping: str = "Shuffle",
) -> tuple[FakeClient, dict[str, Any]]:
    """Write the routes once; what was written, and what they say now."""
    vertices = {name: stream_vertex(name) for name in ("read", "split")}
    client = FakeClient(*((STREAM_VERTICES, body) for body in vertices.values()))
    for one in all_pods:
        metadata = {"name": one.name, "namespace": one.namespace, "uid": one.uid}
        client.put(PODS, {"metadata": {**metadata, "annotations": dict(one.annotations)}})
    if before is not None:
        client.put(CONFIG_MAPS, before)
    found = facts(
        topology(), config_maps={} if before is None else {READ_ROUTES: before}, pods=all_pods
    )
    routing = Routing(
        client=client,
        facts=found,
        spec=topology_spec(edges=[{"from": "read", "to": "split", "grouping": {"type": grouping}}]),
        domains={"n1": "a"},
        now_s=NOW_S,
        planned={} if planned is None else {EDGE: planned},
    )
    assert routing.write(vertices, WANTED, surveys(all_pods)) == []
    text = client.found(CONFIG_MAPS, NAMESPACE, READ_ROUTES)["data"][ROUTES_KEY]
    return client, json.loads(text)


def weights(document: dict[str, Any]) -> dict[str, float]:
    return {task["name"]: task["weight"] for task in document["edges"][0]["tasks"]}


def test_without_a_plan_all_weigh_the_same() -> None:
    assert weights(write(None, pods())[1]) == {"split-0": 1, "split-1": 1}


def test_a_plan_sets_weights_and_they_stay() -> None:
    _, document = write(routes(3, split_0=1, split_1=1), pods(), {"split-0": 700, "split-1": 300})
    assert weights(document) == {"split-0": 700, "split-1": 300}
    assert document["version"] == 4
    _, document = write(routes(4, split_0=700, split_1=300), pods())
    assert weights(document) == {"split-0": 700, "split-1": 300}


def test_a_new_task_weighs_as_much_as_the_others_on_average() -> None:
    _, document = write(routes(4, split_0=700), pods())
    assert weights(document) == {"split-0": 700, "split-1": 700}


def test_a_spoilt_weight_is_forgotten() -> None:
    _, document = write(routes(4, split_0=-1, split_1=float("nan")), pods())
    assert weights(document) == {"split-0": 1, "split-1": 1}


def test_an_edge_that_is_grouped_anew_begins_evenly() -> None:
    spec = topology_body(vertex_body("read"), vertex_body("split"))
    spec["edges"][0]["grouping"] = {"type": "Weighted"}
    routing = Routing(
        client=FakeClient(),
        facts=facts(topology(), config_maps={READ_ROUTES: routes(4, split_0=700)}),
        spec=topology_spec(edges=spec["edges"]),
        domains={},
        now_s=NOW_S,
    )
    assert routing.weights() == {EDGE: {}}


def test_senders_are_told_where_senders_are() -> None:
    readers = (*pods()[2:], pod(0, vertex="read"), pod(1, vertex="read", on="n2"))
    _, document = write(None, readers, grouping="NearSource")
    assert document["edges"][0]["senders"] == [
        {"node": "n1", "domain": "a", "tasks": 1},
        {"node": "n2", "domain": "", "tasks": 1},
    ]


def announced(client: FakeClient) -> set[str]:
    return {name for verb, what, name in client.writes if (verb, what) == ("merge", "pods")}


def test_senders_hear_of_a_new_version_once() -> None:
    client, document = write(routes(3, split_0=1), pods(told="3"))
    assert document["version"] == 4
    readers = {
        naming.pod_name(TOPOLOGY, TaskKey(vertex="read", index=index), 1) for index in range(2)
    }
    assert announced(client) == readers
    for name in readers:
        notes = client.found(PODS, NAMESPACE, name)["metadata"]["annotations"]
        assert notes[naming.ROUTES_VERSION] == "4"
    kept = client.found(CONFIG_MAPS, NAMESPACE, READ_ROUTES)
    again, document = write(kept, pods(told="4"))
    assert (document["version"], again.writes) == (4, [])


def test_a_receiver_that_never_comes_keeps_no_news_from_senders() -> None:
    """It may fit on no node: then all that follows would come a minute late."""
    client, document = write(routes(3), pods(serving=1, told="3"))
    assert set(weights(document)) == {"split-0"}
    assert announced(client) == {
        naming.pod_name(TOPOLOGY, TaskKey(vertex="read", index=index), 1) for index in range(2)
    }


def test_a_sender_that_has_not_started_is_told_once_it_has() -> None:
    waiting = pod(0, vertex="read", phase="Pending", ready=False)
    started = pod(0, vertex="read", ready=False)
    receivers = pods()[2:]
    client, _ = write(routes(3), (waiting, *receivers))
    assert announced(client) == set()
    client, _ = write(routes(3), (started, *receivers))
    assert announced(client) == {started.name}


def test_a_shared_pod_is_told_of_each_vertex_apart() -> None:
    both = shared_pod(0, 3, "read-0", "split-0", annotations={f"{naming.ROUTES_VERSION}-read": "3"})
    old = shared_pod(1, 4, "read-1", "split-1")
    client, document = write(routes(3), (both, old))
    assert document["version"] == 4
    told = {
        one.name: client.found(PODS, NAMESPACE, one.name)["metadata"]["annotations"]
        for one in (both, old)
    }
    key = f"{naming.ROUTES_VERSION}-read"
    assert [notes[key] for notes in told.values()] == ["4", "4"]
    assert not any(naming.ROUTES_VERSION in notes for notes in told.values())
    # `split` is a sink, whose pods read nothing.
    assert not any(f"{naming.ROUTES_VERSION}-split" in notes for notes in told.values())
