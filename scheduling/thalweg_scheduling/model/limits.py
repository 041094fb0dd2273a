"""What a user or the operator's settings allow a decision to do."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementLimits:
    """Bounds on where tasks may go and on when moving is worth it."""

    min_domains: int = 1
    max_share_percent: int = 100
    """At most this share of a vertex's tasks in one domain."""
    min_gain_percent: float = 5.0
    move_cost: float = 0.0
    """What one move costs, in the unit of J (tuples/s × s)."""
    max_moves: int | None = None
    cool_down_s: float = 60.0
    """After moving or scaling, nothing is moved for so long."""
    shared_processes: bool = False
    whole_processes: bool = False
    """Tasks that share a process move together, or not at all."""
    use_headroom: float = 0.85
    """Measured use may fill this share of a node; requests may fill all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingLimits:
    """Bounds on how the number of tasks may change."""

    target_utilization: float = 0.7
    max_step_up: float = 4.0
    """At most this factor up in one decision."""
    max_down_share: float = 1.0
    """At most this share of a vertex's tasks is taken away in one decision."""
    backlog_seconds: float = 180.0
    """Time in which a backlog should be worked off.

    What is added for it stays for `scale_down_after_s`; the room over the target works most of it
    off in about this time anyway.
    """
    scale_down_after_s: float = 600.0
    cool_down_s: float = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """When measurements are good enough to move, shrink or sleep by."""

    stale_after_s: float = 45.0
    least_coverage: float = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class Permits:
    """What this decision may change. Placing tasks that have no node is always permitted."""

    move: bool = False
    scale: bool = False
    regroup: bool = False
    sleep: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """All bounds of one decision."""

    placement: PlacementLimits = field(default_factory=PlacementLimits)
    scaling: ScalingLimits = field(default_factory=ScalingLimits)
    trust: Trust = field(default_factory=Trust)
    permits: Permits = field(default_factory=Permits)
