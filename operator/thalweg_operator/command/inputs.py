"""A topology and nodes from files, as the operator would read them from a cluster."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from thalweg_operator.api.fields import InvalidManifest
from thalweg_operator.api.topology import TopologySpec, VertexSpec, parse_topology
from thalweg_operator.api.validation import Fault, Offer, Problem, find_problems
from thalweg_operator.command.files import Document, items_of, read_documents
from thalweg_operator.command.shape import NAME, SPEC
from thalweg_operator.naming import GROUP
from thalweg_operator.observe.facts import NodeFact, node_fact
from thalweg_operator.observe.reading import mapping_at, mappings_at
from thalweg_operator.observe.requests import quantity

_API_VERSION = f"{GROUP}/v1alpha1"
_KIND = "StreamTopology"
_PATH = re.compile(r"spec[\w.\[\]]*")
_KUBELET_PODS = 110.0
"""How many pods a kubelet takes unless it is told otherwise; for nodes written by hand."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Topology:
    """A StreamTopology and the file it came from."""

    name: str
    spec: TopologySpec
    document: Document


def read_topology(path: Path, strategies: frozenset[str]) -> Topology:
    """The one StreamTopology of a file; its strategy must be one of `strategies`."""
    document = _only_topology(path)
    metadata = document.value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, Mapping) else None
    if not isinstance(name, str) or not name:
        raise document.wrong("metadata.name", "metadata.name must be a string")
    spec = document.value.get("spec")
    for place, message in (*NAME.misfits(name, "metadata.name"), *SPEC.misfits(spec, "spec")):
        raise document.wrong(place, message)
    try:
        parsed = parse_topology(spec)
    except InvalidManifest as error:
        named = _PATH.match(str(error))
        raise document.wrong(named.group() if named else "spec", str(error)) from None
    _refuse_problems(document, parsed, Offer(strategies=strategies, shared_processes=True))
    _refuse_requests(document, parsed)
    return Topology(name=name, spec=parsed, document=document)


def read_nodes(path: Path) -> tuple[NodeFact, ...]:
    """The nodes of a List as `kubectl get nodes -o yaml` prints it, by name."""
    nodes: dict[str, NodeFact] = {}
    for document, where, item in items_of(read_documents(path)):
        if not isinstance(item, Mapping) or item.get("kind") != "Node":
            raise document.wrong(where, f"expected kind: Node{_instead(item)}")
        node = _node(document, where, item)
        if node.name in nodes:
            place = _below(where, "metadata.name")
            raise document.wrong(place, f"node {node.name} is there twice")
        nodes[node.name] = node
    return tuple(nodes[name] for name in sorted(nodes))


def _only_topology(path: Path) -> Document:
    documents = read_documents(path)
    found = [one for one in documents if isinstance(one.value, Mapping)]
    topologies = [one for one in found if one.value.get("kind") == _KIND]
    if len(topologies) > 1:
        raise topologies[1].wrong("", f"a second {_KIND}; one file may hold only one")
    if not topologies:
        raise documents[0].wrong("kind", f"expected kind: {_KIND}{_instead(documents[0].value)}")
    only = topologies[0]
    if only.value.get("apiVersion") != _API_VERSION:
        raise only.wrong("apiVersion", f"expected apiVersion: {_API_VERSION}")
    return only


def _instead(item: object) -> str:
    kind = item.get("kind") if isinstance(item, Mapping) else None
    return f", found {kind}" if kind else ""


def _refuse_problems(document: Document, spec: TopologySpec, offer: Offer) -> None:
    for problem in find_problems(spec, offer):
        raise document.wrong(_place_of(problem, spec, offer), problem.message)


def _place_of(problem: Problem, spec: TopologySpec, offer: Offer) -> str:
    """The first part with which the problem appears, parts being added one by one."""
    for field, place in _LISTS:
        # Vertices are wrong by themselves; edges need all vertices.
        rest = replace(spec, vertices=(), edges=()) if field == "vertices" else spec
        parts = getattr(spec, field)
        for number in range(len(parts)):
            without = replace(rest, **{field: parts[:number]})
            with_it = replace(rest, **{field: parts[: number + 1]})
            if problem in find_problems(with_it, offer):
                if problem in find_problems(without, offer):
                    break
                return f"{place}[{number}]"
    return _WHOLE.get(problem.reason, "spec")


_LISTS = (
    ("vertices", "spec.vertices"),
    ("edges", "spec.edges"),
    ("budgets", "spec.disruption.budgets"),
)
_WHOLE: Mapping[str, str] = MappingProxyType(
    {Fault.STRATEGY_UNAVAILABLE: "spec.strategy", Fault.NO_VERTICES: "spec.vertices"}
)


def _refuse_requests(document: Document, spec: TopologySpec) -> None:
    """A request that cannot be read would count for nothing."""
    for number, vertex in enumerate(spec.vertices):
        for place, amount in _amounts(vertex):
            where = f"spec.vertices[{number}].template.{place}"
            _quantity(document, where, amount, f"vertex {vertex.name}: ")


def _amounts(vertex: VertexSpec) -> Iterator[tuple[str, object]]:
    for kind in ("containers", "initContainers"):
        for number, container in enumerate(mappings_at(vertex.template, "spec", kind)):
            for word in ("requests", "limits"):
                for name, amount in mapping_at(container, "resources", word).items():
                    yield f"spec.{kind}[{number}].resources.{word}.{name}", amount


def _node(document: Document, where: str, item: Mapping[str, object]) -> NodeFact:
    fact = node_fact(item)
    if not fact.name:
        raise document.wrong(_below(where, "metadata.name"), "metadata.name must be a string")
    allocatable = mapping_at(item, "status", "allocatable")
    if not allocatable:
        place = _below(where, "status.allocatable")
        raise document.wrong(place, f"node {fact.name} has no status.allocatable")
    for name, amount in allocatable.items():
        place = _below(where, f"status.allocatable.{name}")
        _quantity(document, place, amount, f"node {fact.name}: ")
    return replace(
        fact,
        # Whoever writes nodes by hand leaves out what every healthy node has.
        is_ready=fact.is_ready or not mappings_at(item, "status", "conditions"),
        allocatable=MappingProxyType({"pods": _KUBELET_PODS, **fact.allocatable}),
    )


def _quantity(document: Document, where: str, amount: object, whose: str) -> None:
    if not _is_quantity(amount):
        word = where.rpartition("]")[2].lstrip(".")
        raise document.wrong(
            where, f"{whose}{word} must be a quantity such as 500m or 2Gi, not {amount!r}"
        )


def _is_quantity(amount: object) -> bool:
    if isinstance(amount, bool) or not isinstance(amount, str | int | float):
        return False
    try:
        return quantity(amount) >= 0
    except ValueError:
        return False


def _below(where: str, path: str) -> str:
    return f"{where}.{path}" if where else path
