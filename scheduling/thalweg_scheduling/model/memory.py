"""What one scaling decision hands to the next: a snapshot is one moment, some things need two."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from thalweg_scheduling.model.arrays import Floats, frozen_floats


@dataclass(frozen=True, slots=True, kw_only=True)
class Lull:
    """A time in which a vertex would have done with fewer tasks than it has."""

    since_s: float
    most_wanted: int
    """The largest number of tasks that was wanted in that time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """A scale-up whose effect is still to be seen."""

    at_s: float
    from_replicas: int
    to_replicas: int
    capacity_per_s: float
    """What the vertex could process before it."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surroundings:
    """The network and the stream on one occasion; for strategies that wait until they change."""

    nodes: tuple[str, ...]
    seconds: Floats
    """Shape (nodes, nodes): one-way seconds between nodes."""
    tuples_per_s: float
    """All that flows between tasks; NaN where that is unknown."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "seconds", frozen_floats(self.seconds))


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Proposed:
    """Moves that were asked for: somebody may refuse them yet."""

    by: Surroundings
    last_moved_at_s: float | None
    """When anything had last moved before; a later time says that it was done."""


def _no_lulls() -> Mapping[str, Lull]:
    return MappingProxyType({})


def _no_raises() -> Mapping[str, Raise]:
    return MappingProxyType({})


def _no_numbers() -> Mapping[str, float]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """What one decision hands to the next, by the name of the vertex.

    A snapshot is one moment. That a queue grows, that a lull has lasted, that more tasks did not
    help: these need two. The caller keeps this value and gives it back; without it, a scaler
    falls back to what one moment can tell.
    """

    at_s: float
    """When the loads were observed that the numbers are from."""
    queue_tuples: Mapping[str, float] = field(default_factory=_no_numbers)
    growth_per_s: Mapping[str, float] = field(default_factory=_no_numbers)
    lulls: Mapping[str, Lull] = field(default_factory=_no_lulls)
    raises: Mapping[str, Raise] = field(default_factory=_no_raises)
    began_s: float | None = None
    """When the first of these decisions was made; for strategies that let a topology settle."""
    placed_by: Surroundings | None = None
    """What tasks were last placed by."""
    proposed: Proposed | None = None
    """The moves that were last asked for, as long as it is not known whether they were made."""
