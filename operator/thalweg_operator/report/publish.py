"""Writing what was found: statuses where they differ, events for what was done."""

import logging
import socket
from collections.abc import Iterable, Mapping
from typing import Any

from thalweg_operator.act.agreeing import agrees
from thalweg_operator.act.carry_out import Happening
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import (
    EVENTS,
    STREAM_TOPOLOGIES,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_operator.errors import ApiError, Conflict, NotFound
from thalweg_operator.observe.world import TopologyFacts, World
from thalweg_operator.report.events import events_for
from thalweg_operator.report.status import Outcome, topology_status, vertex_status

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
        for wanted in outcome.wanted:
            vertex = facts.vertices.get(wanted.vertex)
            found = outcome.surveys.get(wanted.vertex)
            if vertex is not None and found is not None:
                generation = int(vertex["metadata"].get("generation") or 0)
                status = vertex_status(wanted, found, generation, facts.name, outcome.domains)
                self._write(STREAM_VERTICES, vertex, status)
        before = facts.topology.get("status") or {}
        status = _topology_status(before, outcome, world.now_s)
        self._write(STREAM_TOPOLOGIES, facts.topology, status)
        self._tell(facts.topology, happenings, world.now_s)
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
            )
        except (Conflict, NotFound):
            # Gone or made anew since it was read; the next turn sees that.
            log.info("the status of %s %s was not written", resource.kind, metadata["name"])

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
    """Of a turn that failed half-way only the trouble is told; the rest stays as it was."""
    status = topology_status(before, outcome, now_s)
    if not outcome.trouble:
        return status
    fresh = {condition["type"]: condition for condition in status["conditions"]}
    kept = [c for c in before.get("conditions") or () if c.get("type") != "Degraded"]
    return {"conditions": [*kept, fresh["Degraded"]]}
