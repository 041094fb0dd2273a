"""What a scaler says."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol

from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.reasons import Reason
from thalweg_scheduling.model.snapshot import Snapshot


def _no_counts() -> Mapping[str, int]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaling:
    """How many tasks each vertex should have."""

    replicas: Mapping[str, int] = field(default_factory=_no_counts)
    """Only the vertices whose number should change."""
    reasons: tuple[Reason, ...] = ()
    wanted: Mapping[str, int] = field(default_factory=_no_counts)
    """What the rates alone ask for, before steps and delays; absent where that is unknown."""
    memory: Memory | None = None


class Scaler(Protocol):
    """The one signature of the scalers."""

    def __call__(
        self, snapshot: Snapshot, *, now_s: float, memory: Memory | None = None
    ) -> Scaling: ...
