"""The one signature that every placement strategy and baseline has."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Ints, frozen_ints
from thalweg_scheduling.model.plan import Missing
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A node for every task, or UNPLACED with a word on what is missing."""

    node: Ints
    """Shape (tasks,)."""
    process: Ints
    """Shape (tasks,): tasks with the same number share a process, and so a node."""
    missing: tuple[Missing, ...] = ()
    notes: tuple[str, ...] = ()
    """Sentences on how it was found, for people."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "node", frozen_ints(self.node))
        object.__setattr__(self, "process", frozen_ints(self.process))


class Placer(Protocol):
    """Places the movable tasks; the others stay where the snapshot says they are."""

    def __call__(
        self, snapshot: Snapshot, *, movable: Bools, rng: np.random.Generator
    ) -> Proposal: ...


def separate_processes(tasks: int) -> Ints:
    """Each task in a process of its own."""
    return np.arange(tasks, dtype=np.int64)


def processes_for(snapshot: Snapshot, node: Ints) -> Ints:
    """A process for each task; where the user allows it, one process a node.

    Processes are numbered by their first task, so that they stay the same when nothing moves.
    """
    own = separate_processes(len(node))
    if not snapshot.limits.placement.shared_processes:
        return own
    first = np.full(len(snapshot.nodes), len(node), dtype=np.int64)
    placed = np.flatnonzero(node != UNPLACED)
    np.minimum.at(first, node[placed], placed)
    own[placed] = first[node[placed]]
    return own
