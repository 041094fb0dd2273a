"""What is wrong with a topology beyond what the API server can see.

The API server has already refused most of it; a topology from a file has not been there, so bounds
and edge ends are looked at here too.
"""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from thalweg_operator.api.schedule import InvalidSchedule, parse_schedule
from thalweg_operator.api.topology import (
    BudgetSpec,
    EdgeSpec,
    Processes,
    ReplicasSpec,
    TopologySpec,
    VertexSpec,
)
from thalweg_scheduling.model.graph import GroupingType

_KEYED = (GroupingType.FIELDS, GroupingType.PARTIAL_KEY, GroupingType.W_CHOICES)


class Fault(StrEnum):
    """What kind of mistake; the reason of `Valid=False`."""

    NO_VERTICES = "NoVertices"
    DUPLICATE_VERTEX = "DuplicateVertex"
    INVALID_REPLICAS = "InvalidReplicas"
    INVALID_TEMPLATE = "InvalidTemplate"
    UNKNOWN_VERTEX = "UnknownVertex"
    DUPLICATE_EDGE = "DuplicateEdge"
    INVALID_GROUPING = "InvalidGrouping"
    CYCLE = "Cycle"
    STRATEGY_UNAVAILABLE = "StrategyUnavailable"
    NOT_AVAILABLE = "NotAvailable"
    UNKNOWN_METRICS_SOURCE = "UnknownMetricsSource"
    INVALID_SCHEDULE = "InvalidSchedule"
    INVALID_TIME_ZONE = "InvalidTimeZone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """One mistake: a word for machines, and a sentence that says what to do."""

    reason: Fault
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """What this installation can do; a topology that asks for more is not valid here."""

    strategies: Collection[str]
    shared_processes: bool = False
    metrics_sources: Collection[str] | None = None
    """None: sources are not looked at, as when no metrics are read at all."""


def find_problems(spec: TopologySpec, offer: Offer) -> tuple[Problem, ...]:
    """All mistakes, the gravest first; none for a valid topology."""
    return (
        *_vertex_problems(spec),
        *_edge_problems(spec),
        *_cycle_problems(spec),
        *_offer_problems(spec, offer),
        *(problem for budget in spec.budgets for problem in _budget_problems(budget)),
    )


def _vertex_problems(spec: TopologySpec) -> Iterator[Problem]:
    if not spec.vertices:
        yield Problem(reason=Fault.NO_VERTICES, message="add at least one vertex")
    seen: set[str] = set()
    for vertex in spec.vertices:
        if vertex.name in seen:
            yield Problem(
                reason=Fault.DUPLICATE_VERTEX,
                message=f"two vertices are named {vertex.name}; rename one",
            )
        seen.add(vertex.name)
        if not _is_ordered(vertex.replicas):
            yield Problem(
                reason=Fault.INVALID_REPLICAS,
                message=f"replicas of vertex {vertex.name} must be 1 ≤ min ≤ initial ≤ max",
            )
        if not _has_image(vertex):
            yield Problem(
                reason=Fault.INVALID_TEMPLATE,
                message=f"give vertex {vertex.name} a template with spec.containers[0].image",
            )


def _is_ordered(replicas: ReplicasSpec) -> bool:
    return 1 <= replicas.min <= replicas.initial <= replicas.max


def _has_image(vertex: VertexSpec) -> bool:
    try:
        return bool(vertex.template["spec"]["containers"][0]["image"])
    except (KeyError, IndexError, TypeError):
        return False


def _edge_problems(spec: TopologySpec) -> Iterator[Problem]:
    names = {vertex.name for vertex in spec.vertices}
    seen: set[tuple[str, str]] = set()
    for edge in spec.edges:
        label = f"edge {edge.source} → {edge.target}"
        for end in (edge.source, edge.target):
            if end not in names:
                yield Problem(
                    reason=Fault.UNKNOWN_VERTEX,
                    message=f"{label}: no vertex is named {end}; add it or correct the edge",
                )
        if (edge.source, edge.target) in seen:
            yield Problem(
                reason=Fault.DUPLICATE_EDGE, message=f"{label} is there twice; remove one"
            )
        seen.add((edge.source, edge.target))
        yield from _grouping_problems(edge, label)


def _grouping_problems(edge: EdgeSpec, label: str) -> Iterator[Problem]:
    needs_keys = edge.grouping.type in _KEYED
    if needs_keys and not edge.grouping.keys:
        yield Problem(
            reason=Fault.INVALID_GROUPING,
            message=f"{label}: grouping {edge.grouping.type} needs keys; name the fields",
        )
    if edge.grouping.keys and not needs_keys:
        yield Problem(
            reason=Fault.INVALID_GROUPING,
            message=f"{label}: grouping {edge.grouping.type} takes no keys; remove them",
        )


def _cycle_problems(spec: TopologySpec) -> Iterator[Problem]:
    cycle = find_cycle(spec)
    if cycle:
        yield Problem(
            reason=Fault.CYCLE,
            message=f"vertices form a cycle: {' → '.join(cycle)}; remove one of these edges",
        )


def find_cycle(spec: TopologySpec) -> tuple[str, ...]:
    """A cycle as vertex names with the first one again at the end; empty where there is none.

    The walk is in the order of the spec, so the same spec always names the same cycle.
    """
    targets: dict[str, list[str]] = {}
    for edge in spec.edges:
        targets.setdefault(edge.source, []).append(edge.target)
    done: set[str] = set()
    for start in list(targets):
        cycle = _walk(start, targets, done)
        if cycle:
            return cycle
    return ()


def _walk(start: str, targets: Mapping[str, list[str]], done: set[str]) -> tuple[str, ...]:
    """Go depth first from `start` until a vertex on the way comes again."""
    way, branches = [start], [iter(targets[start])]
    while way:
        following = next(branches[-1], None)
        if following is None:
            done.add(way.pop())
            branches.pop()
        elif following in way:
            return (*way[way.index(following) :], following)
        elif following not in done:
            way.append(following)
            branches.append(iter(targets.get(following, ())))
    return ()


def _offer_problems(spec: TopologySpec, offer: Offer) -> Iterator[Problem]:
    if spec.strategy not in offer.strategies:
        known = ", ".join(sorted(offer.strategies))
        yield Problem(
            reason=Fault.STRATEGY_UNAVAILABLE,
            message=f"strategy {spec.strategy} is not available here; choose one of {known}",
        )
    if spec.placement.processes is Processes.SHARED and not offer.shared_processes:
        yield Problem(
            reason=Fault.NOT_AVAILABLE,
            message="placement.processes Shared is not available here; set it to Separate",
        )
    sources = offer.metrics_sources
    if sources is not None and spec.metrics.source not in sources:
        yield Problem(
            reason=Fault.UNKNOWN_METRICS_SOURCE,
            message=f"the operator's settings have no metrics source {spec.metrics.source}; "
            f"choose one of {', '.join(sorted(sources)) or 'none yet: ask who runs the operator'}",
        )


def _budget_problems(budget: BudgetSpec) -> Iterator[Problem]:
    if (budget.schedule is None) != (budget.duration_s is None):
        yield Problem(
            reason=Fault.INVALID_SCHEDULE,
            message="a budget needs both schedule and durationSeconds, or neither",
        )
    if budget.schedule is not None:
        try:
            parse_schedule(budget.schedule)
        except InvalidSchedule as error:
            yield Problem(
                reason=Fault.INVALID_SCHEDULE,
                message=f"schedule {budget.schedule!r} cannot be read: {error}",
            )
    if budget.time_zone is not None and not _is_zone(budget.time_zone):
        yield Problem(
            reason=Fault.INVALID_TIME_ZONE,
            message=f"timeZone {budget.time_zone!r} is not known; "
            "use a name such as Europe/Berlin or UTC",
        )


def _is_zone(name: str) -> bool:
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return False
    return True
