"""StreamTopology as values.

Defaults are those of the CRD, so that a file reads as the same topology in a cluster does.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from thalweg_operator.api.fields import Fields, as_fields
from thalweg_scheduling.model.graph import GroupingType

DEFAULT_DOMAIN_LABEL = "topology.kubernetes.io/zone"


class Mode(StrEnum):
    """How far Thalweg may go in changing a running topology."""

    OFF = "Off"
    RECOMMEND = "Recommend"
    APPROVE = "Approve"
    AUTO = "Auto"


class Binding(StrEnum):
    """What a pod is bound to."""

    NODE = "Node"
    DOMAIN = "Domain"


class Processes(StrEnum):
    """Whether tasks may share a pod."""

    SEPARATE = "Separate"
    SHARED = "Shared"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicasSpec:
    """How many tasks a vertex has: never outside min and max, and `initial` to begin with."""

    min: int = 1
    max: int = 1
    initial: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexSpec:
    """One step of a topology."""

    name: str
    replicas: ReplicasSpec
    template: Mapping[str, Any]
    """The pod template as the user wrote it."""
    max_surge: int = 1
    """Tasks that are replaced at the same time when the template changes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupingSpec:
    """How an edge picks the receiving task."""

    type: GroupingType = GroupingType.SHUFFLE
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSpec:
    """A stream between two vertices, by their names."""

    source: str
    target: str
    grouping: GroupingSpec = field(default_factory=GroupingSpec)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementSpec:
    """Where tasks may run."""

    mode: Mode = Mode.RECOMMEND
    binding: Binding | None = None
    """None: `Domain` where nodes come and go by themselves, else `Node`."""
    processes: Processes = Processes.SEPARATE
    domain_label: str = DEFAULT_DOMAIN_LABEL
    min_domains: int = 1
    max_share_percent: int = 100
    min_gain_percent: int = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalingSpec:
    """How the number of tasks may change."""

    mode: Mode = Mode.RECOMMEND
    target_utilization_percent: int = 70
    backlog_s: int = 180
    scale_down_after_s: int = 600
    cooldown_s: int = 60
    max_up_factor: int = 4
    max_down_percent: int = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class BudgetSpec:
    """A limit on moves: always, or for `duration_s` after each time of `schedule`."""

    max_moves: int
    schedule: str | None = None
    time_zone: str | None = None
    duration_s: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricsSpec:
    """Which of the operator's metric sources and query sets to decide by."""

    source: str = "default"
    preset: str = "thalweg"
    stale_after_s: int = 45


@dataclass(frozen=True, slots=True, kw_only=True)
class TopologySpec:
    """All that a user writes. Each part's mode is already the topology's where it has none."""

    vertices: tuple[VertexSpec, ...]
    edges: tuple[EdgeSpec, ...] = ()
    strategy: str = "Auto"
    mode: Mode = Mode.RECOMMEND
    suspend: bool = False
    placement: PlacementSpec = field(default_factory=PlacementSpec)
    scaling: ScalingSpec = field(default_factory=ScalingSpec)
    grouping_mode: Mode = Mode.RECOMMEND
    hibernation_mode: Mode = Mode.RECOMMEND
    budgets: tuple[BudgetSpec, ...] = (BudgetSpec(max_moves=2),)
    metrics: MetricsSpec = field(default_factory=MetricsSpec)


def parse_topology(spec: Mapping[str, Any]) -> TopologySpec:
    """The value of a StreamTopology's `spec`; InvalidManifest where it cannot be read."""
    fields = as_fields(spec, "spec")
    mode = fields.word("mode", Mode.RECOMMEND)
    return TopologySpec(
        strategy=fields.text("strategy", "Auto"),
        mode=mode,
        suspend=fields.flag("suspend", default=False),
        vertices=tuple(_vertex(one) for one in fields.each("vertices")),
        edges=tuple(_edge(one) for one in fields.each("edges")),
        placement=_placement(fields.below("placement"), mode),
        scaling=_scaling(fields.below("scaling"), mode),
        grouping_mode=fields.below("grouping").word("mode", mode),
        hibernation_mode=fields.below("hibernation").word("mode", mode),
        budgets=_budgets(fields.below("disruption")),
        metrics=_metrics(fields.below("metrics")),
    )


def _vertex(fields: Fields) -> VertexSpec:
    return VertexSpec(
        name=fields.text("name"),
        replicas=_replicas(fields.below("replicas")),
        template=fields.mapping("template"),
        max_surge=fields.below("rollout").whole("maxSurge", 1),
    )


def _replicas(fields: Fields) -> ReplicasSpec:
    least = fields.whole("min", 1)
    initial = fields.whole("initial", least)
    # Growing costs money: it takes a word of the user's.
    return ReplicasSpec(min=least, max=fields.whole("max", max(least, initial)), initial=initial)


def _edge(fields: Fields) -> EdgeSpec:
    grouping = fields.below("grouping")
    return EdgeSpec(
        source=fields.text("from"),
        target=fields.text("to"),
        grouping=GroupingSpec(
            type=grouping.word("type", GroupingType.SHUFFLE), keys=grouping.texts("keys")
        ),
    )


def _placement(fields: Fields, mode: Mode) -> PlacementSpec:
    default = PlacementSpec()
    return PlacementSpec(
        mode=fields.word("mode", mode),
        binding=fields.optional_word("binding", Binding),
        processes=fields.word("processes", default.processes),
        domain_label=fields.text("domainLabel", default.domain_label),
        min_domains=fields.whole("minDomains", default.min_domains),
        max_share_percent=fields.whole("maxSharePercent", default.max_share_percent),
        min_gain_percent=fields.whole("minGainPercent", default.min_gain_percent),
    )


def _scaling(fields: Fields, mode: Mode) -> ScalingSpec:
    default = ScalingSpec()
    return ScalingSpec(
        mode=fields.word("mode", mode),
        target_utilization_percent=fields.whole(
            "targetUtilizationPercent", default.target_utilization_percent
        ),
        backlog_s=fields.whole("backlogSeconds", default.backlog_s),
        scale_down_after_s=fields.whole("scaleDownAfterSeconds", default.scale_down_after_s),
        cooldown_s=fields.whole("cooldownSeconds", default.cooldown_s),
        max_up_factor=fields.whole("maxUpFactor", default.max_up_factor),
        max_down_percent=fields.whole("maxDownPercent", default.max_down_percent),
    )


def _budgets(fields: Fields) -> tuple[BudgetSpec, ...]:
    if fields.values.get("budgets") is None:
        return (BudgetSpec(max_moves=2),)
    return tuple(
        BudgetSpec(
            max_moves=one.whole("maxMoves"),
            schedule=one.optional_text("schedule"),
            time_zone=one.optional_text("timeZone"),
            duration_s=one.optional_whole("durationSeconds"),
        )
        for one in fields.each("budgets")
    )


def _metrics(fields: Fields) -> MetricsSpec:
    default = MetricsSpec()
    return MetricsSpec(
        source=fields.text("source", default.source),
        preset=fields.text("preset", default.preset),
        stale_after_s=fields.whole("staleAfterSeconds", default.stale_after_s),
    )
