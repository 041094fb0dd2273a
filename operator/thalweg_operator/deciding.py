"""From what was observed of one topology to a plan: the snapshot is built here, and only here."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from thalweg_operator.api.topology import Processes, TopologySpec, VertexSpec
from thalweg_operator.errors import OperatorError
from thalweg_operator.naming import TaskKey, Unit
from thalweg_operator.observe.eligibility import is_eligible
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.ledger import Ledger, node_of
from thalweg_operator.observe.requests import enlarged, requests_of
from thalweg_operator.observe.survey import Need, Survey
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.errors import SchedulingError
from thalweg_scheduling.model.graph import Edge, Vertex
from thalweg_scheduling.model.limits import Limits, PlacementLimits
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot


class Undecidable(OperatorError):
    """The planner refuses what it was told: this topology's trouble, not that of others."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a decision about one topology is made from."""

    name: str
    spec: TopologySpec
    replicas: Mapping[str, int]
    """Vertex to the number of tasks that should run."""
    surveys: Mapping[str, Survey]
    nodes: Mapping[str, NodeFact]
    ledger: Ledger
    now_s: float
    weights: Mapping[tuple[str, str], Mapping[str, float]] = field(default_factory=dict)
    """Edge to the weight of each receiving task, as the routes have it."""


def place_tasks(situation: Situation) -> Plan:
    """Find a node for every task that needs a pod; the others stay where they are."""
    # Placement is decided again and again from the same facts: it must not depend on chance.
    rng = np.random.default_rng(0)
    try:
        return decide(
            build_snapshot(situation), situation.spec.strategy, now_s=situation.now_s, rng=rng
        )
    except SchedulingError as error:
        raise Undecidable(f"the planner cannot decide: {error}") from error


def fits_instead(situation: Situation, need: Need) -> bool:
    """Whether the new pod would fit where the one that it replaces is, once that has left."""
    pod, label = need.replaces, situation.spec.placement.domain_label
    node = None if pod is None else situation.nodes.get(pod.node or "")
    if pod is None or node is None:
        return False
    vertex = vertex_of(situation.spec, need.task)
    if not is_eligible(vertex.template["spec"], node, domain_label=label):
        return False
    return all(
        amount <= left_on(situation.ledger, node, resource, (pod,))
        for resource, amount in requests_for(vertex, len(need.task.tasks)).items()
        if amount > 0
    )


def vertex_of(spec: TopologySpec, unit: Unit) -> VertexSpec:
    """The vertex whose template the pod of a task or a process is made of."""
    name = unit.tasks[0].vertex
    return next(vertex for vertex in spec.vertices if vertex.name == name)


def domain_of(node: NodeFact, domain_label: str) -> str:
    """The domain that a node is in; empty for one without the label."""
    return node.labels.get(domain_label, "")


def build_snapshot(situation: Situation) -> Snapshot:
    """The topology and the cluster as the planner sees them."""
    spec, nodes = situation.spec, tuple(situation.nodes[name] for name in sorted(situation.nodes))
    domains = tuple(sorted({domain_of(node, spec.placement.domain_label) for node in nodes}))
    tasks = [
        TaskKey(vertex=vertex.name, index=index)
        for vertex in spec.vertices
        for index in range(situation.replicas[vertex.name])
    ]
    requests = {vertex.name: requests_for(vertex) for vertex in spec.vertices}
    resources = tuple(sorted({key for asked in requests.values() for key in asked}))
    holders = _holders(situation, tasks)
    held = _held(holders)
    asked = [held[task] if task in held else requests[task.vertex] for task in tasks]
    return Snapshot(
        topology=situation.name,
        vertices=tuple(
            _vertex(vertex, situation.replicas[vertex.name]) for vertex in spec.vertices
        ),
        edges=_edges(spec),
        nodes=tuple(node.name for node in nodes),
        domains=domains,
        domain_of=np.array(
            [domains.index(domain_of(node, spec.placement.domain_label)) for node in nodes],
            dtype=np.int64,
        ),
        resources=resources,
        demand=_table(
            [[amounts.get(name, 0.0) for name in resources] for amounts in asked], len(resources)
        ),
        capacity=_capacity(situation, nodes, resources, holders),
        eligible=_eligible(spec, nodes, tasks),
        placement=_placement(tasks, nodes, holders, _targets(situation)),
        process=_processes(tasks, holders) if _is_shared(spec) else None,
        limits=_limits(spec),
    )


def _holders(situation: Situation, tasks: Sequence[TaskKey]) -> dict[TaskKey, PodFact]:
    """The pods of the tasks that stay. A task in need has none, even if one still serves."""
    needing = {
        task
        for survey in situation.surveys.values()
        for need in survey.needs
        for task in need.task.tasks
    }
    held = {
        task: pod for survey in situation.surveys.values() for task, pod in survey.holders.items()
    }
    return {task: held[task] for task in tasks if task in held and task not in needing}


def _targets(situation: Situation) -> dict[TaskKey, str]:
    """The nodes that a running plan has already given to tasks that it moves."""
    return {
        task: need.target
        for survey in situation.surveys.values()
        for need in survey.needs
        if need.target is not None and need.target in situation.nodes
        for task in need.task.tasks
    }


def _held(holders: Mapping[TaskKey, PodFact]) -> dict[TaskKey, Mapping[str, float]]:
    """What each task that stays takes: what its pod asked for when it was made, whatever the
    template says now, or its part of that.
    """
    tasks_in_pod = Counter(pod.uid for pod in holders.values())
    return {
        task: {name: amount / tasks_in_pod[pod.uid] for name, amount in pod.requests.items()}
        for task, pod in holders.items()
    }


def _is_shared(spec: TopologySpec) -> bool:
    return spec.placement.processes is Processes.SHARED


def _processes(
    tasks: Sequence[TaskKey], holders: Mapping[TaskKey, PodFact]
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Tasks with the same number share a pod; one that has none is alone for now."""
    first: dict[str, int] = {}
    numbers = [
        first.setdefault(holders[task].uid, position) if task in holders else position
        for position, task in enumerate(tasks)
    ]
    return np.array(numbers, dtype=np.int64)


def _placement(
    tasks: Sequence[TaskKey],
    nodes: Sequence[NodeFact],
    holders: Mapping[TaskKey, PodFact],
    targets: Mapping[TaskKey, str],
) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    position = {node.name: number for number, node in enumerate(nodes)}
    held = {task: node_of(pod) or "" for task, pod in holders.items()} | dict(targets)
    where = [position.get(held.get(task, ""), UNPLACED) for task in tasks]
    return np.array(where, dtype=np.int64)


def _capacity(
    situation: Situation,
    nodes: Sequence[NodeFact],
    resources: Sequence[str],
    holders: Mapping[TaskKey, PodFact],
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """What the topology may use in all: allocatable, less everybody else, its own holders apart."""
    on_node: dict[str, list[PodFact]] = {}
    for pod in {pod.uid: pod for pod in holders.values()}.values():
        on_node.setdefault(node_of(pod) or "", []).append(pod)
    rows = [
        [
            left_on(situation.ledger, node, resource, on_node.get(node.name, ()))
            for resource in resources
        ]
        for node in nodes
    ]
    return _table(rows, len(resources))


def left_on(ledger: Ledger, node: NodeFact, resource: str, apart_from: Iterable[PodFact]) -> float:
    """What a node has left of a resource; of one that it does not know, nothing."""
    return node.allocatable.get(resource, 0.0) - ledger.reserved(node.name, resource, apart_from)


def requests_for(vertex: VertexSpec, tasks: int = 1) -> dict[str, float]:
    """What a pod for so many tasks asks for; the API server will refuse what is below nothing."""
    asked = requests_of(enlarged(vertex.template, tasks)["spec"])
    return {resource: max(0.0, amount) for resource, amount in asked.items()}


def _eligible(
    spec: TopologySpec, nodes: Sequence[NodeFact], tasks: Sequence[TaskKey]
) -> np.ndarray[tuple[int, int], np.dtype[np.bool_]]:
    label = spec.placement.domain_label
    by_vertex = {
        vertex.name: [
            is_eligible(vertex.template["spec"], node, domain_label=label) for node in nodes
        ]
        for vertex in spec.vertices
    }
    rows = [by_vertex[task.vertex] for task in tasks]
    return np.array(rows, dtype=np.bool_).reshape(len(tasks), len(nodes))


def _vertex(vertex: VertexSpec, replicas: int) -> Vertex:
    return Vertex(
        name=vertex.name,
        replicas=replicas,
        min_replicas=vertex.replicas.min,
        max_replicas=vertex.replicas.max,
    )


def _edges(spec: TopologySpec) -> tuple[Edge, ...]:
    position = {vertex.name: number for number, vertex in enumerate(spec.vertices)}
    return tuple(
        Edge(
            source=position[edge.source],
            target=position[edge.target],
            grouping=edge.grouping.type,
        )
        for edge in spec.edges
    )


def _limits(spec: TopologySpec) -> Limits:
    return Limits(
        placement=PlacementLimits(
            min_domains=spec.placement.min_domains,
            max_share_percent=spec.placement.max_share_percent,
            min_gain_percent=spec.placement.min_gain_percent,
            shared_processes=_is_shared(spec),
        )
    )


def _table(
    rows: Sequence[Sequence[float]], columns: int
) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
    """Also right for no rows at all."""
    return np.array(rows, dtype=np.float64).reshape(len(rows), columns)
