"""Plans of one topology: proposing, starting, carrying out, and letting lapse.

A plan is written down before anything is done, and where it stands is written down after each step.
A turn carries out at most one plan, and proposes another only when the topology stands still.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from thalweg_operator.act.plans import (
    EdgeName,
    PlanState,
    Proposal,
    Standing,
    fingerprint,
    may_run,
    next_number,
    plan_manifest,
    plan_states,
    superfluous,
)
from thalweg_operator.act.progress import Progress, progress_of
from thalweg_operator.act.structure import owner_of
from thalweg_operator.api.topology import Mode, Processes, TopologySpec
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import STREAM_PLANS, STREAM_VERTICES, Object
from thalweg_operator.errors import Conflict
from thalweg_operator.improving import Improvement, moves_allowed
from thalweg_operator.observe.facts import epoch_s
from thalweg_operator.observe.measured import Measured
from thalweg_operator.observe.world import TopologyFacts, World
from thalweg_operator.proving import (
    Figures,
    figures_before,
    figures_of,
    judge_plan,
    measured_status,
    stable_plan,
    to_prove,
    to_undo,
    undoing,
    unnoted_roll_backs,
)
from thalweg_operator.report.conditions import Condition, merged_conditions
from thalweg_operator.report.status import Decision, timestamp
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.reasons import ReasonCode

_REPROPOSE_S = 300.0
"""A proposal that nobody has answered is replaced by another one at most this often."""
_NO_PROGRESS = Progress(done=0, total=0)
_CHANGES = (
    *(ReasonCode.SCALED_UP, ReasonCode.SCALED_DOWN),
    *(ReasonCode.MOVED, ReasonCode.ROLLED_BACK, ReasonCode.REGROUPED),
)


@dataclass(kw_only=True)
class Changing:
    """What the plans of one topology's turn work with."""

    client: Client
    world: World
    facts: TopologyFacts
    spec: TopologySpec
    refused_after_s: float
    prove_after_s: float

    def __post_init__(self) -> None:
        """Read the plans that are there."""
        self.states = plan_states(self.facts.plans)
        self.running: PlanState | None = None

    @property
    def generation(self) -> int:
        """The generation of the spec that plans are about."""
        return int(self.facts.topology["metadata"].get("generation") or 0)

    @property
    def stable(self) -> str:
        """The name of the last plan that proved good."""
        return stable_plan(self.states)

    def resume(
        self, replicas: Mapping[str, int], routed: Mapping[EdgeName, Mapping[str, float]]
    ) -> Progress:
        """Find the plan to carry out, end those that the world has overtaken, and see how far."""
        now = fingerprint(self.facts.pods, self.world.nodes.values())
        for state in self.states:
            self._look_at(state, now)
        for undone, by in unnoted_roll_backs(self.states):
            self._write(undone, {"rolledBackTo": by.name})
        for state in superfluous(self.states, stable=self.stable):
            self._forget(state)
        if self.running is None:
            return _NO_PROGRESS
        return progress_of(
            self.running,
            replicas,
            self.facts.pods,
            moves_allowed(self.spec.budgets, self.world.now_s),
            routed=routed,
            usable=self._usable(),
            refused_before_s=self.world.now_s - self.refused_after_s,
        )

    def go_on(self, progress: Progress, vertices: Mapping[str, Object]) -> Decision | None:
        """Set numbers of tasks, and write down how far the running plan has come."""
        if self.running is None:
            return None
        for step in progress.scales:
            self._scale(vertices[step.vertex], int(step.target))
        if progress.overtaken:
            self._note(self.running, Standing.LAPSED, progress.overtaken)
            return Decision(reason=str(Standing.LAPSED), message=progress.overtaken)
        if progress.is_complete:
            self._note(self.running, Standing.APPLIED, "every step is done", done=progress.done)
            return None
        self._note(
            self.running,
            Standing.RUNNING,
            f"{progress.done} of {progress.total} steps are done",
            done=progress.done,
        )
        return None

    def prove(self, measured: Measured, shown: Mapping[str, Any] | None) -> None:
        """Write down what came of the last plan, once that can be seen."""
        state = to_prove(self.states, measured.observed_at_s, self.prove_after_s)
        if state is None or shown is None:
            return
        proof = judge_plan(figures_before(state), figures_of(measured))
        if proof is None:
            return
        conditions = merged_conditions(
            state.status.get("conditions") or (),
            (proof,),
            generation=1,
            at=timestamp(self.world.now_s),
        )
        self._write(state, {"measured": measured_status(shown), "conditions": conditions})

    def undo(self, where: Mapping[str, str]) -> Improvement | None:
        """The plan that takes back one that got worse; `where` is the node of each task."""
        state = to_undo(self.states)
        plan = None if state is None else undoing(state, where, self._usable())
        if plan is None:
            return None
        return Improvement(plan=plan, cost_before=math.nan, looked_for_moves=False)

    def propose(
        self, improvement: Improvement, replicas: Mapping[str, int], before: Figures
    ) -> Decision | None:
        """Write a plan down, and start it where the mode allows."""
        plan = improvement.plan
        if not (plan.moves or plan.replicas or plan.weights) or self._is_proposed_already(plan):
            return None
        for state in self.states:
            if state.standing is Standing.PROPOSED:
                self._note(state, Standing.LAPSED, "a newer plan took its place")
        proposal = Proposal(
            plan=plan,
            generation=self.generation,
            fingerprint=fingerprint(self.facts.pods, self.world.nodes.values()),
            decided_at=timestamp(self.world.now_s),
            summary=summary_of(plan),
            replicas_now=replicas,
            cost_before=improvement.cost_before,
            measured_before=before.text(),
            processes=self._processes(),
        )
        owner = owner_of(self.facts.topology)
        number = next_number(self.states)
        manifest = plan_manifest(self.facts.namespace, owner, number, proposal)
        body = self.client.create(STREAM_PLANS, manifest)
        made = PlanState(name=body["metadata"]["name"], number=number, body=body)
        if may_run(made, self._mode(made)):
            self._note(made, Standing.RUNNING, "carried out from now on", done=0)
        reason = str(plan.reasons[0].code) if plan.reasons else "Planned"
        return Decision(reason=reason, message=proposal.summary, plan=made.name)

    def _processes(self) -> dict[str, int]:
        """Who shares a pod now: a plan moves processes, and does not change who is in them."""
        if self.spec.placement.processes is not Processes.SHARED:
            return {}
        recorded = (self.facts.topology.get("status") or {}).get("processes") or ()
        return {task: one["index"] for one in recorded for task in one["tasks"]}

    def _usable(self) -> set[str]:
        return {
            name
            for name, node in self.world.nodes.items()
            if node.is_ready and not node.is_cordoned and not node.is_deleting
        }

    def _look_at(self, state: PlanState, now: str) -> None:
        standing = state.standing
        if standing in (Standing.APPLIED, Standing.LAPSED):
            return
        if state.spec["generation"] != self.generation or self.spec.suspend:
            self._note(state, Standing.LAPSED, "the topology has changed since")
        elif standing is Standing.RUNNING:
            self.running = self.running or state
        elif state.spec["fingerprint"] != now:
            self._note(state, Standing.LAPSED, "pods or nodes have changed since")
        elif self.running is None and may_run(state, self._mode(state)):
            self._note(state, Standing.RUNNING, "carried out from now on", done=0)
            self.running = state

    def _mode(self, state: PlanState) -> Mode:
        """Scaling, placement and grouping may each have a mode of their own."""
        if state.spec.get("replicas"):
            return self.spec.scaling.mode
        return self.spec.placement.mode if state.spec.get("moves") else self.spec.grouping_mode

    def _is_proposed_already(self, plan: Plan) -> bool:
        """Whether what was proposed last is the same, or still waits for its answer."""
        if not self.states or self.states[0].standing is not Standing.PROPOSED:
            return False
        newest = self.states[0].spec
        moves = [(one["task"], one["to"]) for one in newest.get("moves") or ()]
        counts = {one["vertex"]: one["to"] for one in newest.get("replicas") or ()}
        weights = {(one["from"], one["to"]) for one in newest.get("weights") or ()}
        if (
            moves == [(m.task, m.target) for m in plan.moves]
            and counts == dict(plan.replicas)
            and weights == {(edge.source, edge.target) for edge in plan.weights}
        ):
            return True
        return self.world.now_s - epoch_s(newest["decidedAt"]) < _REPROPOSE_S

    def _scale(self, vertex: Object, replicas: int) -> None:
        """Through the scale subresource, as anybody else would; bounds are checked there."""
        metadata = vertex["metadata"]
        try:
            self.client.merge(
                STREAM_VERTICES,
                metadata["namespace"],
                metadata["name"],
                {"spec": {"replicas": replicas}},
                subresource="scale",
                resource_version=metadata["resourceVersion"],
            )
        except Conflict:
            return  # Somebody else has changed it since; the next turn sees what.

    def _note(
        self, state: PlanState, standing: Standing, message: str, *, done: int | None = None
    ) -> None:
        """Write down where a plan stands, if that is news."""
        at = timestamp(self.world.now_s)
        before = state.status
        condition = Condition(
            kind="Applied",
            status=standing is Standing.APPLIED,
            reason=str(standing),
            message=message,
        )
        status = {
            "conditions": merged_conditions(
                before.get("conditions") or (), (condition,), generation=1, at=at
            ),
            "stepsTotal": state.total,
        }
        if done is not None:
            status["stepsDone"] = done
            status["startedAt"] = before.get("startedAt") or at
        if standing is Standing.APPLIED:
            status["appliedAt"] = at
        if all(before.get(key) == value for key, value in status.items()):
            return
        self._write(state, status)

    def _write(self, state: PlanState, status: Mapping[str, Any]) -> None:
        metadata = state.body["metadata"]
        self.client.merge(
            STREAM_PLANS,
            metadata["namespace"],
            metadata["name"],
            {"status": status},
            subresource="status",
            uid=metadata["uid"],
        )

    def _forget(self, state: PlanState) -> None:
        metadata = state.body["metadata"]
        self.client.delete(
            STREAM_PLANS, metadata["namespace"], metadata["name"], uid=metadata["uid"]
        )


def summary_of(plan: Plan) -> str:
    """The plan in one line, as the table shows it."""
    said = [reason.message for reason in plan.reasons if reason.code in _CHANGES]
    return "; ".join(said) or f"{len(plan.moves)} tasks move"
