"""What the status of a topology and of its vertices should say, as pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from thalweg_operator import naming
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.facts import PodFact, epoch_s
from thalweg_operator.observe.ledger import node_of
from thalweg_operator.observe.survey import Survey, Wanted
from thalweg_operator.report.conditions import Condition, merged_conditions, shortened

_DECISIONS_KEPT = 10
_MESSAGE_BYTES = 1024
_NAMED_AT_MOST = 3
_SHOW_EVERY_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A decision in one line."""

    reason: str
    message: str
    plan: str = ""
    """The StreamPlan that holds the whole of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """Whether the present spec is valid, and which generation is in force."""

    generation: int
    in_force: int | None
    """None where there never was a valid spec."""
    reason: str = "Valid"
    message: str = "the spec can be carried out"

    @property
    def is_valid(self) -> bool:
        """Whether the present spec is the one in force."""
        return self.in_force == self.generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a turn found and did for one topology."""

    judgement: Judgement
    wanted: tuple[Wanted, ...] = ()
    surveys: Mapping[str, Survey]
    domains: Mapping[str, str]
    """Node to domain."""
    missing: tuple[str, ...] = ()
    """Sentences on tasks that fit nowhere."""
    suspended: bool = False
    trouble: str = ""
    """What went wrong in this turn; empty if nothing did."""
    decision: Decision | None = None
    further: tuple[Condition, ...] = ()
    """Conditions about measuring and planning."""
    measured: Mapping[str, Any] | None = None
    """Figures for the table; None where nothing is measured."""
    stands_in: str = ""
    """Why numpy condenses in Spark's place; empty when it does not."""
    running_plan: str = ""
    stable_plan: str = ""


def timestamp(now_s: float) -> str:
    """As Kubernetes writes times: UTC, to the second."""
    return datetime.fromtimestamp(now_s, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def topology_status(before: Mapping[str, Any], outcome: Outcome, now_s: float) -> dict[str, Any]:
    """The part of the status that the loop keeps; what others keep is not in it."""
    at, judgement = timestamp(now_s), outcome.judgement
    vertices = [_vertex_line(wanted, outcome) for wanted in outcome.wanted]
    desired = sum(line["desired"] for line in vertices)
    ready = sum(line["ready"] for line in vertices)
    status: dict[str, Any] = {
        "observedGeneration": judgement.generation,
        "conditions": merged_conditions(
            before.get("conditions") or (),
            (*conditions_of(outcome, desired), *outcome.further),
            generation=judgement.generation,
            at=at,
        ),
        "tasks": {"desired": desired, "ready": ready, "summary": f"{ready}/{desired}"},
        "vertices": vertices,
    }
    if judgement.in_force is not None:
        status["lastValidGeneration"] = judgement.in_force
    if outcome.running_plan or before.get("runningPlan"):
        status["runningPlan"] = outcome.running_plan or None
    if outcome.stable_plan:
        status["stablePlan"] = outcome.stable_plan
    if outcome.measured is not None and _is_time_to_show(before, now_s):
        status["measured"] = dict(outcome.measured)
    if outcome.decision is not None:
        latest = {
            "at": at,
            "reason": outcome.decision.reason,
            "message": shortened(outcome.decision.message, _MESSAGE_BYTES),
        }
        if outcome.decision.plan:
            latest["plan"] = outcome.decision.plan
        status["lastDecision"] = latest
        status["decisions"] = [latest, *(before.get("decisions") or ())][:_DECISIONS_KEPT]
    return status


def conditions_of(outcome: Outcome, desired: int) -> tuple[Condition, ...]:
    """Ready, Valid, Scheduled and Degraded, in this order."""
    judgement = outcome.judgement
    return (
        _ready(outcome, desired),
        Condition(
            kind="Valid",
            status=judgement.is_valid,
            reason=judgement.reason,
            message=judgement.message,
        ),
        _scheduled(outcome),
        _degraded(outcome),
    )


def _degraded(outcome: Outcome) -> Condition:
    def say(reason: str, message: str, *, status: bool = True) -> Condition:
        return Condition(kind="Degraded", status=status, reason=reason, message=message)

    if outcome.trouble:
        return say("TurnFailed", outcome.trouble)
    if outcome.stands_in:
        return say("SparkUnavailable", f"numpy condenses in Spark's place: {outcome.stands_in}")
    return say("AsExpected", "the last turn did all that it meant to do", status=False)


def _is_time_to_show(before: Mapping[str, Any], now_s: float) -> bool:
    """Figures change with every reading; once a minute is enough for people."""
    at = (before.get("measured") or {}).get("at")
    return at is None or now_s - epoch_s(at) >= _SHOW_EVERY_S


def unknown_since(trouble: str) -> tuple[Condition, ...]:
    """What can be said after a turn that failed before it saw the tasks: that nobody knows."""
    return (
        Condition(kind="Ready", status=None, reason="TurnFailed", message=trouble),
        Condition(kind="Degraded", status=True, reason="TurnFailed", message=trouble),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class VertexView:
    """What the status of a StreamVertex is made from, besides its pods."""

    topology: str
    generation: int
    before: Mapping[str, Any]
    """The status as it was."""
    domains: Mapping[str, str]
    """Node to domain."""
    now_s: float


def vertex_status(wanted: Wanted, survey: Survey, view: VertexView) -> dict[str, Any]:
    """The status of a StreamVertex, its incarnation counter apart."""
    holders = sorted(survey.holders.items())
    # No vertex has fewer than one task, unless its topology is suspended.
    ready = _suspended([survey]) if wanted.replicas == 0 else _served([survey], wanted.replicas)
    return {
        "observedGeneration": view.generation,
        "conditions": merged_conditions(
            view.before.get("conditions") or (),
            (ready,),
            generation=view.generation,
            at=timestamp(view.now_s),
        ),
        "replicas": len(holders),
        "readyReplicas": len(survey.serving),
        "updatedReplicas": sum(_hash(pod) == wanted.hash_of(task) for task, pod in holders),
        "selector": _selector(wanted, view.topology),
        "templateHash": wanted.template_hash,
        "tasks": [
            _task_line(task, survey.serving.get(task, pod), view.domains) for task, pod in holders
        ],
    }


def _selector(wanted: Wanted, topology: str) -> str:
    if wanted.shared_hashes is not None:
        return naming.hosting_selector(topology, wanted.vertex)
    labels = naming.active_selector(topology, wanted.vertex)
    return ",".join(f"{key}={value}" for key, value in sorted(labels.items()))


def _ready(outcome: Outcome, desired: int) -> Condition:
    if outcome.judgement.in_force is None:
        message = f"there is no valid spec to carry out: {outcome.judgement.message}"
        return Condition(kind="Ready", status=False, reason="Invalid", message=message)
    surveys = list(outcome.surveys.values())
    return _suspended(surveys) if outcome.suspended else _served(surveys, desired)


def _suspended(surveys: Sequence[Survey]) -> Condition:
    left = sum(survey.leaving for survey in surveys)
    message = f"suspended; {left} pods are still leaving" if left else "suspended"
    return Condition(kind="Ready", status=False, reason="Suspended", message=message)


def _served(surveys: Sequence[Survey], desired: int) -> Condition:
    ready = sum(len(survey.serving) for survey in surveys)
    if ready >= desired:
        message = f"all {desired} tasks are ready"
        return Condition(kind="Ready", status=True, reason="AllTasksReady", message=message)
    waiting = [line for survey in surveys for line in _waiting(survey)]
    message = f"{ready} of {desired} tasks are ready{_named(waiting)}"
    return Condition(kind="Ready", status=False, reason="TasksNotReady", message=message)


def _scheduled(outcome: Outcome) -> Condition:
    def say(reason: str, message: str, *, status: bool | None = False) -> Condition:
        return Condition(kind="Scheduled", status=status, reason=reason, message=message)

    if outcome.judgement.in_force is None:
        return say("Invalid", "there is no valid spec to find room for", status=None)
    if outcome.missing:
        # What is free somewhere changes with every pod of everybody.
        message = _first(outcome.missing)
        return replace(say("Infeasible", message), gist=message.partition(";")[0] + ";")
    refused = [
        task.name
        for survey in outcome.surveys.values()
        for task, pod in sorted(survey.holders.items())
        if pod.is_unschedulable
    ]
    if refused:
        return say("Unschedulable", f"kube-scheduler finds no node for {_listed(refused)}")
    return say("Fits", "every task has room on a node", status=True)


def _waiting(survey: Survey) -> list[str]:
    """The tasks that nobody serves, each with what is wrong with its pod."""
    failures = {task: pod.failure for task, pod in survey.holders.items()}
    return [
        f"{task.name} ({failures[task]})" if failures.get(task) else task.name
        for task in survey.waiting
    ]


def _named(waiting: Sequence[str]) -> str:
    return f"; waiting for {_listed(waiting)}" if waiting else ""


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _NAMED_AT_MOST
    return ", ".join(names[:_NAMED_AT_MOST]) + (f" and {more} more" if more > 0 else "")


def _first(sentences: Sequence[str]) -> str:
    if len(sentences) < 2:
        return "".join(sentences)
    return f"{len(sentences)} tasks fit nowhere: {sentences[0]}"


def _vertex_line(wanted: Wanted, outcome: Outcome) -> dict[str, Any]:
    survey = outcome.surveys.get(wanted.vertex)
    serving = survey.serving if survey else {}
    domains = {outcome.domains.get(pod.node or "", "") for pod in serving.values()} - {""}
    return {
        "name": wanted.vertex,
        "desired": wanted.replicas,
        "ready": len(serving),
        "domains": len(domains),
    }


def _task_line(task: TaskKey, pod: PodFact, domains: Mapping[str, str]) -> dict[str, Any]:
    line: dict[str, Any] = {
        "index": task.index,
        "incarnation": naming.incarnation_of(pod.labels),
        "templateHash": _hash(pod),
    }
    node = node_of(pod)
    if node is not None:
        line |= {"node": node, "domain": domains.get(node, "")}
    return line


def _hash(pod: PodFact) -> str:
    return pod.labels.get(naming.TEMPLATE_HASH, "")
