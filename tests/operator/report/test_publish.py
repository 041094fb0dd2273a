"""Statuses are written where they differ; what fails for one object stops nothing else."""

from dataclasses import replace
from typing import Any

import pytest

from thalweg_fake_client import FakeClient
from thalweg_operator.act.carry_out import Happening
from thalweg_operator.cluster.resources import STREAM_TOPOLOGIES, STREAM_VERTICES
from thalweg_operator.errors import NotLeader, Refused, Unavailable
from thalweg_operator.observe.survey import Wanted, Why
from thalweg_operator.observe.world import TopologyFacts, World
from thalweg_operator.report.publish import Publisher
from thalweg_operator.report.status import Judgement, Outcome
from thalweg_operator_worlds import (
    HASH,
    NAMESPACE,
    NOW_S,
    TOPOLOGY,
    facts,
    look,
    pod,
    stream_vertex,
    topology,
)

VERTEX_STATUS = ("merge", "streamvertices/status", "word-count-split")
TOPOLOGY_STATUS = ("merge", "streamtopologies/status", TOPOLOGY)
OUTCOME = Outcome(
    judgement=Judgement(generation=1, in_force=1),
    wanted=(Wanted(vertex="split", replicas=1, template_hash=HASH),),
    surveys={"split": look(pod(0))},
    domains={"n1": "a"},
)
FAILED = Outcome(
    judgement=Judgement(generation=2, in_force=1), surveys={}, domains={}, trouble="a name is taken"
)
REFUSED = Happening(task="split-0", why=Why.REFUSED, message="no pod can be made: quota")
CREATED = Happening(task="split-0", why=Why.FIRST, message="split-0 starts on n1")


def world() -> World:
    return World(now_s=NOW_S, nodes={}, topologies=(), pods=(), is_autoscaled=False)


class Stage:
    """A topology with one vertex at the API server, read afresh for each turn."""

    def __init__(self) -> None:
        self.client = FakeClient(
            (STREAM_TOPOLOGIES, topology()), (STREAM_VERTICES, stream_vertex())
        )

    def facts(self) -> TopologyFacts:
        found = self.client.get(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY)
        vertex = self.client.get(STREAM_VERTICES, NAMESPACE, "word-count-split")
        assert found is not None
        assert vertex is not None
        return facts(found, vertices={"split": vertex})

    def publish(self, outcome: Outcome, *happenings: Happening) -> tuple[int, int]:
        self.client.writes.clear()
        return Publisher(self.client).publish(world(), self.facts(), outcome, happenings)

    def status(self) -> dict[str, Any]:
        found: dict[str, Any] = self.client.found(STREAM_TOPOLOGIES, NAMESPACE, TOPOLOGY)["status"]
        return found

    def condition(self, kind: str) -> tuple[str, str]:
        (one,) = [one for one in self.status()["conditions"] if one["type"] == kind]
        return one["status"], one["message"]

    def events(self) -> list[str]:
        return [
            str(body["reason"])
            for (plural, _, _), body in self.client.objects.items()
            if plural == "events"
        ]


def test_written_once() -> None:
    stage = Stage()
    assert stage.publish(OUTCOME) == (1, 1)
    assert stage.client.writes == [VERTEX_STATUS, TOPOLOGY_STATUS]
    assert stage.publish(OUTCOME) == (1, 1)
    assert stage.client.writes == []


def test_the_incarnation_counter_is_left_alone() -> None:
    stage = Stage()
    stage.client.put(STREAM_VERTICES, stream_vertex(status={"nextIncarnation": 9}))
    stage.publish(OUTCOME)
    status = stage.client.found(STREAM_VERTICES, NAMESPACE, "word-count-split")["status"]
    assert (status["nextIncarnation"], status["readyReplicas"]) == (9, 1)


def test_a_turn_that_saw_nothing_keeps_what_is_known_and_claims_nothing() -> None:
    stage = Stage()
    stage.publish(OUTCOME)
    assert stage.condition("Ready")[0] == "True"
    assert stage.publish(FAILED) == (1, 1)
    assert stage.condition("Ready") == ("Unknown", "a name is taken")
    assert stage.condition("Degraded") == ("True", "a name is taken")
    assert stage.condition("Valid")[0] == "True"
    assert stage.status()["tasks"]["summary"] == "1/1"
    assert stage.status()["observedGeneration"] == 1
    stage.publish(FAILED)
    assert stage.client.writes == []
    stage.publish(OUTCOME)
    assert stage.condition("Ready")[0] == "True"
    assert stage.condition("Degraded")[0] == "False"


def test_refused_pods_are_trouble_and_all_else_is_told() -> None:
    stage = Stage()
    stage.publish(OUTCOME, REFUSED)
    assert stage.condition("Degraded") == ("True", REFUSED.message)
    assert stage.condition("Ready")[0] == "True"
    assert stage.status()["tasks"]["summary"] == "1/1"


def test_a_refusal_that_comes_again_is_one_event() -> None:
    stage = Stage()
    for _ in range(3):
        stage.publish(OUTCOME, REFUSED, CREATED)
    assert sorted(stage.events()) == ["Created"] * 3 + ["Refused"]
    stage.publish(OUTCOME)
    stage.publish(OUTCOME, REFUSED)
    assert stage.events().count("Refused") == 2


@pytest.mark.parametrize("change", [{"uid": "another"}, {"resourceVersion": "999"}])
def test_a_late_status_takes_no_effect(change: dict[str, str]) -> None:
    stage = Stage()
    late = stage.facts()
    now = topology()
    now["metadata"] |= change
    stage.client.put(STREAM_TOPOLOGIES, now)
    Publisher(stage.client).publish(world(), late, OUTCOME, ())
    assert stage.status() == {}


def test_what_is_gone_is_no_trouble() -> None:
    stage = Stage()
    late = stage.facts()
    stage.client.objects.clear()
    Publisher(stage.client).publish(world(), late, OUTCOME, ())
    assert stage.client.objects == {}


def test_a_refused_status_does_not_stop_the_others() -> None:
    stage = Stage()
    stage.client.fail("merge", Refused("too long", status=422))
    stage.publish(OUTCOME)
    assert stage.client.writes == [VERTEX_STATUS, TOPOLOGY_STATUS]
    assert stage.condition("Ready")[0] == "True"


def test_no_answer_ends_the_turn() -> None:
    stage = Stage()
    stage.client.fail("merge", Unavailable("no answer"))
    with pytest.raises(Unavailable):
        stage.publish(OUTCOME)


def test_events_are_a_courtesy() -> None:
    stage = Stage()
    stage.client.fail("create", Refused("namespace is terminating", status=403))
    assert stage.publish(OUTCOME, CREATED) == (1, 1)
    assert stage.events() == []


def test_whoever_does_not_lead_tells_nothing() -> None:
    stage = Stage()
    stage.client.fail("merge", NotLeader("the Lease is lost"))
    with pytest.raises(NotLeader):
        stage.publish(OUTCOME, CREATED)
    assert stage.events() == []


def test_a_vertex_that_was_made_in_this_turn_has_no_status_yet() -> None:
    stage = Stage()
    found = replace(stage.facts(), vertices={})
    Publisher(stage.client).publish(world(), found, OUTCOME, ())
    assert stage.client.writes == [TOPOLOGY_STATUS]
