"""A decision as a StreamPlan: written before anything is done, and read back to go on with it.

Where a plan stands follows from the object and the cluster alone, so that an operator that starts
anew goes on where the last one stopped.
"""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from thalweg_operator import naming
from thalweg_operator.act.manifests import Owner
from thalweg_operator.api.topology import Mode
from thalweg_operator.observe.facts import NodeFact, PodFact
from thalweg_operator.report.figures import fraction, per_second, percent, seconds
from thalweg_scheduling.model.plan import EdgeWeights, Plan, Prediction

EdgeName = tuple[str, str]
"""The vertices that an edge leaves and reaches."""

KEPT_PLANS = 10
_NUMBER = re.compile(r"-plan-(\d+)$")


class Standing(StrEnum):
    """Where a plan stands; also the reason of its condition."""

    PROPOSED = "Proposed"
    RUNNING = "Running"
    APPLIED = "Applied"
    LAPSED = "Lapsed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One change of a running plan: a number of tasks, or the node of one."""

    vertex: str
    task: str | None = None
    source: str
    target: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A plan with all that goes into its StreamPlan."""

    plan: Plan
    generation: int
    fingerprint: str
    decided_at: str
    summary: str
    replicas_now: Mapping[str, int]
    cost_before: float
    """J of what runs now; NaN where traffic is unknown."""
    measured_before: str = "{}"
    """What was measured when it was decided, to judge by afterwards."""
    processes: Mapping[str, int] = field(default_factory=dict)
    """Task to the number of the process that it shares, where tasks share pods."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanState:
    """A StreamPlan as the loop sees it."""

    name: str
    number: int
    body: Mapping[str, Any]

    @property
    def spec(self) -> Mapping[str, Any]:
        """What was decided."""
        spec: Mapping[str, Any] = self.body["spec"]
        return spec

    @property
    def status(self) -> Mapping[str, Any]:
        """What came of it so far."""
        return self.body.get("status") or {}

    @property
    def standing(self) -> Standing:
        """Where it stands."""
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == "Applied":
                return Standing(condition.get("reason") or Standing.PROPOSED)
        return Standing.PROPOSED

    @property
    def steps(self) -> tuple[Step, ...]:
        """All changes, replicas first: a new task may be what a move makes room for."""
        scales = tuple(
            Step(vertex=one["vertex"], source=str(one["from"]), target=str(one["to"]))
            for one in self.spec.get("replicas") or ()
        )
        moves = tuple(
            Step(
                vertex=one["task"].rpartition("-")[0],
                task=one["task"],
                source=one["from"],
                target=one["to"],
            )
            for one in self.spec.get("moves") or ()
        )
        return scales + moves

    @property
    def weights(self) -> dict[EdgeName, dict[str, float]]:
        """The shares of each edge's stream that tasks get, in thousandths."""
        return {
            (one["from"], one["to"]): {
                share["task"]: float(share["perMille"]) for share in one["shares"]
            }
            for one in self.spec.get("weights") or ()
        }

    @property
    def total(self) -> int:
        """How many changes there are to make."""
        return len(self.steps) + len(self.weights)


def plan_states(bodies: Iterable[Mapping[str, Any]]) -> tuple[PlanState, ...]:
    """The topology's plans, newest first; objects of other names are not ours to judge."""
    found = []
    for body in bodies:
        name = body["metadata"]["name"]
        match = _NUMBER.search(name)
        if match:
            found.append(PlanState(name=name, number=int(match.group(1)), body=body))
    return tuple(sorted(found, key=lambda plan: -plan.number))


def may_run(state: PlanState, mode: Mode) -> bool:
    """Whether the plan may be carried out without asking further."""
    if mode is Mode.OFF:
        return False
    return mode is Mode.AUTO or bool(state.spec.get("approved"))


def fingerprint(pods: Iterable[PodFact], nodes: Iterable[NodeFact]) -> str:
    """Changes when the pods or nodes change that a plan was made for."""
    facts = [
        sorted(f"{pod.name}@{pod.node}" for pod in pods if not pod.is_deleting),
        sorted(
            f"{node.name}:{node.is_ready}:{node.is_cordoned}:{sorted(node.allocatable.items())}"
            for node in nodes
        ),
    ]
    return hashlib.sha256(json.dumps(facts).encode()).hexdigest()[:16]


def next_number(states: Iterable[PlanState]) -> int:
    """Plans of a topology are numbered from 1."""
    return max((state.number for state in states), default=0) + 1


def plan_manifest(namespace: str, owner: Owner, number: int, proposal: Proposal) -> dict[str, Any]:
    """The StreamPlan of a decision."""
    plan = proposal.plan
    return {
        "metadata": {
            "name": f"{owner.name}-plan-{number}",
            "namespace": namespace,
            "labels": naming.common_labels(owner.name),
            "annotations": {naming.MEASURED_BEFORE: proposal.measured_before},
            "ownerReferences": [owner.reference()],
        },
        "spec": {
            "topology": owner.name,
            "generation": proposal.generation,
            "fingerprint": proposal.fingerprint,
            "decidedAt": proposal.decided_at,
            "strategy": plan.strategy,
            "summary": proposal.summary[:256],
            "reasons": [
                {"reason": str(reason.code), "message": reason.message[:1024]}
                for reason in plan.reasons[:64]
            ],
            "predicted": predicted(plan.prediction, plan.objective, proposal.cost_before),
            "replicas": [
                {"vertex": vertex, "from": proposal.replicas_now[vertex], "to": count}
                for vertex, count in sorted(plan.replicas.items())
            ],
            "moves": [
                {"task": move.task, "from": move.source, "to": move.target} for move in plan.moves
            ],
            "weights": [_weights(edge) for edge in plan.weights],
            "assignments": [
                _assignment(task, node, proposal.processes.get(task))
                for task, node in sorted(plan.assignments.items())
            ],
        },
    }


def _assignment(task: str, node: str, process: int | None) -> dict[str, Any]:
    where: dict[str, Any] = {"task": task, "node": node}
    return where if process is None else {**where, "process": process}


def _weights(edge: EdgeWeights) -> dict[str, Any]:
    return {
        "from": edge.source,
        "to": edge.target,
        "shares": [
            {"task": task, "perMille": round(1000 * share)}
            for task, share in sorted(edge.shares.items())
        ],
    }


def predicted(prediction: Prediction | None, cost: float, cost_before: float) -> dict[str, Any]:
    """Figures for people; what is not known is left out."""
    figures: dict[str, str | int | None] = {
        "cost": fraction(cost),
        "costBefore": fraction(cost_before),
    }
    if cost_before > 0:
        figures["gain"] = percent((cost_before - cost) / cost_before)
    if prediction is not None:
        figures |= {
            "latency": seconds(prediction.latency_s),
            "throughput": per_second(prediction.throughput_per_s),
            "crossDomain": percent(prediction.cross_domain_share),
            "busiestNode": percent(prediction.busiest_node),
            "nodes": prediction.nodes_used,
        }
    return {name: value for name, value in figures.items() if value is not None}


def superfluous(
    states: Iterable[PlanState], keep: int = KEPT_PLANS, *, stable: str = ""
) -> tuple[PlanState, ...]:
    """Plans to delete: beyond the last ten, but never one that is running nor the stable one."""
    return tuple(
        state
        for position, state in enumerate(states)
        if position >= keep and state.standing is not Standing.RUNNING and state.name != stable
    )
