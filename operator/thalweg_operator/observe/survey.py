"""What is true of each task of a vertex, and what has to happen to its pods.

A task has a name, a pod an incarnation. At any time a task may have several pods: one that serves,
one that is to take over, some that retire, some that are lost. This module looks at all pods of one
vertex and says which tasks need a new pod, which pods retire, and which are deleted. It is pure:
the same facts always give the same answer, which is what lets the operator be killed between any
two writes and go on where it was.

A pod whose labels no longer name a task is left alone: taking a label away is how people set a pod
aside to look into it. Its task gets another.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.ledger import node_of

_OVER = ("Failed", "Succeeded")


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
    REFUSED = "Refused"
    MOVING = "Moved"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What a vertex should be."""

    vertex: str
    replicas: int
    template_hash: str
    targets: Mapping[TaskKey, str] = field(default_factory=dict)
    """The tasks that a running plan moves now, and the nodes they go to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How long to wait before a fact counts."""

    not_ready_s: float
    unschedulable_s: float
    retire_s: float
    """How long a retiring pod is kept for senders that still use old routes."""
    surge: int
    """At most so many tasks of a vertex are replaced at a time while they still serve."""
    retry_s: float = 10.0
    """A pod that failed younger than this has no successor before: a node that turns every pod
    down would otherwise be offered a new one several times a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A task that needs a new pod."""

    task: TaskKey
    why: Why
    replaces: PodFact | None = None
    """The pod that serves until the new one is ready."""
    target: str | None = None
    """The node that a running plan moves the task to."""
    pinned: bool = True
    """Whether the plan's node binds it; not after kube-scheduler refused that node."""
    after: int = 0
    """The highest incarnation that any pod of the vertex has: the new one's is above, even if the
    counter was lost, as a restored backup loses it."""


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
    waiting: tuple[TaskKey, ...]
    """Tasks that nobody serves."""
    leaving: int
    """Pods that still run although their task is not wanted any more."""

    @property
    def disrupted(self) -> int:
        """How many tasks nobody serves."""
        return len(self.waiting)


def survey(
    wanted: Wanted,
    pods: Iterable[PodFact],
    nodes: Mapping[str, NodeFact],
    patience: Patience,
    now_s: float,
) -> Survey:
    """Look at all pods of a vertex and say what has to happen to them."""
    by_task = _by_task(wanted.vertex, pods)
    look = _Look(
        wanted=wanted,
        nodes=nodes,
        patience=patience,
        now_s=now_s,
        latest=max((_incarnation(of_task[0]) for of_task in by_task.values()), default=0),
    )
    tasks = [TaskKey(vertex=wanted.vertex, index=index) for index in range(wanted.replicas)]
    found = [_one_task(look, task, by_task.pop(task, ())) for task in tasks]
    surplus = [pod for task in sorted(by_task) for pod in by_task[task]]
    parting = _surplus_parting(look, surplus)
    return Survey(
        needs=_within_budget(found, patience.surge),
        retire=tuple(end for task in found for end in task.parting.retire) + parting.retire,
        delete=tuple(end for task in found for end in task.parting.delete) + parting.delete,
        holders={task.task: task.holder for task in found if task.holder},
        serving={task.task: task.server for task in found if task.server},
        waiting=tuple(task.task for task in found if task.server is None),
        leaving=sum(pod.phase not in _OVER for pod in surplus),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Look:
    wanted: Wanted
    nodes: Mapping[str, NodeFact]
    patience: Patience
    now_s: float
    latest: int

    def why_lost(self, pod: PodFact) -> Why | None:
        """Why the pod will never serve again; None while it may."""
        if pod.phase in _OVER:
            return Why.FAILED
        if pod.is_deleting:
            return Why.LOST
        if pod.node is None:
            return None
        node = self.nodes.get(pod.node)
        if node is None:
            return Why.NODE_LOST
        if node.is_ready or node.ready_changed_at_s is None:
            return None
        silent_s = self.now_s - node.ready_changed_at_s
        return Why.NODE_LOST if silent_s >= self.patience.not_ready_s else None

    def is_beyond_help(self, pod: PodFact, lost: Mapping[str, Why], server: PodFact | None) -> bool:
        """Whether a lost pod may be deleted.

        On a silent node it may still run. Where all nodes fall silent at once, it is the control
        plane that is cut off: then what runs must not end when the nodes are heard again.
        """
        if pod.uid not in lost:
            return False
        return (
            server is not None or lost[pod.uid] is not Why.NODE_LOST or pod.node not in self.nodes
        )

    def why_replaced(self, pod: PodFact, server: PodFact | None) -> Why | None:
        """Why a living pod should make way; None for one that is as wanted."""
        if pod.labels.get(naming.TEMPLATE_HASH) != self.wanted.template_hash:
            return Why.CHANGED
        if self.has_lost_its_plan(pod) or self.is_refused(pod, server):
            return Why.STUCK
        node = self.nodes.get(pod.node) if pod.node else None
        # A node that is being deleted still runs its pods: Karpenter drains it first.
        is_left = node is not None and (node.is_cordoned or node.is_deleting)
        if is_left:
            return Why.DRAINING
        target = self.target_of(pod)
        return Why.MOVING if target is not None and node_of(pod) not in (None, target) else None

    def target_of(self, pod: PodFact) -> str | None:
        """Where a running plan moves the pod's task; None where that node cannot take it now.

        A pod made for such a node would be given up in the next turn, and made again in the one
        after.
        """
        task = naming.task_of(pod.labels)
        node = None if task is None else self.nodes.get(self.wanted.targets.get(task, ""))
        if node is None or not node.is_ready or node.is_cordoned or node.is_deleting:
            return None
        return node.name

    def has_lost_its_plan(self, pod: PodFact) -> bool:
        """Whether the node that an unbound pod was planned for cannot take it any more."""
        if pod.node is not None or naming.PLANNED_NODE not in pod.annotations:
            return False
        planned = self.nodes.get(pod.annotations[naming.PLANNED_NODE])
        return planned is None or planned.is_cordoned or planned.is_deleting

    def is_refused(self, pod: PodFact, server: PodFact | None) -> bool:
        """Whether kube-scheduler has refused the pod for so long that waiting on is no use.

        One that is bound to no plan waits until there is room, unless its task is served: then it
        is only in the way of a better one.
        """
        if pod.node is not None or pod.unschedulable_since_s is None:
            return False
        if naming.PLANNED_NODE not in pod.annotations and server is None:
            return False
        return self.now_s - pod.unschedulable_since_s >= self.patience.unschedulable_s

    def is_plan_refused(self, pod: PodFact) -> bool:
        """Whether kube-scheduler refused a node that a new plan would choose again."""
        planned = self.nodes.get(pod.annotations.get(naming.PLANNED_NODE, ""))
        return planned is not None and planned.is_ready and not planned.is_cordoned

    def has_retired(self, pod: PodFact) -> bool:
        """Whether a retiring pod was kept long enough."""
        if not _is_retiring(pod):
            return False
        text = pod.annotations.get(naming.RETIRED_AT, "")
        since_s = float(text) if text.isdecimal() else 0.0
        kept_s = self.now_s - since_s
        # A time that lies far ahead was spoilt: nobody should have to wait for it.
        return not -self.patience.retire_s < kept_s < self.patience.retire_s

    def is_resting(self, pod: PodFact) -> bool:
        """Whether a pod failed so young that its successor has to wait."""
        if pod.phase not in _OVER or pod.is_deleting:
            return False
        return 0 <= self.now_s - pod.created_at_s < self.patience.retry_s


@dataclass(frozen=True, slots=True, kw_only=True)
class _Parting:
    retire: tuple[Ending, ...] = ()
    delete: tuple[Ending, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    task: TaskKey
    need: Need | None = None
    parting: _Parting
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
        of_task.sort(key=lambda pod: (-_incarnation(pod), pod.name))
    return {task: tuple(of_task) for task, of_task in grouped.items()}


def _one_task(look: _Look, task: TaskKey, pods: Sequence[PodFact]) -> _Found:
    lost = {pod.uid: why for pod in pods if (why := look.why_lost(pod))}
    living = [pod for pod in pods if pod.uid not in lost and not _is_retiring(pod)]
    server = next((pod for pod in living if pod.is_ready), None)
    rests = bool(pods) and look.is_resting(pods[0])
    gone = tuple(
        Ending(pod=pod, why=lost.get(pod.uid, Why.SUPERSEDED))
        for pod in (pods[1:] if rests else pods)
        if not pod.is_deleting and (look.is_beyond_help(pod, lost, server) or look.has_retired(pod))
    )
    if rests:
        return _Found(
            task=task,
            parting=_Parting(delete=gone),
            holder=server or (living[0] if living else None),
            server=server,
            in_flight=server is not None,
        )
    if not living:
        why = lost.get(pods[0].uid, Why.FIRST) if pods else Why.FIRST
        need = Need(task=task, why=why, after=look.latest)
        return _Found(task=task, need=need, parting=_Parting(delete=gone))
    return _among_living(look, task, living, server, gone)


def _among_living(
    look: _Look,
    task: TaskKey,
    living: Sequence[PodFact],
    server: PodFact | None,
    gone: tuple[Ending, ...],
) -> _Found:
    """The newest pod takes over if it is as wanted; if not, what serves stays or is relieved."""
    newest = living[0]
    why = look.why_replaced(newest, server)
    if why is None:
        parting = _parting(living[1:], Why.SUPERSEDED, but=server)
        return _Found(
            task=task,
            parting=_Parting(retire=parting.retire, delete=gone + parting.delete),
            holder=newest,
            server=server,
            in_flight=server is not None and server is not newest,
        )
    # A roll that was taken back, or a move that cannot be made: what serves is right again.
    is_settled = server is not None and look.why_replaced(server, server) in _settled_by(why)
    pinned = why is not Why.STUCK or not look.is_plan_refused(newest)
    target = look.target_of(newest) if why is Why.MOVING else None
    need = Need(
        task=task, why=why, replaces=server, target=target, pinned=pinned, after=look.latest
    )
    parting = _parting(living, why, but=server)
    return _Found(
        task=task,
        need=None if is_settled else need,
        parting=_Parting(retire=parting.retire, delete=gone + parting.delete),
        holder=server,
        server=server,
    )


def _settled_by(why: Why) -> tuple[Why | None, ...]:
    """What may be said of a serving pod that is kept: a move that cannot be made is no reason."""
    return (None, Why.MOVING) if why is Why.STUCK else (None,)


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


def _surplus_parting(look: _Look, pods: Sequence[PodFact]) -> _Parting:
    """Pods of tasks that are not wanted any more."""
    gone, staying = [], []
    for pod in pods:
        if look.why_lost(pod) is not None or look.has_retired(pod):
            gone.append(Ending(pod=pod, why=Why.SCALED_DOWN))
        elif not _is_retiring(pod):
            staying.append(pod)
    parting = _parting(staying, Why.SCALED_DOWN)
    ended = tuple(end for end in gone if not end.pod.is_deleting)
    return _Parting(retire=parting.retire, delete=ended + parting.delete)


def _parting(pods: Iterable[PodFact], why: Why, *, but: PodFact | None = None) -> _Parting:
    """Ready pods retire, since senders may still use them; the others go at once."""
    endings = [Ending(pod=pod, why=why) for pod in pods if pod is not but]
    return _Parting(
        retire=tuple(end for end in endings if end.pod.is_ready),
        delete=tuple(end for end in endings if not end.pod.is_ready),
    )


def _is_retiring(pod: PodFact) -> bool:
    return pod.labels.get(naming.STATE) == naming.RETIRING


def _incarnation(pod: PodFact) -> int:
    return naming.incarnation_of(pod.labels)
