"""The pod that several tasks share, how it is counted, and the budget that it is under."""

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from thalweg_fake_client import FakeClient
from thalweg_operator import naming
from thalweg_operator.act.carry_out import Happening, Post
from thalweg_operator.act.making import SharedBatch, make_pods
from thalweg_operator.act.manifests import Berth, PodOrder, pod_manifest, process_hash
from thalweg_operator.act.structure import shared_budget_manifest
from thalweg_operator.cluster.resources import PODS, STREAM_TOPOLOGIES
from thalweg_operator.errors import Refused
from thalweg_operator.naming import Process, tasks_named
from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.survey import Need, Why
from thalweg_operator_worlds import NAMESPACE, TOPOLOGY, ZONE, owner, pod, template, topology
from thalweg_runtime.worker.settings import identity_of

THREE = Process(index=4, tasks=tasks_named(["read-0", "split-0", "split-1"]))
TWO = Process(index=5, tasks=tasks_named(["split-2", "count-0"]))
ALSO_TWO = Process(index=6, tasks=tasks_named(["split-3", "count-1"]))
SENDERS = ("read", "split")
ORDER = PodOrder(
    namespace=NAMESPACE,
    topology=TOPOLOGY,
    task=TWO,
    incarnation=9,
    template=template(cpu="250m"),
    sends=True,
    senders=SENDERS,
    berth=Berth(domain_label=ZONE, domain="a", node="n1"),
    planned_node="n1",
    owner=owner(),
)


def environment(pod: dict[str, Any]) -> dict[str, str]:
    (worker,) = pod["spec"]["containers"]
    return {one["name"]: one.get("value", "") for one in worker["env"]}


def test_what_it_is_called_and_who_owns_it() -> None:
    metadata = pod_manifest(ORDER)["metadata"]
    assert metadata["name"] == "word-count-p5-9"
    assert metadata["ownerReferences"] == [owner().reference()]
    assert metadata["labels"] == {
        **naming.common_labels(TOPOLOGY),
        naming.PROCESS: "5",
        "thalweg.dev/hosts-split": "1",
        "thalweg.dev/hosts-count": "1",
        naming.INCARNATION: "9",
        naming.STATE: naming.ACTIVE,
        naming.TEMPLATE_HASH: process_hash(ORDER.template, TWO, SENDERS),
    }
    assert metadata["annotations"] == {
        naming.PLANNED_NODE: "n1",
        naming.TASKS: "split-2,count-0",
    }
    assert naming.tasks_of(metadata["labels"], metadata["annotations"]) == TWO.tasks


def test_the_worker_understands_what_it_is_told() -> None:
    told = environment(pod_manifest(ORDER))
    assert told.keys().isdisjoint({"THALWEG_TASK", "THALWEG_VERTEX", "THALWEG_ROUTES"})
    found = identity_of(told)
    assert [(one.vertex, one.task, one.incarnation) for one in found.tasks] == [
        ("split", "split-2", 9),
        ("count", "count-0", 9),
    ]
    assert [str(one.routes) for one in found.tasks] == ["/etc/thalweg/routes/split.json", "None"]


def test_it_is_told_who_runs_its_tasks_now() -> None:
    def sharing(index: int, incarnation: int, tasks: str, **facts: Any) -> PodFact:
        labels = {naming.PROCESS: str(index), naming.INCARNATION: str(incarnation)}
        made = pod(labels=labels, annotations={naming.TASKS: tasks}, **facts)
        return replace(made, labels=labels, pod_ip=f"10.0.0.{incarnation}")

    pods = (
        sharing(5, 3, "split-2,count-0", deleting=True),
        sharing(7, 4, "count-0,count-1"),
        sharing(8, 5, "split-0"),
        sharing(9, 6, "split-2", phase="Failed"),
        replace(sharing(9, 7, "split-2"), pod_ip=None),
    )
    client, body = making()
    one = replace(batch(body, post(TWO), record=RECORD), pods=pods)
    assert [done.why for done in made(client, one)] == [Why.FIRST]
    new = client.found(PODS, NAMESPACE, "word-count-p5-1")
    found = identity_of(environment(new))
    assert [(one.incarnation, one.address) for one in found.before] == [
        (3, "10.0.0.3"),
        (4, "10.0.0.4"),
    ]


def test_each_sending_vertex_has_its_routes_in_one_folder() -> None:
    pod = pod_manifest(replace(ORDER, task=THREE))
    (volume,) = pod["spec"]["volumes"]
    assert volume["projected"]["sources"] == [
        {
            "configMap": {
                "name": f"word-count-{vertex}-routes",
                "optional": True,
                "items": [{"key": "routes.json", "path": f"{vertex}.json"}],
            }
        }
        for vertex in ("read", "split")
    ]
    (mount,) = pod["spec"]["containers"][0]["volumeMounts"]
    assert (mount["name"], mount["mountPath"]) == (volume["name"], "/etc/thalweg/routes")


def test_sinks_need_no_routes() -> None:
    sinks = Process(index=0, tasks=tasks_named(["count-0", "count-1"]))
    assert "volumes" not in pod_manifest(replace(ORDER, task=sinks, sends=False))["spec"]


def test_it_asks_for_what_its_tasks_would_ask_for_alone() -> None:
    (worker,) = pod_manifest(replace(ORDER, task=THREE))["spec"]["containers"]
    assert worker["resources"]["requests"] == {"cpu": "750m"}
    assert ORDER.template == template(cpu="250m"), "the user's template is left as it was"


def post(process: Process, *, after: int = 0) -> Post:
    return Post(
        need=Need(task=process, why=Why.FIRST, after=after),
        berth=Berth(domain_label=ZONE, domain="a", node="n1"),
        planned_node="n1",
    )


def batch(body: dict[str, Any], *posts: Post, record: list[dict[str, Any]]) -> SharedBatch:
    templates = dict.fromkeys(("read", "split", "count"), template())
    return SharedBatch(
        topology=body, templates=templates, senders=SENDERS, posts=posts, processes=record
    )


RECORD = [{"index": 4, "tasks": ["read-0", "split-0", "split-1"]}]


def making(**status: Any) -> tuple[FakeClient, dict[str, Any]]:
    body = topology(status=status)
    return FakeClient((STREAM_TOPOLOGIES, body)), body


def made(client: FakeClient, one: SharedBatch) -> Iterator[Happening]:
    return make_pods(client, one.topology, [one])


def test_record_and_numbers_are_written_before_a_pod() -> None:
    client, body = making(nextIncarnation=3, tasks={"desired": 3})
    told = list(made(client, batch(body, post(THREE), post(TWO), record=RECORD)))
    assert client.writes == [
        ("merge", "streamtopologies/status", TOPOLOGY),
        ("create", "pods", "word-count-p4-3"),
        ("create", "pods", "word-count-p5-4"),
    ]
    now = client.found(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY)
    assert now["status"] == {
        "nextIncarnation": 5,
        "processes": RECORD,
        "tasks": {"desired": 3},
    }
    assert body["metadata"]["resourceVersion"] == now["metadata"]["resourceVersion"]
    assert [one.message for one in told] == ["p4 starts on n1", "p5 starts on n1"]


@pytest.mark.parametrize(
    ("counted", "after", "first"), [(None, 0, 1), (4, 0, 4), (4, 9, 10), (None, 9, 10)]
)
def test_no_number_twice(counted: int | None, after: int, first: int) -> None:
    client, body = making(**({} if counted is None else {"nextIncarnation": counted}))
    list(made(client, batch(body, post(TWO, after=after), record=RECORD)))
    assert client.writes[-1] == ("create", "pods", f"word-count-p5-{first}")


def test_a_record_that_changes_is_written_without_a_pod() -> None:
    client, body = making(processes=[*RECORD, {"index": 7, "tasks": ["count-5"]}])
    assert list(made(client, batch(body, record=RECORD))) == []
    assert client.found(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY)["status"]["processes"] == RECORD


def test_a_record_that_stays_is_not_written() -> None:
    client, body = making(processes=RECORD)
    assert list(made(client, batch(body, record=RECORD))) == []
    assert client.writes == []


def test_an_edited_topology_is_looked_at_again() -> None:
    client, body = making()
    newer = {**body, "metadata": {**body["metadata"], "resourceVersion": "6"}}
    client.put(STREAM_TOPOLOGIES, newer)
    assert list(made(client, batch(body, post(TWO), record=RECORD))) == []
    assert [verb for verb, *_ in client.writes if verb == "create"] == []


def test_a_refusal_is_for_pods_of_the_same_size_only() -> None:
    client, body = making()
    client.fail("create", None, Refused('pods "word-count-p5-2" is forbidden: quota', status=403))
    posts = (post(THREE), post(TWO), post(ALSO_TWO))
    told = list(made(client, batch(body, *posts, record=RECORD)))
    assert {(one.task, one.why) for one in told} == {("p4", Why.FIRST), ("p5", Why.REFUSED)}
    (refusal,) = [one.message for one in told if one.why is Why.REFUSED]
    assert refusal == (
        'no pod can be made for process p5: pods "word-count-p5" is forbidden: quota'
    )


def test_a_process_with_other_tasks_says_so() -> None:
    client, body = making()
    changed = replace(post(TWO), need=Need(task=TWO, why=Why.CHANGED))
    (told,) = made(client, batch(body, changed, record=RECORD))
    assert told.message == "p5 gets the changed template or set of tasks (2 now) on n1"


@pytest.mark.parametrize(("processes", "least"), [(0, 0), (1, 0), (2, 1), (9, 8)])
def test_one_process_at_a_time_may_be_evicted(processes: int, least: int) -> None:
    budget = shared_budget_manifest(NAMESPACE, owner(), processes)
    assert budget["metadata"]["name"] == "word-count-processes"
    assert budget["spec"]["minAvailable"] == least
    assert json.dumps(budget["spec"]["selector"], sort_keys=True) == json.dumps(
        {
            "matchLabels": {naming.TOPOLOGY: TOPOLOGY, naming.STATE: naming.ACTIVE},
            "matchExpressions": [{"key": naming.PROCESS, "operator": "Exists"}],
        },
        sort_keys=True,
    )
