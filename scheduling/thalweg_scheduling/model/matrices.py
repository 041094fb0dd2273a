"""What was measured: between tasks, of tasks, and between nodes.

Each matrix says when it was observed and how much of what ought to be there was there.
Unknown is NaN, never zero.
"""

from dataclasses import dataclass, field

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints, frozen_floats, frozen_ints
from thalweg_scheduling.model.errors import InvalidSnapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """When a matrix was seen, over which window, and how complete it is."""

    at_s: float
    """Seconds since the epoch of the newest sample."""
    window_s: float
    samples: int
    coverage: float
    """Share of the series that ought to be there which were, from 0 to 1."""

    def is_fresh(self, now_s: float, stale_after_s: float) -> bool:
        """Whether it may be acted on; a time stamp from the future is as bad as an old one."""
        return -stale_after_s <= now_s - self.at_s <= stale_after_s

    def is_whole(self, least_coverage: float) -> bool:
        """Whether enough series were there; NaN is not enough."""
        return self.coverage >= least_coverage


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyMatrix:
    """Traffic from task to task, as a CSR matrix over the snapshot's tasks.

    Row u holds the tasks that u sends to: `targets[indptr[u]:indptr[u + 1]]`, ascending.
    Rates are NaN where they are unknown.
    """

    indptr: Ints
    targets: Ints
    tuples_per_s: Floats
    bytes_per_s: Floats
    observed: Observed | None = None

    def __post_init__(self) -> None:
        for name, freeze in _CSR_FIELDS:
            object.__setattr__(self, name, freeze(getattr(self, name)))
        if not len(self.targets) == len(self.tuples_per_s) == len(self.bytes_per_s):
            raise InvalidSnapshot("targets, tuples_per_s and bytes_per_s differ in length")
        if len(self.indptr) == 0 or self.indptr[0] != 0 or self.indptr[-1] != len(self.targets):
            raise InvalidSnapshot("indptr must run from 0 to the number of entries")
        if np.any(np.diff(self.indptr) < 0):
            raise InvalidSnapshot("indptr must not fall")

    @property
    def tasks(self) -> int:
        """How many tasks the matrix is about."""
        return len(self.indptr) - 1

    @property
    def sources(self) -> Ints:
        """The sending task of each entry, beside `targets`."""
        return np.repeat(np.arange(self.tasks, dtype=np.int64), np.diff(self.indptr))

    @staticmethod
    def from_pairs(
        tasks: int,
        pairs: dict[tuple[int, int], tuple[float, float]],
        observed: Observed | None = None,
    ) -> "DependencyMatrix":
        """From {(sender, receiver): (tuples/s, bytes/s)}."""
        ordered = sorted(pairs)
        counts = np.zeros(tasks + 1, dtype=np.int64)
        for source, _ in ordered:
            counts[source + 1] += 1
        return DependencyMatrix(
            indptr=np.cumsum(counts),
            targets=np.array([target for _, target in ordered], dtype=np.int64),
            tuples_per_s=np.array([pairs[pair][0] for pair in ordered], dtype=np.float64),
            bytes_per_s=np.array([pairs[pair][1] for pair in ordered], dtype=np.float64),
            observed=observed,
        )


_CSR_FIELDS = (
    ("indptr", frozen_ints),
    ("targets", frozen_ints),
    ("tuples_per_s", frozen_floats),
    ("bytes_per_s", frozen_floats),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskLoad:
    """What each task was seen to do; arrays over the snapshot's tasks, NaN where unknown."""

    cpu_cores: Floats
    memory_bytes: Floats
    busy_share: Floats
    """Share of time spent in the user's code, from 0 to 1."""
    backpressured_share: Floats
    wait_s: Floats
    """Mean time that a tuple waited in the task's queue."""
    processed_per_s: Floats
    true_rate_per_s: Floats
    """What the task could process if it were always busy (DS2)."""
    queue_tuples: Floats
    observed: Observed | None = None

    def __post_init__(self) -> None:
        lengths = set()
        for name in LOAD_FIELDS:
            object.__setattr__(self, name, frozen_floats(getattr(self, name)))
            lengths.add(len(getattr(self, name)))
        if len(lengths) != 1:
            raise InvalidSnapshot("the arrays of a TaskLoad differ in length")

    @staticmethod
    def unknown(tasks: int) -> "TaskLoad":
        """Nothing was measured."""
        nothing = np.full(tasks, np.nan)
        return TaskLoad(
            cpu_cores=nothing,
            memory_bytes=nothing,
            busy_share=nothing,
            backpressured_share=nothing,
            wait_s=nothing,
            processed_per_s=nothing,
            true_rate_per_s=nothing,
            queue_tuples=nothing,
        )


LOAD_FIELDS = (
    "cpu_cores",
    "memory_bytes",
    "busy_share",
    "backpressured_share",
    "wait_s",
    "processed_per_s",
    "true_rate_per_s",
    "queue_tuples",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LatencyClasses:
    """One-way seconds between two tasks by how near they are, where the pair itself is unknown."""

    same_process_s: float = 0.0
    same_node_s: float = 0.0001
    same_domain_s: float = 0.0005
    cross_domain_s: float = 0.01

    def __post_init__(self) -> None:
        seconds = (
            self.same_process_s,
            self.same_node_s,
            self.same_domain_s,
            self.cross_domain_s,
        )
        if not all(np.isfinite(value) and value >= 0 for value in seconds):
            raise InvalidSnapshot(f"latency classes must be known and at least 0, not {seconds}")


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeLatency:
    """One-way seconds between nodes, shape (nodes, nodes) or absent; NaN where unknown."""

    pairs_s: Floats | None = None
    classes: LatencyClasses = field(default_factory=LatencyClasses)
    observed: Observed | None = None

    def __post_init__(self) -> None:
        if self.pairs_s is not None:
            object.__setattr__(self, "pairs_s", frozen_floats(self.pairs_s))

    def filled_s(self, domain_of: Ints) -> Floats:
        """Shape (nodes, nodes): the measured pair, or its class where that is unknown."""
        near = domain_of[:, None] == domain_of[None, :]
        seconds = np.where(near, self.classes.same_domain_s, self.classes.cross_domain_s)
        np.fill_diagonal(seconds, self.classes.same_node_s)
        if self.pairs_s is not None:
            known = np.isfinite(self.pairs_s) & (self.pairs_s >= 0)
            seconds = np.where(known, self.pairs_s, seconds)
        return seconds
