"""What a topology owns besides pods and routes, kept as its spec says: vertices and budgets.

And the last valid spec itself, for the day on which the next one is wrong.
"""

from dataclasses import dataclass
from functools import partial

from thalweg_operator import naming
from thalweg_operator.act.at_once import at_once
from thalweg_operator.act.keeping import create_owned, keep
from thalweg_operator.act.structure import (
    budget_manifest,
    clamped,
    last_valid_manifest,
    owner_of,
    shared_budget_manifest,
    vertex_manifest,
)
from thalweg_operator.api.topology import Processes, TopologySpec, VertexSpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import (
    CONFIG_MAPS,
    POD_DISRUPTION_BUDGETS,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_operator.observe.world import TopologyFacts


@dataclass(frozen=True, slots=True, kw_only=True)
class Upkeep:
    """One topology's objects, and the client that changes them."""

    client: Client
    facts: TopologyFacts

    def remember(self, generation: int) -> None:
        """Keep the present spec, which is valid."""
        manifest = last_valid_manifest(
            self.facts.namespace,
            owner_of(self.facts.topology),
            self.facts.topology["spec"],
            generation,
        )
        found = self.facts.config_maps.get(manifest["metadata"]["name"])
        keep(self.client, CONFIG_MAPS, manifest, found, look_first=self.facts.is_in_trouble)

    def keep_vertices(self, spec: TopologySpec) -> dict[str, Object]:
        """Have a StreamVertex and a budget for each vertex, and none for others."""
        for name in sorted(set(self.facts.vertices) - {vertex.name for vertex in spec.vertices}):
            self.end(STREAM_VERTICES, self.facts.vertices[name])
        new = [vertex for vertex in spec.vertices if vertex.name not in self.facts.vertices]
        is_shared = spec.placement.processes is Processes.SHARED
        if not is_shared:
            self._end_budget(naming.processes_object(self.facts.name))
        keep_one = self._keep_vertex_alone if is_shared else self._keep_vertex_and_budget
        calls = [partial(keep_one, vertex) for vertex in new]
        made = at_once(calls, self.client.writes_at_once)
        kept = dict(zip((vertex.name for vertex in new), made, strict=True))
        for vertex in spec.vertices:
            # Those that are there seldom need anything: not worth a thread at every turn.
            if vertex.name not in kept:
                kept[vertex.name] = keep_one(vertex)
        return kept

    def keep_shared_budget(self, processes: int) -> None:
        """Have the one budget of pods that tasks share."""
        facts = self.facts
        owner = owner_of(facts.topology)
        budget = shared_budget_manifest(facts.namespace, owner, processes)
        found = facts.budgets.get(budget["metadata"]["name"])
        look_first = facts.is_in_trouble
        keep(self.client, POD_DISRUPTION_BUDGETS, budget, found, look_first=look_first)

    def end(self, resource: Resource, found: Object) -> None:
        """Delete what the spec has no place for any more, and what it owns."""
        metadata = found["metadata"]
        if metadata.get("deletionTimestamp"):
            return
        self.client.delete(
            resource,
            metadata["namespace"],
            metadata["name"],
            uid=metadata["uid"],
            resource_version=metadata["resourceVersion"],
        )

    def _keep_vertex_and_budget(self, vertex: VertexSpec) -> Object:
        kept = self._keep_vertex(vertex)
        budget = budget_manifest(self.facts.namespace, owner_of(kept), self.facts.name, vertex.name)
        found = self.facts.budgets.get(budget["metadata"]["name"])
        look_first = self.facts.is_in_trouble
        keep(self.client, POD_DISRUPTION_BUDGETS, budget, found, look_first=look_first)
        return kept

    def _keep_vertex_alone(self, vertex: VertexSpec) -> Object:
        self._end_budget(naming.vertex_object(self.facts.name, vertex.name))
        return self._keep_vertex(vertex)

    def _end_budget(self, name: str) -> None:
        """A budget of the other kind, from before `placement.processes` was changed."""
        found = self.facts.budgets.get(name)
        if found is not None:
            self.end(POD_DISRUPTION_BUDGETS, found)

    def _keep_vertex(self, vertex: VertexSpec) -> Object:
        """Have the StreamVertex. Its replicas are others' to set; only bounds clamp them."""
        found = self.facts.vertices.get(vertex.name)
        replicas = vertex.replicas.initial if found is None else found["spec"]["replicas"]
        manifest = vertex_manifest(
            self.facts.namespace,
            owner_of(self.facts.topology),
            vertex,
            clamped(replicas, vertex),
        )
        if found is None:
            look_first = self.facts.is_in_trouble
            return create_owned(self.client, STREAM_VERTICES, manifest, look_first=look_first)
        if found["spec"] == manifest["spec"]:
            return found
        # Whole and with the resourceVersion: bounds and clamped replicas change in one write, and
        # a `kubectl scale` that came in between is not undone.
        return self.client.replace(STREAM_VERTICES, {**found, "spec": manifest["spec"]})
