"""A retiring pod ends once all who send to it follow newer routes, and not before."""

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from thalweg_fake_client import FakeClient
from thalweg_operator import naming
from thalweg_operator.act.manifests import ROUTES_KEY
from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.clock import SystemClock
from thalweg_operator.cluster.resources import PODS, STREAM_TOPOLOGIES
from thalweg_operator.condensing import Reading
from thalweg_operator.judging import judge
from thalweg_operator.measuring import Measuring
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import PodFact
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.store import TABLES, Matrices
from thalweg_operator.observe.survey import Wanted, survey
from thalweg_operator.observe.world import World
from thalweg_operator.releasing import Releasing
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.settings import Settings
from thalweg_operator.tending import Tending
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
    topology,
    topology_body,
    topology_spec,
    vertex_body,
)

SPEC = topology_spec(vertex_body("read"), vertex_body("split"), vertex_body("count"))
READERS = tuple(pod(index, vertex="read") for index in range(2))


def retiring(*, named_by: str = "read=7", vertex: str = "split", **more: Any) -> PodFact:
    notes = {naming.RETIRED_ROUTES: named_by}
    return pod(0, 1, vertex=vertex, retired_at_s=NOW_S - 9, annotations=notes, **more)


def routes(vertex: str, version: int) -> dict[str, dict[str, Any]]:
    name = naming.routes_object(TOPOLOGY, vertex)
    return {name: {"data": {ROUTES_KEY: json.dumps({"version": version, "edges": []})}}}


def released(*pods: PodFact, **followed: int) -> frozenset[str]:
    found = Releasing(facts=facts(topology(), pods=pods), spec=SPEC)
    return found.released({name.replace("_", "-"): version for name, version in followed.items()})


@pytest.mark.parametrize(
    ("followed", "is_released"),
    [
        ({"read_0": 8, "read_1": 8}, True),
        ({"read_0": 8, "read_1": 12}, True),
        ({"read_0": 8, "read_1": 7}, False),
        ({"read_0": 8}, False),
        ({}, False),
    ],
)
def test_all_senders_have_to_follow(followed: dict[str, int], is_released: bool) -> None:
    old = retiring()
    assert released(old, *READERS, **followed) == ({old.uid} if is_released else set())


def test_only_who_sends_to_it_is_asked() -> None:
    old = retiring()
    others = (pod(0, 2), pod(0, vertex="count"))
    assert released(old, *READERS, *others, read_0=8, read_1=8) == {old.uid}


@pytest.mark.parametrize("named_by", ["", "read=x", "count=7", "read", "=7", "read=-1"])
def test_without_a_version_to_go_by_it_is_kept(named_by: str) -> None:
    assert released(retiring(named_by=named_by), *READERS, read_0=8, read_1=8) == set()


def test_a_source_is_kept_for_its_next_pod() -> None:
    assert released(retiring(named_by="", vertex="read"), *READERS, read_0=8) == set()
    both = shared_pod(0, 3, "read-0", "split-0", retired_at_s=NOW_S)
    both = replace(both, annotations={**both.annotations, naming.RETIRED_ROUTES: "read=7"})
    assert released(both, READERS[1], read_0=8, read_1=8) == set()


def test_a_sender_that_retires_too_may_still_send_by_old_routes() -> None:
    """What is measured of a task is of its newest pod only."""
    leaving = pod(1, 1, vertex="read", retired_at_s=NOW_S)
    newer = pod(1, 2, vertex="read")
    assert released(retiring(), READERS[0], newer, leaving, read_0=8, read_1=8) == set()


@pytest.mark.parametrize("state", [{"deleting": True}, {"phase": "Succeeded"}, {"phase": "Failed"}])
def test_senders_that_are_over_are_not_waited_for(state: dict[str, Any]) -> None:
    old, gone = retiring(), pod(1, vertex="read", **state)
    assert released(old, READERS[0], gone, read_0=8) == {old.uid}


def test_what_is_deleted_already_needs_no_release() -> None:
    old = retiring(deleting=True)
    assert released(old, *READERS, read_0=8, read_1=8) == set()
    assert not Releasing(facts=facts(topology(), pods=(old,)), spec=SPEC).is_due
    assert Releasing(facts=facts(topology(), pods=(retiring(),)), spec=SPEC).is_due


def test_a_pod_takes_along_which_routes_named_it() -> None:
    config_maps = routes("read", 7) | routes("split", 40)
    releasing = Releasing(facts=facts(topology(), config_maps=config_maps), spec=SPEC)
    found = [releasing.last_routes(pod(0, vertex=name)) for name in ("read", "split", "count")]
    assert found == ["", "read=7", "split=40"]
    assert releasing.last_routes(shared_pod(0, 3, "split-0", "count-1")) == "read=7,split=40"
    never = Releasing(facts=facts(topology()), spec=SPEC)
    assert never.last_routes(pod(0)) == "read=0", "no file has ever named it"


def test_a_released_pod_is_deleted_before_its_time() -> None:
    old, new = retiring(), pod(0, 2)
    wanted = Wanted(vertex="split", replicas=1, template_hash=HASH)

    def deleted(*uids: str) -> list[str]:
        patience = replace(PATIENCE, released=frozenset(uids))
        found = survey(wanted, (old, new), by_name(*TWO_NODES), patience, NOW_S)
        assert found.serving == {TaskKey(vertex="split", index=0): new}
        return [end.pod.name for end in found.delete]

    assert deleted() == []
    assert deleted(old.uid) == [old.name]
    assert deleted(new.uid) == [], "what does not retire is not released"


class Told(Measuring):
    """Says by which version `read-0` sends."""

    version: float = math.nan

    def reading(self, _spec: TopologySpec) -> Reading:
        row = {"namespace": NAMESPACE, "topology": TOPOLOGY, "task": "read-0"}
        rows = [{**row, "routes_version": self.version}]
        tables: dict[str, list[dict[str, Any]]] = {table: [] for table in TABLES}
        tables["task_load"] = rows
        return Reading(matrices=Matrices(run="1", engine="told", observed_at_s=1.0, tables=tables))


@pytest.mark.parametrize(("version", "is_ended"), [(math.nan, False), (7.0, False), (8.0, True)])
def test_the_loop_ends_what_nobody_sends_to(version: float, is_ended: bool) -> None:
    old, new, reader = retiring(), pod(0, 2), pod(0, vertex="read")
    body = topology(
        topology_body(vertex_body("read", replicas=1), vertex_body("split", replicas=1))
    )
    client = FakeClient((STREAM_TOPOLOGIES, body))
    for one in (old, new, reader):
        client.put(
            PODS,
            {
                "metadata": {
                    "name": one.name,
                    "namespace": NAMESPACE,
                    "uid": one.uid,
                    "resourceVersion": one.resource_version,
                }
            },
        )
    measuring = Told(Settings(), SystemClock())
    measuring.version = version
    found = facts(body, pods=(old, new, reader))
    Tending(
        client=client,
        settings=Settings(),
        metrics=Metrics(),
        world=World(
            now_s=NOW_S, nodes=by_name(*TWO_NODES), topologies=(), pods=(), is_autoscaled=False
        ),
        facts=found,
        verdict=judge(found),
        ledger=Ledger([]),
        measuring=measuring,
    ).tend()
    assert (("delete", "pods", old.name) in client.writes) == is_ended
