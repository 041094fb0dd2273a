"""Writing what was found: statuses where they differ, events for what was done."""

import logging
import socket
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from thalweg_operator.act.agreeing import agrees
from thalweg_operator.act.at_once import at_once
from thalweg_operator.act.carry_out import Happening
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import (
    EVENTS,
    STREAM_TOPOLOGIES,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_operator.errors import ApiError, Conflict, NotFound, Refused
from thalweg_operator.observe.survey import Why
from thalweg_operator.observe.world import TopologyFacts, World
from thalweg_operator.report.conditions import merged_conditions
from thalweg_operator.report.events import events_for
from thalweg_operator.report.status import (
    Outcome,
    VertexView,
    timestamp,
    topology_status,
    unknown_since,
    vertex_status,
)

log = logging.getLogger(__name__)


class Publisher:
    """Writes statuses and events through the one client."""

    def __init__(self, client: Client) -> None:
        """Name the replica that reports, for whoever reads the events."""
        self._client = client
        self._reporter = socket.gethostname()

    def publish(
        self,
        world: World,
        facts: TopologyFacts,
        outcome: Outcome,
        happenings: Iterable[Happening],
    ) -> tuple[int, int]:
        """Write what differs; returns the desired and the ready tasks."""
        told = tuple(happenings)
        outcome = _with_refusals(outcome, told)
        news = []
        for wanted in outcome.wanted:
            vertex = facts.vertices.get(wanted.vertex)
            found = outcome.surveys.get(wanted.vertex)
            if vertex is not None and found is not None:
                view = VertexView(
                    topology=facts.name,
                    generation=int(vertex["metadata"].get("generation") or 0),
                    before=vertex.get("status") or {},
                    domains=outcome.domains,
                    now_s=world.now_s,
                )
                status = vertex_status(wanted, found, view)
                if not agrees(status, vertex.get("status") or {}):
                    news.append(partial(self._write, STREAM_VERTICES, vertex, status))
        list(at_once(news, self._client.writes_at_once))
        before = facts.topology.get("status") or {}
        status = _topology_status(before, outcome, world.now_s)
        self._write(STREAM_TOPOLOGIES, facts.topology, status)
        if not _is_news(before, status):
            # A pod is refused at every turn; one event is enough.
            told = tuple(happening for happening in told if happening.why is not Why.REFUSED)
        self._tell(facts.topology, told, world.now_s)
        tasks = status.get("tasks") or before.get("tasks") or {}
        return int(tasks.get("desired") or 0), int(tasks.get("ready") or 0)

    def _write(self, resource: Resource, found: Object, status: Mapping[str, Any]) -> None:
        if agrees(status, found.get("status") or {}):
            return
        metadata = found["metadata"]
        try:
            self._client.merge(
                resource,
                metadata["namespace"],
                metadata["name"],
                {"status": status},
                subresource="status",
                uid=metadata["uid"],
                resource_version=metadata["resourceVersion"],
            )
        except (Conflict, NotFound):
            # Gone, changed or made anew since it was read; the next turn sees that.
            log.info("the status of %s %s was not written", resource.kind, metadata["name"])
        except Refused as error:
            # What is wrong with one topology must not keep the others from their turn.
            log.warning("the status of %s %s: %s", resource.kind, metadata["name"], error)

    def _tell(
        self, topology: Mapping[str, Any], happenings: Iterable[Happening], now_s: float
    ) -> None:
        """Events are a courtesy: that one cannot be written is no reason to stop."""
        for event in events_for(topology, happenings, now_s=now_s, reporter=self._reporter):
            try:
                self._client.create(EVENTS, event)
            except ApiError as error:
                log.info("an event about %s was not written: %s", event["reason"], error)


def _topology_status(before: Mapping[str, Any], outcome: Outcome, now_s: float) -> dict[str, Any]:
    """Of a turn that failed before it saw the tasks only that is told; the rest stays as it was."""
    if not outcome.trouble or outcome.wanted:
        return topology_status(before, outcome, now_s)
    conditions = merged_conditions(
        before.get("conditions") or (),
        unknown_since(outcome.trouble),
        generation=outcome.judgement.generation,
        at=timestamp(now_s),
    )
    return {"conditions": conditions}


def _with_refusals(outcome: Outcome, happenings: Iterable[Happening]) -> Outcome:
    """Pods that the API server does not take are trouble, though all else went on."""
    refused = [happening.message for happening in happenings if happening.why is Why.REFUSED]
    if not refused:
        return outcome
    return replace(outcome, trouble="; ".join(filter(None, (outcome.trouble, *refused))))


def _is_news(before: Mapping[str, Any], status: Mapping[str, Any]) -> bool:
    """Whether what is wrong is not what was wrong before."""

    def said(of: Mapping[str, Any]) -> list[str]:
        conditions = of.get("conditions") or ()
        return [one["message"] for one in conditions if one.get("type") == "Degraded"]

    return said(before) != said(status)
