"""What is true of each task, and what has to happen to the pods of a pool.

A task has a name, a pod an incarnation. A pool is what pods are counted and numbered by: a vertex,
each of whose tasks has a pod of its own, or a topology whose tasks share pods. This module looks at
all pods of a pool and says what needs a new pod, which pods retire, and which are deleted. It is
pure: the same facts always give the same answer, which is what lets the operator be killed between
any two writes and go on where it was.

A pod whose labels no longer name a task is left alone: taking a label away is how people set a pod
aside to look into it. Its task gets another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey, Unit
from thalweg_operator.observe.facts import NodeFact, PodFact, tasks_in
from thalweg_operator.observe.looking import (
    OVER,
    Ending,
    Found,
    Look,
    Need,
    Parting,
    Patience,
    Why,
    Wish,
    is_retiring,
    look_at,
    surplus_parting,
)

__all__ = [
    "Ending",
    "Need",
    "Patience",
    "Survey",
    "Wanted",
    "Why",
    "Wish",
    "survey",
    "survey_shared",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a vertex should be."""

    vertex: str
    replicas: int
    template_hash: str
    targets: Mapping[TaskKey, str] = field(default_factory=dict)
    """The tasks that a running plan moves now, and the nodes they go to."""
    shared_hashes: Mapping[TaskKey, str] | None = None
    """The hash of the process that each task belongs in; None where each has a pod of its own."""

    def hash_of(self, task: TaskKey) -> str:
        """What the label of the task's pod should say."""
        shared = self.shared_hashes
        return self.template_hash if shared is None else shared.get(task, "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All that follows from the pods of one vertex, or of a topology whose tasks share pods."""

    needs: tuple[Need, ...]
    retire: tuple[Ending, ...]
    delete: tuple[Ending, ...]
    holders: Mapping[TaskKey, PodFact]
    """The newest living pod of each task: the one that has or will have the work."""
    serving: Mapping[TaskKey, PodFact]
    """The ready pod that senders should use."""
    waiting: tuple[TaskKey, ...]
    """Tasks that nobody serves."""
    surplus: tuple[PodFact, ...] = ()
    """Pods of tasks or processes that are not wanted any more."""

    @property
    def disrupted(self) -> int:
        """How many tasks nobody serves."""
        return len(self.waiting)

    @property
    def leaving(self) -> int:
        """Pods that still run although what they run is not wanted any more."""
        return sum(pod.phase not in OVER for pod in self.surplus)

    def part(self, vertex: str) -> "Survey":
        """What concerns one vertex. A pod of several vertices leaves as one of its first."""
        return Survey(
            needs=tuple(
                need for need in self.needs if any(t.vertex == vertex for t in need.task.tasks)
            ),
            retire=tuple(end for end in self.retire if _runs(end.pod, vertex)),
            delete=tuple(end for end in self.delete if _runs(end.pod, vertex)),
            holders={task: pod for task, pod in self.holders.items() if task.vertex == vertex},
            serving={task: pod for task, pod in self.serving.items() if task.vertex == vertex},
            waiting=tuple(task for task in self.waiting if task.vertex == vertex),
            surplus=tuple(
                pod for pod in self.surplus if [t.vertex for t in tasks_in(pod)][:1] == [vertex]
            ),
        )


def survey(
    wanted: Wanted,
    pods: Iterable[PodFact],
    nodes: Mapping[str, NodeFact],
    patience: Patience,
    now_s: float,
) -> Survey:
    """Look at all pods of a vertex, each of whose tasks has a pod of its own."""
    wishes: dict[Unit, Wish] = {
        task: Wish(template_hash=wanted.template_hash, target=wanted.targets.get(task))
        for index in range(wanted.replicas)
        for task in (TaskKey(vertex=wanted.vertex, index=index),)
    }
    mine = [pod for pod in pods if _is_of(pod, wanted.vertex)]
    look, found, parting, surplus = _look_at_all(wishes, mine, nodes, patience, now_s)
    serving = {task: one.server for one in found if one.server for task in one.task.tasks}
    return _summed_up(look, found, parting, surplus, serving)


def survey_shared(
    wishes: Mapping[Unit, Wish],
    pods: Iterable[PodFact],
    nodes: Mapping[str, NodeFact],
    patience: Patience,
    now_s: float,
) -> Survey:
    """Look at all pods of a topology whose tasks share pods.

    A task that goes over to another process is served by its old pod until the new one is ready,
    and so long that pod stays, though its own process may have a newer one.
    """
    mine = [pod for pod in pods if naming.process_index_of(pod.labels) is not None]
    look, found, parting, surplus = _look_at_all(wishes, mine, nodes, patience, now_s)
    wanted = [task for one in found for task in one.task.tasks]
    able = [pod for pod in mine if pod.is_ready and not is_retiring(pod)]
    able = [pod for pod in able if look.why_lost(pod) is None]
    able.sort(key=_incarnation)
    serving = {task: pod for pod in able for task in tasks_in(pod)}
    serving |= {
        task: one.server
        for one in found
        if one.server is not None
        for task in set(one.task.tasks) & set(tasks_in(one.server))
    }
    serving = {task: serving[task] for task in wanted if task in serving}
    return _summed_up(look, found, parting, surplus, serving)


def _look_at_all(
    wishes: Mapping[Unit, Wish],
    pods: Sequence[PodFact],
    nodes: Mapping[str, NodeFact],
    patience: Patience,
    now_s: float,
) -> tuple[Look, list[Found], Parting, tuple[PodFact, ...]]:
    """Each unit with its pods; and the pods of units that nobody wants."""
    grouped = _by_unit(pods)
    latest = max((_incarnation(of_unit[0]) for of_unit in grouped.values()), default=0)
    look = Look(nodes=nodes, patience=patience, now_s=now_s, latest=latest)
    found = [look_at(look, unit, wish, grouped.pop(unit.name, ())) for unit, wish in wishes.items()]
    surplus = tuple(pod for of_unit in grouped.values() for pod in of_unit)
    return look, found, surplus_parting(look, surplus), surplus


def _summed_up(
    look: Look,
    found: Sequence[Found],
    parting: Parting,
    surplus: tuple[PodFact, ...],
    serving: Mapping[TaskKey, PodFact],
) -> Survey:
    needed = {pod.uid for pod in serving.values()}
    retire = (*(end for one in found for end in one.parting.retire), *parting.retire)
    return Survey(
        needs=_within_budget(found, look.patience.surge),
        retire=tuple(end for end in retire if end.pod.uid not in needed),
        delete=tuple(end for one in found for end in one.parting.delete) + parting.delete,
        holders={task: one.holder for one in found if one.holder for task in one.task.tasks},
        serving=serving,
        waiting=tuple(t for one in found for t in one.task.tasks if t not in serving),
        surplus=surplus,
    )


def _by_unit(pods: Iterable[PodFact]) -> dict[str, tuple[PodFact, ...]]:
    """Pods by the task or process that they are for, newest incarnation first."""
    grouped: dict[str, list[PodFact]] = {}
    for pod in pods:
        name = naming.unit_name_of(pod.labels)
        if name is not None:
            grouped.setdefault(name, []).append(pod)
    for of_unit in grouped.values():
        of_unit.sort(key=lambda pod: (-_incarnation(pod), pod.name))
    return {name: tuple(grouped[name]) for name in sorted(grouped)}


def _within_budget(found: Sequence[Found], surge: int) -> tuple[Need, ...]:
    """All that nobody serves, and as many of the others as the budget allows."""
    slots = surge - sum(one.in_flight for one in found)
    needs: list[Need] = []
    for one in found:
        if one.need is None:
            continue
        if one.server is None:
            needs.append(one.need)
        elif slots > 0:
            needs.append(one.need)
            slots -= 1
    return tuple(needs)


def _is_of(pod: PodFact, vertex: str) -> bool:
    # Asked of every pod for every vertex, so what most of them fail at comes first.
    if pod.labels.get(naming.VERTEX) != vertex:
        return False
    return naming.task_of(pod.labels) is not None and naming.PROCESS not in pod.labels


def _runs(pod: PodFact, vertex: str) -> bool:
    return any(task.vertex == vertex for task in tasks_in(pod))


def _incarnation(pod: PodFact) -> int:
    return naming.incarnation_of(pod.labels)
