"""Routes of one topology: who receives now and with which weight, and telling the senders at once.

The weights stand in the routes themselves: a plan changes them, and they stay until another does.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.agreeing import agrees
from thalweg_operator.act.at_once import at_once
from thalweg_operator.act.keeping import keep
from thalweg_operator.act.manifests import ROUTES_KEY
from thalweg_operator.act.plans import EdgeName
from thalweg_operator.act.routes import (
    RoutedEdge,
    receiver_of,
    routed_weights,
    routes_document,
    routes_text,
    routes_version,
)
from thalweg_operator.act.structure import owner_of, routes_manifest
from thalweg_operator.api.topology import EdgeSpec, TopologySpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import CONFIG_MAPS, PODS, Object
from thalweg_operator.errors import Conflict, NotFound
from thalweg_operator.observe.facts import PodFact, tasks_in
from thalweg_operator.observe.survey import Survey, Wanted
from thalweg_operator.observe.world import TopologyFacts


@dataclass(kw_only=True)
class Routing:
    """What the routes of one topology's turn are made from."""

    client: Client
    facts: TopologyFacts
    spec: TopologySpec
    domains: Mapping[str, str]
    """Node to domain."""
    now_s: float
    planned: Mapping[EdgeName, Mapping[str, float]] = field(default_factory=dict)
    """Weights that a running plan sets."""

    def weights(self) -> dict[EdgeName, dict[str, float]]:
        """The weights that the routes have now."""
        found = {}
        for edge in self.spec.edges:
            text = routes_text(self._config_map(edge.source))
            found[edge.source, edge.target] = routed_weights(text, edge.target, _grouping(edge))
        return found

    def write(
        self,
        vertices: Mapping[str, Object],
        wanted: Mapping[str, Wanted],
        surveys: Mapping[str, Survey],
    ) -> list[Object]:
        """Tell each sending vertex which tasks serve now; returns routes that nobody needs."""
        weights = {**self.weights(), **self.planned}
        senders: dict[str, list[RoutedEdge]] = {edge.source: [] for edge in self.spec.edges}
        for edge in self.spec.edges:
            routed = self._edge(edge, wanted, surveys, weights[edge.source, edge.target])
            senders[edge.source].append(routed)
        changed, news = [], []
        for vertex, edges in senders.items():
            found = self._config_map(vertex)
            manifest = self._manifest(vertices[vertex], vertex, edges)
            if found is None or not agrees(manifest, found):
                changed.append(partial(self._keep, manifest, found))
            news += self._announcements(vertex, routes_version(manifest["data"][ROUTES_KEY]))
        list(at_once(changed, self.client.writes_at_once))
        list(at_once(news, self.client.writes_at_once))
        silent = [vertex.name for vertex in self.spec.vertices if vertex.name not in senders]
        return [found for name in silent if (found := self._config_map(name)) is not None]

    def _edge(
        self,
        edge: EdgeSpec,
        wanted: Mapping[str, Wanted],
        surveys: Mapping[str, Survey],
        weights: Mapping[str, float],
    ) -> RoutedEdge:
        receivers = (
            receiver_of(task, pod, self.domains)
            for task, pod in sorted(surveys[edge.target].serving.items())
        )
        return RoutedEdge(
            to=edge.target,
            grouping=_grouping(edge),
            replicas=max(1, wanted[edge.target].replicas),
            receivers=tuple(one for one in receivers if one is not None),
            weights=weights,
            senders=tuple(
                (pod.node, self.domains.get(pod.node, ""))
                for pod in surveys[edge.source].serving.values()
                if pod.node is not None
            ),
        )

    def _manifest(self, vertex: Object, name: str, edges: list[RoutedEdge]) -> Object:
        before = routes_text(self._config_map(name))
        text = routes_document(self.facts.name, name, edges, before, now_s=self.now_s)
        owner = owner_of(vertex)
        return routes_manifest(self.facts.namespace, owner, self.facts.name, name, text)

    def _keep(self, manifest: Object, found: Object | None) -> None:
        keep(self.client, CONFIG_MAPS, manifest, found, look_first=self.facts.is_in_trouble)

    def _announcements(self, vertex: str, version: int) -> list[Callable[[], None]]:
        """Mark the senders' pods, which makes the kubelet refresh their files at once.

        Without that it does so in a minute or more. Not even a receiver that is still missing is
        a reason to wait: nobody knows whether it will ever come.
        """
        return [
            partial(self._announce, pod, key, version)
            for pod in self.facts.pods
            if _sends(pod, vertex)
            and pod.annotations.get(key := _version_key(pod, vertex)) != str(version)
        ]

    def _announce(self, pod: PodFact, key: str, version: int) -> None:
        patch = {"metadata": {"annotations": {key: str(version)}}}
        try:
            self.client.merge(PODS, pod.namespace, pod.name, patch, uid=pod.uid)
        except (Conflict, NotFound):
            return  # Gone or made anew since: a new pod reads the newest file anyway.

    def _config_map(self, vertex: str) -> Object | None:
        return self.facts.config_maps.get(naming.routes_object(self.facts.name, vertex))


def _sends(pod: PodFact, vertex: str) -> bool:
    """Whether a pod reads the vertex's routes; one that retires still works off its queue.

    One that has not started yet has nothing to be refreshed; it is told once it has.
    """
    hosts = any(task.vertex == vertex for task in tasks_in(pod))
    return hosts and not pod.is_deleting and pod.phase == "Running"


def _version_key(pod: PodFact, vertex: str) -> str:
    """A shared pod reads the routes of several vertices, each with versions of its own."""
    is_shared = naming.process_index_of(pod.labels) is not None
    return f"{naming.ROUTES_VERSION}-{vertex}" if is_shared else naming.ROUTES_VERSION


def _grouping(edge: EdgeSpec) -> dict[str, Any]:
    grouping: dict[str, Any] = {"type": str(edge.grouping.type)}
    if edge.grouping.keys:
        grouping["keys"] = list(edge.grouping.keys)
    return grouping
