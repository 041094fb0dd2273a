"""Everything that one turn of the loop looks at, read afresh from the API server.

The loop never acts on a watch's cache: deletions can be lost there. Watches only wake it.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from thalweg_operator import naming
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import (
    CONFIG_MAPS,
    HORIZONTAL_POD_AUTOSCALERS,
    LEASES,
    NODES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    STREAM_PLANS,
    STREAM_TOPOLOGIES,
    STREAM_VERTICES,
    Object,
    Resource,
)
from thalweg_operator.errors import Refused
from thalweg_operator.observe.facts import NodeFact, PodFact, node_fact, pod_fact

FOREIGN = f"{naming.MANAGED_BY}!={naming.MANAGER}"
_KARPENTER = "karpenter.sh/"
_CLOCKS_AGREE_S = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologyFacts:
    """One topology and all that it owns."""

    topology: Object
    vertices: Mapping[str, Object]
    """StreamVertices by vertex."""
    budgets: Mapping[str, Object]
    """PodDisruptionBudgets by their own name."""
    config_maps: Mapping[str, Object]
    """ConfigMaps by their own name."""
    pods: tuple[PodFact, ...]
    plans: tuple[Object, ...] = ()
    """StreamPlans, in no order."""
    scaled_by_others: Mapping[str, str] = field(default_factory=dict)
    """Vertex to the HorizontalPodAutoscaler that sets its replicas."""

    @property
    def namespace(self) -> str:
        """The namespace of the topology and of all that it owns."""
        return str(self.topology["metadata"]["namespace"])

    @property
    def name(self) -> str:
        """The topology's name."""
        return str(self.topology["metadata"]["name"])

    @property
    def is_deleting(self) -> bool:
        """Whether the topology is on its way out."""
        return bool(self.topology["metadata"].get("deletionTimestamp"))

    @property
    def is_in_trouble(self) -> bool:
        """Whether the last turn could not do all that it meant to do."""
        conditions = (self.topology.get("status") or {}).get("conditions") or ()
        return any((one["type"], one["status"]) == ("Degraded", "True") for one in conditions)

    @property
    def uid(self) -> str:
        """The topology's uid: a new one of the same name has another."""
        return str(self.topology["metadata"]["uid"])


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """The cluster at the start of a turn."""

    now_s: float
    nodes: Mapping[str, NodeFact]
    topologies: tuple[TopologyFacts, ...]
    pods: tuple[PodFact, ...]
    """All pods that take room on a node, ours and foreign."""
    is_autoscaled: bool
    """Whether cluster-autoscaler or Karpenter adds and removes nodes."""


def observe(client: Client, namespaces: tuple[str, ...], now_s: float) -> World:
    """Read the cluster. Topologies come in a fixed order: by namespace and name."""
    topologies = _all(client, STREAM_TOPOLOGIES, namespaces)
    owned = {
        resource.plural: _by_owner(_all(client, resource, namespaces, labels=naming.MANAGED))
        for resource in (STREAM_VERTICES, POD_DISRUPTION_BUDGETS, CONFIG_MAPS, STREAM_PLANS)
    }
    autoscalers = _autoscalers(_all(client, HORIZONTAL_POD_AUTOSCALERS, namespaces))
    # Narrowing the namespaces narrows what is tended, never the ledger of who uses which node.
    ours = [pod_fact(pod) for pod in client.list(PODS, labels=naming.MANAGED)]
    foreign = [pod_fact(pod) for pod in client.list(PODS, labels=FOREIGN)]
    nodes = {node.name: node for node in map(node_fact, client.list(NODES))}
    pods_by_owner: dict[str, list[PodFact]] = {}
    for pod in ours:
        pods_by_owner.setdefault(pod.owner_uid or "", []).append(pod)
    topologies.sort(key=lambda topology: (_namespace(topology), _name(topology)))
    return World(
        now_s=agreed_now_s(now_s, client.server_now_s()),
        nodes=nodes,
        topologies=tuple(
            _facts(topology, owned, pods_by_owner, autoscalers) for topology in topologies
        ),
        pods=tuple(pod for pod in (*ours, *foreign) if pod.phase not in ("Succeeded", "Failed")),
        is_autoscaled=_is_autoscaled(client, nodes.values()),
    )


def agreed_now_s(own_s: float, server_s: float | None) -> float:
    """The time to compare the control plane's timestamps with: its own, where ours is far off.

    It tells whole seconds; our finer clock counts while the two agree.
    """
    if server_s is None or abs(server_s - own_s) < _CLOCKS_AGREE_S:
        return own_s
    return server_s


def _all(
    client: Client, resource: Resource, namespaces: tuple[str, ...], labels: str = ""
) -> list[Object]:
    if not namespaces:
        return client.list(resource, labels=labels)
    return [
        found
        for namespace in namespaces
        for found in client.list(resource, namespace=namespace, labels=labels)
    ]


def _facts(
    topology: Object,
    owned: Mapping[str, Mapping[str, list[Object]]],
    pods_by_owner: Mapping[str, list[PodFact]],
    autoscalers: Mapping[tuple[str, str], str],
) -> TopologyFacts:
    uid = topology["metadata"]["uid"]
    vertices = owned[STREAM_VERTICES.plural].get(uid, [])
    owners = [uid, *(vertex["metadata"]["uid"] for vertex in vertices)]
    return TopologyFacts(
        topology=topology,
        # By the spec, which cannot change: a label that somebody took off must not end a vertex.
        vertices={vertex["spec"]["vertex"]: vertex for vertex in vertices},
        budgets=_named(owned[POD_DISRUPTION_BUDGETS.plural], owners),
        config_maps=_named(owned[CONFIG_MAPS.plural], owners),
        pods=tuple(pod for owner in owners for pod in pods_by_owner.get(owner, ())),
        plans=tuple(owned[STREAM_PLANS.plural].get(uid, ())),
        scaled_by_others={
            vertex["spec"]["vertex"]: autoscalers[_namespace(vertex), _name(vertex)]
            for vertex in vertices
            if (_namespace(vertex), _name(vertex)) in autoscalers
        },
    )


def _autoscalers(found: Iterable[Object]) -> dict[tuple[str, str], str]:
    """The StreamVertices that a HorizontalPodAutoscaler targets, and its name."""
    targets = {}
    for each in found:
        target = (each.get("spec") or {}).get("scaleTargetRef") or {}
        if target.get("kind") == STREAM_VERTICES.kind:
            targets[_namespace(each), str(target.get("name"))] = _name(each)
    return targets


def _named(by_owner: Mapping[str, list[Object]], owners: Iterable[str]) -> dict[str, Object]:
    return {_name(found): found for owner in owners for found in by_owner.get(owner, ())}


def _by_owner(objects: Iterable[Object]) -> dict[str, list[Object]]:
    found: dict[str, list[Object]] = {}
    for each in objects:
        found.setdefault(controller_uid(each), []).append(each)
    return found


def controller_uid(found: Mapping[str, Any]) -> str:
    """The uid of the object that controls this one; empty for one that nobody does."""
    for owner in found["metadata"].get("ownerReferences") or ():
        if owner.get("controller"):
            return str(owner["uid"])
    return ""


def _is_autoscaled(client: Client, nodes: Iterable[NodeFact]) -> bool:
    if any(key.startswith(_KARPENTER) for node in nodes for key in node.labels):
        return True
    try:
        return client.get(LEASES, "kube-system", "cluster-autoscaler") is not None
    except Refused:
        return False  # Whoever forbids us to look has to say `binding: Domain`.


def _name(found: Object) -> str:
    return str(found["metadata"]["name"])


def _namespace(found: Object) -> str:
    return str(found["metadata"]["namespace"])
