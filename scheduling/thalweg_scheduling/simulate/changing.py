"""What a plan does to a running stage, and for how long that stops whom."""

from dataclasses import dataclass, replace

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.plan import EdgeWeights, Plan
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.scale.resizing import resized


@dataclass(frozen=True, slots=True, kw_only=True)
class Moving:
    """What a change costs."""

    state_bytes: float = 0.0
    """Of each task: it stops while so much is copied."""
    bandwidth_bytes_per_s: float = 125e6
    switch_s: float = 0.0
    """It also stops for so long."""
    rebalance_s: float | None = None
    """Storm's way: whatever changes, the whole topology stops for so long."""
    start_s: float = 0.0
    """How long a new process takes until it can take over."""

    def paused_until_s(self, before: Snapshot, after: Snapshot, now_s: float) -> Floats:
        """Shape (tasks after,): until when each task stands still."""
        moved = moved_tasks(before, after)
        if self.rebalance_s is not None:
            changed = bool(moved.any()) or before.vertices != after.vertices
            return np.full(len(moved), now_s + self.rebalance_s * changed)
        stop_s = self.switch_s + self.state_bytes / self.bandwidth_bytes_per_s
        return np.where(moved, now_s + stop_s, now_s)


def moved_tasks(before: Snapshot, after: Snapshot) -> Bools:
    """Shape (tasks after,): those that were there and are now on another node."""
    was = dict(zip(before.task_names, before.placement.tolist(), strict=True))
    pairs = zip(after.task_names, after.placement.tolist(), strict=True)
    return np.array([was.get(name, at) != at for name, at in pairs])


def carried_out(snapshot: Snapshot, plan: Plan) -> Snapshot:
    """The snapshot as it is once a plan has been carried out; new tasks may still have no node."""
    after = resized(snapshot, plan.replicas) if plan.replicas else snapshot
    position = {name: number for number, name in enumerate(after.nodes)}
    node = np.array(
        [
            position[plan.assignments[name]] if name in plan.assignments else int(present)
            for name, present in zip(after.task_names, after.placement, strict=True)
        ],
        dtype=np.int64,
    )
    return replace(
        after,
        placement=node,
        process=_processes(after, plan),
        weights=_weights(snapshot, after, plan),
        memory=plan.memory,
    )


def without_pending(snapshot: Snapshot) -> Snapshot | None:
    """Only the tasks that have a node, numbered anew; nothing where a vertex has none left.

    What fits nowhere waits, as a pending pod does; the others run.
    """
    placed = snapshot.placement != UNPLACED
    if placed.all():
        return snapshot
    vertices = snapshot.vertices
    count = np.bincount(snapshot.vertex_of[placed], minlength=len(vertices)).tolist()
    if not all(count):
        return None
    replicas = {vertex.name: left for vertex, left in zip(vertices, count, strict=True)}
    return replace(
        resized(snapshot, replicas),
        placement=snapshot.placement[placed],
        process=None if snapshot.process is None else snapshot.process[placed],
    )


def is_same(one: Snapshot, other: Snapshot) -> bool:
    """Whether the same tasks run in the same places, with the same shares."""
    return (
        one.vertices == other.vertices
        and one.weights == other.weights
        and np.array_equal(one.placement, other.placement)
        and _grouped(one) == _grouped(other)
    )


def _grouped(snapshot: Snapshot) -> list[int]:
    """For each task, the first of those that share its process."""
    if snapshot.process is None:
        return list(range(len(snapshot.placement)))
    _, first, position = np.unique(snapshot.process, return_index=True, return_inverse=True)
    grouped: list[int] = first[position.reshape(-1)].tolist()
    return grouped


def _processes(after: Snapshot, plan: Plan) -> Ints | None:
    if not plan.processes or plan.replicas:
        return after.process
    fresh = max(plan.processes.values()) + 1
    return np.array(
        [plan.processes.get(name, fresh + number) for number, name in enumerate(after.task_names)],
        dtype=np.int64,
    )


def _weights(before: Snapshot, after: Snapshot, plan: Plan) -> tuple[EdgeWeights, ...]:
    """Shares among tasks that are not the same any more hold no longer."""
    count = {vertex.name: vertex.replicas for vertex in before.vertices}
    same = {each.name for each in after.vertices if count[each.name] == each.replicas}
    kept = {(w.source, w.target): w for w in before.weights if w.target in same}
    kept.update({(w.source, w.target): w for w in plan.weights})
    return tuple(kept.values())
