"""What a strategy does while a run goes on: when it looks, when it places anew, and by what.

Auto decides as the operator would. A paper's strategy places everything anew: on its own occasion
where it has one (Hd-Stream), else where the stream has changed by a tenth, since no paper says
when. Shares follow at every look, and go along with the moves.
"""

from dataclasses import replace
from types import MappingProxyType

import numpy as np

from bench.papers.setting import Setting
from bench.papers.systems import Kind, System, by_traffic, in_turn, keeps_slots
from thalweg_scheduling.decide import assignments_of, decide
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import NOTHING_TO_DO, NOTHING_TO_MOVE, Move, Plan
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.strategies import strategy_named

CHANGED = 0.1


class Following:
    """A strategy that follows the stream."""

    def __init__(self, system: System, setting: Setting) -> None:
        """Nothing was placed by any stream yet."""
        self._system, self._setting = system, setting
        self._strategy = strategy_named(system.name)
        self._placed_by = 0.0
        """The stream by which tasks were last placed, tuples/s."""

    def __call__(self, snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan:
        """The plan of one look."""
        name, permits = self._system.name, snapshot.limits.permits
        if self._system.kind is Kind.OURS or snapshot.unplaced.size:
            return self._in_slots(snapshot, decide(snapshot, name, now_s=now_s, rng=rng))
        only = replace(snapshot.limits, permits=replace(permits, move=False))
        plan = decide(replace(snapshot, limits=only), name, now_s=now_s, rng=rng)
        if plan.replicas:
            # The tasks that come are placed beside the others; then all are placed anew.
            self._placed_by = 0.0
            return plan
        if self._system.deploys_once or not self._is_occasion(snapshot):
            return plan
        placed = self._anew(snapshot, plan, rng)
        remember = self._strategy.remember
        if remember is None or placed is plan:
            return placed
        return replace(
            placed, memory=remember(snapshot, placed.memory or Memory(at_s=now_s), placed)
        )

    def _is_occasion(self, snapshot: Snapshot) -> bool:
        """Whether to place anew, by the strategy's own rule if it has one."""
        if self._strategy.hesitate is not None:
            return self._strategy.hesitate(snapshot) is None
        flows = 0.0 if snapshot.traffic is None else float(snapshot.traffic.tuples_per_s.sum())
        if abs(flows - self._placed_by) <= CHANGED * self._placed_by or flows <= 0:
            return False
        self._placed_by = flows
        return True

    def _anew(self, snapshot: Snapshot, plan: Plan, rng: np.random.Generator) -> Plan:
        everyone = np.ones(len(snapshot.placement), dtype=np.bool_)
        proposal = self._strategy.place(snapshot, movable=everyone, rng=rng)
        if proposal.missing:
            return plan
        moves = tuple(
            Move(task=task, source=snapshot.nodes[a], target=snapshot.nodes[b])
            for task, a, b in zip(
                snapshot.task_names, snapshot.placement, proposal.node, strict=True
            )
            if a != b
        )
        processes = dict(zip(snapshot.task_names, proposal.process.tolist(), strict=True))
        placed = Plan(
            strategy=self._system.name,
            assignments=assignments_of(snapshot, proposal.node),
            processes=MappingProxyType(processes),
            moves=moves,
            weights=self._strategy.weigh(snapshot, proposal.node, proposal.process),
            reasons=(NOTHING_TO_DO if moves else NOTHING_TO_MOVE,),
            memory=plan.memory,
        )
        return self._in_slots(snapshot, placed)

    def _in_slots(self, snapshot: Snapshot, plan: Plan) -> Plan:
        """The same with processes as the setting allows them."""
        position = {name: place for place, name in enumerate(snapshot.nodes)}
        if plan.replicas or len(plan.assignments) != len(snapshot.task_names):
            return plan
        node = np.array([position[plan.assignments[name]] for name in snapshot.task_names])
        replicas = {vertex.name: vertex.replicas for vertex in snapshot.vertices}
        setting = self._setting.with_replicas(replicas)
        process = np.array([plan.processes.get(name, -1) for name in snapshot.task_names])
        if not plan.processes:
            return plan
        if self._system.in_turn:
            slots = in_turn(setting, node).tolist()
        elif keeps_slots(setting, node, process):
            return plan
        else:
            slots = by_traffic(setting, node, snapshot).tolist()
        return replace(
            plan,
            processes=MappingProxyType(dict(zip(snapshot.task_names, slots, strict=True))),
        )
