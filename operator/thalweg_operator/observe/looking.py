"""What has to happen to the pods of one task, or of one process that several tasks share.

At any time a unit may have several pods: one that serves, one that is to take over, some that
retire, some that are lost. This module looks at all pods of one unit.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from thalweg_operator import naming
from thalweg_operator.naming import Unit
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.observe.ledger import node_of

OVER = ("Failed", "Succeeded")


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
class Patience:
    """How long to wait before a fact counts."""

    not_ready_s: float
    unschedulable_s: float
    retire_s: float
    """How long a retiring pod is kept for senders that still use old routes."""
    released: frozenset[str] = frozenset()
    """The uids of retiring pods that no sender uses any more: they are kept no longer."""
    surge: int
    """At most so many tasks of a vertex are replaced at a time while they still serve."""
    retry_s: float = 10.0
    """A pod that failed younger than this has no successor before: a node that turns every pod
    down would otherwise be offered a new one several times a second."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Need:
    """A task that needs a new pod."""

    task: Unit
    """Or the process of several tasks."""
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
class Wish:
    """What the pod of a unit should be."""

    template_hash: str
    target: str | None = None
    """The node that a running plan moves it to now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What every judgement about a pod is made from."""

    nodes: Mapping[str, NodeFact]
    patience: Patience
    now_s: float
    latest: int

    def why_lost(self, pod: PodFact) -> Why | None:
        """Why the pod will never serve again; None while it may."""
        if pod.phase in OVER:
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

    def why_replaced(self, pod: PodFact, server: PodFact | None, wish: Wish) -> Why | None:
        """Why a living pod should make way; None for one that is as wanted."""
        if pod.labels.get(naming.TEMPLATE_HASH) != wish.template_hash:
            return Why.CHANGED
        if self.has_lost_its_plan(pod) or self.is_refused(pod, server):
            return Why.STUCK
        node = self.nodes.get(pod.node) if pod.node else None
        # A node that is being deleted still runs its pods: Karpenter drains it first.
        is_left = node is not None and (node.is_cordoned or node.is_deleting)
        if is_left:
            return Why.DRAINING
        target = self.target_of(wish)
        return Why.MOVING if target is not None and node_of(pod) not in (None, target) else None

    def target_of(self, wish: Wish) -> str | None:
        """Where a running plan moves the unit; None where that node cannot take it now.

        A pod made for such a node would be given up in the next turn, and made again in the one
        after.
        """
        node = self.nodes.get(wish.target or "")
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
        if not is_retiring(pod):
            return False
        if pod.uid in self.patience.released:
            return True
        text = pod.annotations.get(naming.RETIRED_AT, "")
        since_s = float(text) if text.isdecimal() else 0.0
        kept_s = self.now_s - since_s
        # A time that lies far ahead was spoilt: nobody should have to wait for it.
        return not -self.patience.retire_s < kept_s < self.patience.retire_s

    def is_resting(self, pod: PodFact) -> bool:
        """Whether a pod failed so young that its successor has to wait."""
        if pod.phase not in OVER or pod.is_deleting:
            return False
        return 0 <= self.now_s - pod.created_at_s < self.patience.retry_s


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """The pods that leave."""

    retire: tuple[Ending, ...] = ()
    delete: tuple[Ending, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What is true of a unit."""

    task: Unit
    need: Need | None = None
    parting: Parting
    holder: PodFact | None = None
    server: PodFact | None = None
    in_flight: bool = False


def look_at(look: Look, task: Unit, wish: Wish, pods: Sequence[PodFact]) -> Found:
    """All pods of a unit, newest first, and what follows from them."""
    lost = {pod.uid: why for pod in pods if (why := look.why_lost(pod))}
    living = [pod for pod in pods if pod.uid not in lost and not is_retiring(pod)]
    server = next((pod for pod in living if pod.is_ready), None)
    rests = bool(pods) and look.is_resting(pods[0])
    gone = tuple(
        Ending(pod=pod, why=lost.get(pod.uid, Why.SUPERSEDED))
        for pod in (pods[1:] if rests else pods)
        if not pod.is_deleting and (look.is_beyond_help(pod, lost, server) or look.has_retired(pod))
    )
    if rests:
        return Found(
            task=task,
            parting=Parting(delete=gone),
            holder=server or (living[0] if living else None),
            server=server,
            in_flight=server is not None,
        )
    if not living:
        why = lost.get(pods[0].uid, Why.FIRST) if pods else Why.FIRST
        need = Need(task=task, why=why, after=look.latest)
        return Found(task=task, need=need, parting=Parting(delete=gone))
    found = _among_living(look, task, wish, living, server)
    parting = Parting(retire=found.parting.retire, delete=gone + found.parting.delete)
    return replace(found, parting=parting)


def _among_living(
    look: Look, task: Unit, wish: Wish, living: Sequence[PodFact], server: PodFact | None
) -> Found:
    """The newest pod takes over if it is as wanted; if not, what serves stays or is relieved."""
    newest = living[0]
    why = look.why_replaced(newest, server, wish)
    if why is None:
        parting = _parting(living[1:], Why.SUPERSEDED, but=server)
        return Found(
            task=task,
            parting=parting,
            holder=newest,
            server=server,
            in_flight=server is not None and server is not newest,
        )
    # A roll that was taken back, or a move that cannot be made: what serves is right again.
    kept = server and look.why_replaced(server, server, wish)
    is_settled = server is not None and kept in _settled_by(why)
    pinned = why is not Why.STUCK or not look.is_plan_refused(newest)
    target = look.target_of(wish) if why is Why.MOVING else None
    need = Need(
        task=task, why=why, replaces=server, target=target, pinned=pinned, after=look.latest
    )
    parting = _parting(living, why, but=server)
    return Found(
        task=task,
        need=None if is_settled else need,
        parting=parting,
        holder=server,
        server=server,
    )


def _settled_by(why: Why) -> tuple[Why | None, ...]:
    """What may be said of a serving pod that is kept: a move that cannot be made is no reason."""
    return (None, Why.MOVING) if why is Why.STUCK else (None,)


def surplus_parting(look: Look, pods: Sequence[PodFact]) -> Parting:
    """Pods of tasks that are not wanted any more."""
    gone, staying = [], []
    for pod in pods:
        if look.why_lost(pod) is not None or look.has_retired(pod):
            gone.append(Ending(pod=pod, why=Why.SCALED_DOWN))
        elif not is_retiring(pod):
            staying.append(pod)
    parting = _parting(staying, Why.SCALED_DOWN)
    ended = tuple(end for end in gone if not end.pod.is_deleting)
    return Parting(retire=parting.retire, delete=ended + parting.delete)


def _parting(pods: Iterable[PodFact], why: Why, *, but: PodFact | None = None) -> Parting:
    """Ready pods retire, since senders may still use them; the others go at once."""
    endings = [Ending(pod=pod, why=why) for pod in pods if pod is not but]
    return Parting(
        retire=tuple(end for end in endings if end.pod.is_ready),
        delete=tuple(end for end in endings if not end.pod.is_ready),
    )


def is_retiring(pod: PodFact) -> bool:
    """Whether a pod is on its way out and takes nothing new."""
    return pod.labels.get(naming.STATE) == naming.RETIRING
