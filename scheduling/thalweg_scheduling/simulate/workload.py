"""What the tasks are asked to do, wherever they run."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints, frozen_floats, frozen_ints


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """Rates and costs of one topology's tasks; CSR over the pairs that talk to each other."""

    offered_per_s: Floats
    """Shape (tasks,): what arrives from outside; 0 where a task is no source."""
    cpu_s: Floats
    """Shape (tasks,): CPU seconds for one tuple, without sending or receiving it."""
    held_s: Floats
    """Shape (tasks,): seconds for one tuple in which the task waits for something else."""
    indptr: Ints
    targets: Ints
    sent_per_tuple: Floats
    """Shape (pairs,): tuples sent to the target for one tuple that the sender processes."""
    tuple_bytes: Floats
    """Shape (pairs,)."""

    def __post_init__(self) -> None:
        for name in ("offered_per_s", "cpu_s", "held_s", "sent_per_tuple", "tuple_bytes"):
            object.__setattr__(self, name, frozen_floats(getattr(self, name)))
        for name in ("indptr", "targets"):
            object.__setattr__(self, name, frozen_ints(getattr(self, name)))

    @property
    def sources(self) -> Ints:
        """The sending task of each pair."""
        return np.repeat(np.arange(len(self.indptr) - 1), np.diff(self.indptr))
