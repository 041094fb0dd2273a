"""What is true of each task of a vertex, and what has to happen to its pods.

A task has a name, a pod an incarnation. At any time a task may have several pods: one that serves,
one that is to take over, some that retire, some that are lost. This module looks at all pods of one
vertex and says which tasks need a new pod, which pods retire, and which are deleted. It is pure:
the same facts always give the same answer, which is what lets the operator be killed between any
two writes and go on where it was.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import NodeFact, PodFact


class Why(StrEnum):
    """Why a pod is needed, retires or is deleted; also the reason of the event about it."""

    FIRST = "Created"
    LOST = "Lost"
    NODE_LOST = "NodeLost"
    FAILED = "Failed"
    STUCK = "Unschedulable"
    CHANGED = "TemplateChanged"
    DRAINING = "NodeCordoned"
    SCALED_DOWN = "ScaledDown"
    SUPERSEDED = "Superseded"
    NO_ROOM_FOR_TWO = "NoRoomForTwo"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a vertex should be."""

    vertex: str
    replicas: int
    template_hash: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait before a fact counts."""

    not_ready_s: float
    unschedulable_s: float
    retire_s: float
    """How long a retiring pod is kept for senders that still use old routes."""
    surge: int
    """At most so many tasks of a vertex are replaced at a time while they still serve."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A task that needs a new pod."""

    task: TaskKey
    why: Why
    replaces: PodFact | None = None
    """The pod that serves until the new one is ready."""
    pinned: bool = True
    """Whether the plan's node binds it; not after kube-scheduler refused that node."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """A pod that retires or is deleted."""

    pod: PodFact
    why: Why


@dataclass(frozen=True, slots=True, kw_only=True)
class Survey:
    """All that follows from the pods of one vertex."""

    needs: tuple[Need, ...]
    retire: tuple[Ending, ...]
    delete: tuple[Ending, ...]
    holders: Mapping[TaskKey, PodFact]
    """The newest living pod of each task: the one that has or will have the work."""
    serving: Mapping[TaskKey, PodFact]
    """The ready pod that senders should use."""
    disrupted: int
    """Tasks that nobody serves."""


def survey(
    wanted: Wanted,
    pods: Iterable[PodFact],
    nodes: Mapping[str, NodeFact],
    patience: Patience,
    now_s: float,
) -> Survey:
    """Look at all pods of a vertex and say what has to happen to them."""
    look = _Look(wanted=wanted, nodes=nodes, patience=patience, now_s=now_s)
    by_task = _by_task(wanted.vertex, pods)
    tasks = [TaskKey(vertex=wanted.vertex, index=index) for index in range(wanted.replicas)]
    found = [_one_task(look, task, by_task.pop(task, ())) for task in tasks]
    surplus = [pod for task in sorted(by_task) for pod in by_task[task]]
    endings = _surplus_endings(look, surplus)
    needs = _within_budget(found, patience.surge)
    return Survey(
        needs=needs,
        retire=tuple(end for task in found for end in task.retire) + endings.retire,
        delete=tuple(end for task in found for end in task.delete) + endings.delete,
        holders={task.task: task.holder for task in found if task.holder},
        serving={task.task: task.server for task in found if task.server},
        disrupted=sum(task.server is None for task in found),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    wanted: Wanted
    nodes: Mapping[str, NodeFact]
    patience: Patience
    now_s: float

    def why_lost(self, pod: PodFact) -> Why | None:
        """Why the pod will never serve again; None while it may."""
        if pod.phase in ("Failed", "Succeeded"):
            return Why.FAILED
        if pod.is_deleting:
            return Why.LOST
        if pod.node is None:
            return None
        node = self.nodes.get(pod.node)
        if node is None or node.is_deleting:
            return Why.NODE_LOST
        if node.is_ready or node.ready_changed_at_s is None:
            return None
        silent_s = self.now_s - node.ready_changed_at_s
        return Why.NODE_LOST if silent_s >= self.patience.not_ready_s else None

    def has_lost_its_plan(self, pod: PodFact) -> bool:
        """Whether the node that an unbound pod was planned for cannot take it any more."""
        if pod.node is not None or naming.PLANNED_NODE not in pod.annotations:
            return False
        planned = self.nodes.get(pod.annotations[naming.PLANNED_NODE])
        return planned is None or planned.is_cordoned or planned.is_deleting

    def is_refused(self, pod: PodFact) -> bool:
        """Whether kube-scheduler has refused the pod's planned node for too long."""
        if pod.node is not None or naming.PLANNED_NODE not in pod.annotations:
            return False
        if not pod.is_unschedulable or pod.unschedulable_since_s is None:
            return False
        return self.now_s - pod.unschedulable_since_s >= self.patience.unschedulable_s

    def has_drained(self, pod: PodFact) -> bool:
        """Whether a retiring pod was kept long enough."""
        text = pod.annotations.get(naming.RETIRED_AT, "")
        since_s = float(text) if text.isdecimal() else 0.0
        return self.now_s - since_s >= self.patience.retire_s

    def why_replaced(self, pod: PodFact) -> Why | None:
        """Why a living pod should make way; None for one that is as wanted."""
        if pod.labels.get(naming.TEMPLATE_HASH) != self.wanted.template_hash:
            return Why.CHANGED
        node = self.nodes.get(pod.node) if pod.node else None
        return Why.DRAINING if node is not None and node.is_cordoned else None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    task: TaskKey
    need: Need | None = None
    retire: tuple[Ending, ...] = ()
    delete: tuple[Ending, ...] = ()
    holder: PodFact | None = None
    server: PodFact | None = None
    in_flight: bool = False


def _by_task(vertex: str, pods: Iterable[PodFact]) -> dict[TaskKey, tuple[PodFact, ...]]:
    """The vertex's pods by task, newest incarnation first."""
    grouped: dict[TaskKey, list[PodFact]] = {}
    for pod in pods:
        task = naming.task_of(pod.labels)
        if task is not None and task.vertex == vertex:
            grouped.setdefault(task, []).append(pod)
    for of_task in grouped.values():
        of_task.sort(key=lambda pod: -naming.incarnation_of(pod.labels))
    return {task: tuple(of_task) for task, of_task in grouped.items()}


def _one_task(look: _Look, task: TaskKey, pods: Sequence[PodFact]) -> _Found:
    lost = {pod.uid: why for pod in pods if (why := look.why_lost(pod))}
    gone = tuple(
        Ending(pod=pod, why=lost.get(pod.uid, Why.SUPERSEDED))
        for pod in pods
        if not pod.is_deleting and (pod.uid in lost or _has_retired(look, pod))
    )
    living = [pod for pod in pods if pod.uid not in lost and not _is_retiring(pod)]
    if not living:
        why = lost[pods[0].uid] if pods and pods[0].uid in lost else Why.FIRST
        return _Found(task=task, need=Need(task=task, why=why), delete=gone)
    newest, older = living[0], living[1:]
    server = next((pod for pod in living if pod.is_ready), None)
    if look.has_lost_its_plan(newest) or look.is_refused(newest):
        # Where kube-scheduler knows better than the plan, it chooses the node itself.
        pinned = look.has_lost_its_plan(newest)
        return _stuck(task, newest, server, gone, pinned=pinned)
    why_replaced = look.why_replaced(newest)
    if why_replaced is None:
        return _taking_over(task, newest, older, server, gone)
    return _making_way(task, living, server, gone, why_replaced)


def _taking_over(
    task: TaskKey,
    newest: PodFact,
    older: Sequence[PodFact],
    server: PodFact | None,
    gone: tuple[Ending, ...],
) -> _Found:
    """The newest pod is as wanted: once it is ready, or an older one serves, the rest may go."""
    spare = [pod for pod in older if pod is not server]
    return _Found(
        task=task,
        retire=tuple(Ending(pod=pod, why=Why.SUPERSEDED) for pod in spare),
        delete=gone,
        holder=newest,
        server=server,
        in_flight=not newest.is_ready and bool(older),
    )


def _making_way(
    task: TaskKey,
    living: Sequence[PodFact],
    server: PodFact | None,
    gone: tuple[Ending, ...],
    why: Why,
) -> _Found:
    """The newest pod is not as wanted: another takes its place, and what does not serve goes."""
    idle = tuple(Ending(pod=pod, why=why) for pod in living if pod is not server)
    return _Found(
        task=task,
        need=Need(task=task, why=why, replaces=server),
        delete=gone + idle,
        holder=server,
        server=server,
    )


def _stuck(
    task: TaskKey,
    newest: PodFact,
    server: PodFact | None,
    gone: tuple[Ending, ...],
    *,
    pinned: bool,
) -> _Found:
    """A pod that never ran makes way for one that can."""
    return _Found(
        task=task,
        need=Need(task=task, why=Why.STUCK, replaces=server, pinned=pinned),
        delete=(*gone, Ending(pod=newest, why=Why.STUCK)),
        holder=server,
        server=server,
    )


def _within_budget(found: Sequence[_Found], surge: int) -> tuple[Need, ...]:
    """All tasks that nobody serves, and as many of the others as the budget allows."""
    slots = surge - sum(task.in_flight for task in found)
    needs: list[Need] = []
    for task in found:
        if task.need is None:
            continue
        if task.server is None:
            needs.append(task.need)
        elif slots > 0:
            needs.append(task.need)
            slots -= 1
    return tuple(needs)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Endings:
    retire: tuple[Ending, ...]
    delete: tuple[Ending, ...]


def _surplus_endings(look: _Look, pods: Sequence[PodFact]) -> _Endings:
    """Pods of tasks that are not wanted any more: those that may serve retire, the others go."""
    retire, delete = [], []
    for pod in pods:
        if pod.is_deleting:
            continue
        if look.why_lost(pod) is not None or pod.node is None or _has_retired(look, pod):
            delete.append(Ending(pod=pod, why=Why.SCALED_DOWN))
        elif not _is_retiring(pod):
            retire.append(Ending(pod=pod, why=Why.SCALED_DOWN))
    return _Endings(retire=tuple(retire), delete=tuple(delete))


def _has_retired(look: _Look, pod: PodFact) -> bool:
    return _is_retiring(pod) and look.has_drained(pod)


def _is_retiring(pod: PodFact) -> bool:
    return pod.labels.get(naming.STATE) == naming.RETIRING
