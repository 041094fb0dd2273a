"""Which tasks share a pod: on record in the topology's status, and changed only by what must be.

Tasks are grouped when they get their first pod, as the plan says. From then on they stay together:
what is lost, moved or rolled is a process as a whole. Tasks that are scaled away, and those whose
vertex no longer has the template of the others, are taken out, which makes a new incarnation.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import process_hash, template_hash
from thalweg_operator.api.topology import TopologySpec
from thalweg_operator.deciding import Situation, left_on, requests_for, vertex_of
from thalweg_operator.naming import Process, TaskKey, Unit
from thalweg_operator.observe.eligibility import is_eligible
from thalweg_operator.observe.facts import PodFact, tasks_in
from thalweg_operator.observe.survey import Need, Why, Wish
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.place.pairing import CORES_PER_PROCESS

Node = str


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """Which tasks are in which process."""

    recorded: tuple[Process, ...]
    """As the status has it."""
    processes: tuple[Process, ...]
    """What stays of it now."""
    homeless: tuple[TaskKey, ...]
    """The tasks that are in no process yet."""
    taken: frozenset[int]
    """Numbers that no new process may have: a pod may still carry one that is off the record."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Hosted:
    """Every process that there should be, and where those go that need a pod."""

    processes: tuple[Process, ...]
    needs: tuple[Need, ...]
    nodes: Mapping[str, Node]
    """By the name of the process."""
    missing: tuple[str, ...] = ()
    """Sentences on processes that fit nowhere as a whole."""


def membership_of(
    status: Mapping[str, Any],
    pods: Iterable[PodFact],
    spec: TopologySpec,
    replicas: Mapping[str, int],
) -> Membership:
    """What is on record, less what is no longer wanted or no longer belongs together."""
    found = sorted(pods, key=lambda pod: -naming.incarnation_of(pod.labels))
    wanted = [
        TaskKey(vertex=vertex.name, index=index)
        for vertex in spec.vertices
        for index in range(replicas[vertex.name])
    ]
    recorded = _recorded(status)
    left = dict.fromkeys(wanted)
    kinds, kept = _kinds(spec), []
    # Where somebody has lost the record, the pods still know.
    for process in recorded or _carried(found):
        tasks = _alike([task for task in process.tasks if task in left], kinds)
        if tasks:
            kept.append(Process(index=process.index, tasks=tasks))
        for task in tasks:
            del left[task]
    carried = {process.index for process in _carried(found)}
    return Membership(
        recorded=recorded,
        processes=tuple(kept),
        homeless=tuple(left),
        taken=frozenset(carried | {process.index for process in kept}),
    )


def record_of(processes: Iterable[Process]) -> list[dict[str, Any]]:
    """As it stands in the topology's status."""
    return [
        {"index": process.index, "tasks": [task.name for task in process.tasks]}
        for process in sorted(processes)
    ]


def wishes_of(
    spec: TopologySpec, membership: Membership, targets: Mapping[TaskKey, Node]
) -> dict[Unit, Wish]:
    """What the pod of each process should be; a task without a process has none yet."""
    templates = {vertex.name: vertex.template for vertex in spec.vertices}
    senders = senders_of(spec)
    wishes: dict[Unit, Wish] = {
        process: Wish(
            template_hash=process_hash(templates[process.tasks[0].vertex], process, senders),
            target=next((targets[task] for task in process.tasks if task in targets), None),
        )
        for process in membership.processes
    }
    return wishes | {task: Wish(template_hash="") for task in membership.homeless}


def senders_of(spec: TopologySpec) -> tuple[str, ...]:
    """The vertices that have out-edges."""
    return tuple(sorted({edge.source for edge in spec.edges}))


def host(needs: Sequence[Need], plan: Plan, situation: Situation, membership: Membership) -> Hosted:
    """Put tasks without a process into new ones, and find a node for each that needs a pod."""
    standing = [need for need in needs if isinstance(need.task, Process)]
    after = max((need.after for need in needs), default=0)
    fresh = [need.task for need in needs if isinstance(need.task, TaskKey)]
    numbers = (number for number in count() if number not in membership.taken)
    made = tuple(
        Process(index=next(numbers), tasks=tasks) for tasks in _groups(fresh, plan, situation.spec)
    )
    new = [Need(task=process, why=Why.FIRST, after=after) for process in made]
    room = _Room(situation=situation)
    nodes, missing = {}, []
    for need in (*standing, *new):
        node = room.find(need, plan)
        if node is not None:
            nodes[need.task.name] = node
        elif all(task.name in plan.assignments for task in need.task.tasks):
            together = ", ".join(task.name for task in need.task.tasks)
            missing.append(f"no node has room for process {need.task.name} as a whole; {together}")
    return Hosted(
        processes=(*membership.processes, *made),
        needs=(*standing, *new),
        nodes=nodes,
        missing=tuple(missing),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Room:
    """What is left on the nodes while processes are put down one by one."""

    situation: Situation
    taken: dict[Node, dict[str, float]] = field(default_factory=dict)

    def find(self, need: Need, plan: Plan) -> Node | None:
        """The node that the plan gave to most of the tasks, or another that has room for all."""
        vertex = vertex_of(self.situation.spec, need.task)
        asked = requests_for(vertex, len(need.task.tasks))
        found = need.target or next(
            (
                name
                for name in self._candidates(need, plan)
                if self._takes(name, vertex.template["spec"], asked)
            ),
            None,
        )
        if found is not None:
            there = self.taken.setdefault(found, {})
            for resource, amount in asked.items():
                there[resource] = there.get(resource, 0.0) + amount
        return found

    def _candidates(self, need: Need, plan: Plan) -> Iterator[Node]:
        named = [plan.assignments.get(task.name, "") for task in need.task.tasks]
        votes = Counter(name for name in named if name in self.situation.nodes)
        yield from sorted(votes, key=lambda name: (-votes[name], name))
        # Planned task by task, a process of many may have been torn over several nodes.
        others = [name for name in self.situation.nodes if name not in votes]
        yield from sorted(others, key=lambda name: (-self._left(name, "cpu"), name))

    def _takes(self, name: Node, pod_spec: Mapping[str, Any], asked: Mapping[str, float]) -> bool:
        node, label = self.situation.nodes[name], self.situation.spec.placement.domain_label
        return is_eligible(pod_spec, node, domain_label=label) and all(
            amount <= self._left(name, resource) + 1e-9 * amount
            for resource, amount in asked.items()
            if amount > 0
        )

    def _left(self, name: Node, resource: str) -> float:
        left = left_on(self.situation.ledger, self.situation.nodes[name], resource, ())
        return left - self.taken.get(name, {}).get(resource, 0.0)


def _groups(
    tasks: Iterable[TaskKey], plan: Plan, spec: TopologySpec
) -> Iterator[tuple[TaskKey, ...]]:
    """The tasks that the plan puts into one process and whose templates are the same.

    A process asks for no more than a core, unless one task alone does: it could not use more.
    """
    kinds = _kinds(spec)
    cores = {vertex.name: requests_for(vertex).get("cpu", 0.0) for vertex in spec.vertices}
    grouped: dict[object, list[TaskKey]] = {}
    for task in tasks:
        node = plan.assignments.get(task.name)
        shared = (plan.processes.get(task.name), node, kinds[task.vertex])
        grouped.setdefault(task if node is None else shared, []).append(task)
    for group in grouped.values():
        together: list[TaskKey] = []
        used = 0.0
        for task in group:
            if together and used + cores[task.vertex] > CORES_PER_PROCESS:
                yield tuple(together)
                together, used = [], 0.0
            together.append(task)
            used += cores[task.vertex]
        yield tuple(together)


def _kinds(spec: TopologySpec) -> dict[str, str]:
    """Vertices with the same template have the same word."""
    return {vertex.name: template_hash(vertex.template, sends=False) for vertex in spec.vertices}


def _alike(tasks: Sequence[TaskKey], kinds: Mapping[str, str]) -> tuple[TaskKey, ...]:
    """The most that have one template; the first of them if it is a tie."""
    if not tasks:
        return ()
    ((kind, _),) = Counter(kinds[task.vertex] for task in tasks).most_common(1)
    return tuple(task for task in tasks if kinds[task.vertex] == kind)


def _recorded(status: Mapping[str, Any]) -> tuple[Process, ...]:
    return tuple(
        Process(index=int(one["index"]), tasks=naming.tasks_named(one.get("tasks") or ()))
        for one in status.get("processes") or ()
    )


def _carried(newest_first: Iterable[PodFact]) -> tuple[Process, ...]:
    """The processes that pods say they are."""
    found: dict[int, Process] = {}
    for pod in newest_first:
        index = naming.process_index_of(pod.labels)
        if index is not None and index not in found:
            found[index] = Process(index=index, tasks=tasks_in(pod))
    return tuple(found[index] for index in sorted(found))
