"""A pod is bound to its node, or only to its domain where nodes come and go by themselves."""

from typing import Any

import pytest

from thalweg_fake_client import FakeClient
from thalweg_operator import naming
from thalweg_operator.clock import SystemClock
from thalweg_operator.cluster.resources import STREAM_TOPOLOGIES
from thalweg_operator.judging import judge
from thalweg_operator.measuring import Measuring
from thalweg_operator.observe.facts import NodeFact
from thalweg_operator.observe.ledger import Ledger
from thalweg_operator.observe.world import World
from thalweg_operator.report.metrics import Metrics
from thalweg_operator.report.status import Outcome
from thalweg_operator.settings import Settings
from thalweg_operator.tending import Tending
from thalweg_operator_worlds import (
    NOW_S,
    TWO_NODES,
    ZONE,
    by_name,
    facts,
    node,
    topology,
    topology_body,
    vertex_body,
)


def tended(
    *,
    autoscaled: bool = False,
    nodes: tuple[NodeFact, ...] = TWO_NODES,
    binding: str | None = None,
) -> tuple[list[dict[str, Any]], Outcome]:
    """The pods that the first turn of a topology of two tasks makes, and what it found."""
    placement = {} if binding is None else {"binding": binding}
    body = topology(topology_body(vertex_body("split"), placement=placement))
    client = FakeClient((STREAM_TOPOLOGIES, body))
    settings, found = Settings(), facts(body)
    outcome = Tending(
        client=client,
        settings=settings,
        metrics=Metrics(),
        world=World(
            now_s=NOW_S, nodes=by_name(*nodes), topologies=(), pods=(), is_autoscaled=autoscaled
        ),
        facts=found,
        verdict=judge(found),
        ledger=Ledger([]),
        measuring=Measuring(settings, SystemClock()),
    ).tend()
    return [made for (plural, _, _), made in client.objects.items() if plural == "pods"], outcome


def term_of(pod: dict[str, Any]) -> dict[str, Any]:
    required = pod["spec"]["affinity"]["nodeAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    (term,) = required["nodeSelectorTerms"]
    found: dict[str, Any] = term
    return found


@pytest.mark.parametrize(
    ("autoscaled", "binding", "binds_node"),
    [
        (False, None, True),
        (True, None, False),
        (False, "Domain", False),
        (True, "Node", True),
    ],
)
def test_binding(autoscaled: bool, binding: str | None, binds_node: bool) -> None:
    pods, _ = tended(autoscaled=autoscaled, binding=binding)
    assert len(pods) == 2
    domains = {one.name: one.labels[ZONE] for one in TWO_NODES}
    for pod in pods:
        planned = pod["metadata"]["annotations"][naming.PLANNED_NODE]
        term = term_of(pod)
        assert term["matchExpressions"] == [
            {"key": ZONE, "operator": "In", "values": [domains[planned]]}
        ]
        fields = term.get("matchFields", [])
        assert [field["values"] for field in fields] == ([[planned]] if binds_node else [])


@pytest.mark.parametrize("autoscaled", [False, True])
def test_a_task_that_fits_nowhere_waits_in_any_domain(autoscaled: bool) -> None:
    pods, outcome = tended(autoscaled=autoscaled, nodes=(node("n1", cpu=1),))
    bound = [pod for pod in pods if pod["metadata"]["annotations"]]
    (waiting,) = [pod for pod in pods if not pod["metadata"]["annotations"]]
    assert len(bound) == 1
    assert term_of(waiting) == {"matchExpressions": [{"key": ZONE, "operator": "Exists"}]}
    (message,) = outcome.missing
    assert "split-1" in message
    assert "cpu" in message
