"""How far a running plan has come, and which of its steps may be under way now."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from thalweg_operator import naming
from thalweg_operator.act.plans import EdgeName, PlanState, Step
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import PodFact, tasks_in
from thalweg_operator.observe.ledger import node_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """What is left of a plan."""

    done: int
    total: int
    targets: Mapping[TaskKey, str] = field(default_factory=dict)
    """The tasks that may be on the move now, and where to."""
    scales: tuple[Step, ...] = ()
    """The numbers of tasks that are still to be set."""
    weights: Mapping[EdgeName, Mapping[str, float]] = field(default_factory=dict)
    """The weights that are still to be set."""
    overtaken: str = ""
    """Why the rest cannot be carried out any more; empty while it can."""

    @property
    def is_complete(self) -> bool:
        """Whether every step is done."""
        return self.done == self.total


def progress_of(
    state: PlanState,
    replicas: Mapping[str, int],
    pods: Sequence[PodFact],
    budget: int,
    *,
    routed: Mapping[EdgeName, Mapping[str, float]] | None = None,
    usable: Collection[str] | None = None,
    refused_before_s: float = -1.0,
) -> Progress:
    """Compare the plan with what is there.

    Steps are taken in the plan's order, at most `budget` moves at a time: a later move may need
    the room that an earlier one leaves. `routed` are the weights that the routes have. A pod that
    kube-scheduler has refused since before `refused_before_s` ends the plan, and so does a target
    that is not among the `usable` nodes: what it was made for is no longer so.
    """
    scales = [step for step in state.steps if step.task is None]
    moves = [step for step in state.steps if step.task is not None]
    to_scale = tuple(step for step in scales if replicas.get(step.vertex) == int(step.source))
    strange = _scaled_by_others(scales, replicas) or _refused(moves, pods, refused_before_s)
    living = _newest(pods)
    open_moves = [step for step in moves if not _is_done(step, living, replicas)]
    strange = strange or _unusable(open_moves, usable)
    targets = {} if to_scale or strange else _under_way(open_moves, living, budget)
    weights = _unrouted(state.weights, routed or {})
    return Progress(
        done=state.total - len(to_scale) - len(open_moves) - len(weights),
        total=state.total,
        targets=targets,
        scales=to_scale if not strange else (),
        weights=weights if not strange else {},
        overtaken=strange,
    )


def task_key(name: str) -> TaskKey:
    """The task that a plan names.

    >>> task_key("read-lines-0")
    TaskKey(vertex='read-lines', index=0)
    """
    vertex, _, index = name.rpartition("-")
    return TaskKey(vertex=vertex, index=int(index))


def _unrouted(
    planned: Mapping[EdgeName, Mapping[str, float]], routed: Mapping[EdgeName, Mapping[str, float]]
) -> dict[EdgeName, Mapping[str, float]]:
    """The edges whose routes do not have the planned weights; a task that is gone needs none."""
    return {
        edge: weights
        for edge, weights in planned.items()
        if any(weights.get(task, weight) != weight for task, weight in routed.get(edge, {}).items())
    }


def _scaled_by_others(scales: Sequence[Step], replicas: Mapping[str, int]) -> str:
    for step in scales:
        now = replicas.get(step.vertex)
        if now not in (int(step.source), int(step.target)):
            return f"{step.vertex} has {now} tasks now, neither {step.source} nor {step.target}"
    return ""


def _refused(moves: Sequence[Step], pods: Iterable[PodFact], before_s: float) -> str:
    targets = {(step.task, step.target) for step in moves}
    for pod in pods:
        since_s = pod.unschedulable_since_s
        if since_s is None or since_s > before_s:
            continue
        for task in tasks_in(pod):
            if (task.name, node_of(pod)) in targets:
                return f"kube-scheduler refuses {task.name} on {node_of(pod)}"
    return ""


def _unusable(moves: Sequence[Step], usable: Collection[str] | None) -> str:
    for step in moves:
        if usable is not None and step.target not in usable:
            return f"{step.target} cannot take {step.task} any more"
    return ""


def _newest(pods: Iterable[PodFact]) -> dict[TaskKey, PodFact]:
    """The newest active pod of each task."""
    newest: dict[TaskKey, PodFact] = {}
    for pod in sorted(pods, key=lambda pod: naming.incarnation_of(pod.labels)):
        if pod.labels.get(naming.STATE) == naming.ACTIVE and not pod.is_deleting:
            newest |= dict.fromkeys(tasks_in(pod), pod)
    return newest


def _is_done(step: Step, living: Mapping[TaskKey, PodFact], replicas: Mapping[str, int]) -> bool:
    """Whether the task is where it should be, or gone, or somewhere that the plan did not know."""
    task = task_key(step.task or "")
    if task.index >= replicas.get(task.vertex, 0):
        return True
    pod = living.get(task)
    if pod is None:
        return False
    if node_of(pod) == step.target:
        return pod.is_ready
    return node_of(pod) != step.source


def _under_way(
    moves: Sequence[Step], living: Mapping[TaskKey, PodFact], budget: int
) -> dict[TaskKey, str]:
    """As many moves as the budget allows, those that have begun first."""
    begun = [step for step in moves if _has_begun(step, living)]
    waiting = [step for step in moves if not _has_begun(step, living)]
    allowed = [*begun, *waiting[: max(0, budget - len(begun))]]
    return {task_key(step.task or ""): step.target for step in allowed}


def _has_begun(step: Step, living: Mapping[TaskKey, PodFact]) -> bool:
    pod = living.get(task_key(step.task or ""))
    return pod is not None and node_of(pod) == step.target
