"""What one topology's measurements say, and what could be better because of them."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from thalweg_operator.act.plans import PlanState
from thalweg_operator.api.topology import Mode
from thalweg_operator.condensing import Reading
from thalweg_operator.deciding import Situation, domain_of
from thalweg_operator.improving import Improvement, improve, limits_of
from thalweg_operator.naming import TaskKey
from thalweg_operator.observe.eligibility import is_eligible
from thalweg_operator.observe.measured import Measured, measured_for
from thalweg_operator.observe.world import TopologyFacts
from thalweg_operator.report.conditions import Condition
from thalweg_operator.report.measuring import figures, metrics_available, planning_conditions
from thalweg_operator.report.status import Outcome, timestamp
from thalweg_scheduling.model.memory import Memory


@dataclass(kw_only=True)
class Bettering:
    """The matrices of one topology, in the order of its tasks."""

    facts: TopologyFacts
    reading: Reading | None
    situation: Situation
    memory: Memory | None = None
    """What the last decision about this topology handed over."""

    def __post_init__(self) -> None:
        """Find the topology's part of the matrices."""
        tasks = [task.name for task in self._tasks()]
        nodes, label = self.situation.nodes, self.situation.spec.placement.domain_label
        domains = {name: domain_of(nodes[name], label) for name in sorted(nodes)}
        matrices = None if self.reading is None else self.reading.matrices
        key = (self.facts.namespace, self.facts.name)
        self.measured: Measured = measured_for(matrices, key, tasks, domains)

    def is_at_rest(self, outcome: Outcome) -> bool:
        """Whether nothing is under way: only then is it clear what a change would do."""
        spec = self.situation.spec
        modes = (spec.placement.mode, spec.scaling.mode, spec.grouping_mode)
        if spec.suspend or all(mode is Mode.OFF for mode in modes):
            return False
        surveys = self.situation.surveys.values()
        busy = any(one.needs or one.retire or one.delete or one.disrupted for one in surveys)
        return self.reading is not None and not busy and not outcome.missing

    def improve(self, plans: Iterable[PlanState], *, look_for_moves: bool) -> Improvement:
        """Ask the planner."""
        return improve(
            self.situation,
            self.measured,
            plans,
            memory=self.memory,
            look_for_moves=look_for_moves,
            scaled_by_others=tuple(self.facts.scaled_by_others),
        )

    @property
    def where(self) -> dict[str, str]:
        """The node of each task that is served."""
        return {
            task.name: pod.node
            for survey in self.situation.surveys.values()
            for task, pod in survey.serving.items()
            if pod.node is not None
        }

    def conditions(self, improvement: Improvement | None) -> tuple[Condition, ...]:
        """What people and other programs should know about measuring and planning."""
        situation = self.situation
        available = metrics_available(
            self.measured,
            limits_of(situation.spec, situation.now_s).trust,
            situation.now_s,
            trouble="" if self.reading is None else self.reading.trouble,
            has_source=self.reading is not None,
        )
        return (available, *planning_conditions(improvement))

    def figures(self) -> dict[str, Any] | None:
        """What the table shows."""
        label = self.situation.spec.placement.domain_label
        where = {
            task: domain_of(node, label)
            for survey in self.situation.surveys.values()
            for task, pod in survey.serving.items()
            if (node := self.situation.nodes.get(pod.node or "")) is not None
        }
        usable = [
            node
            for node in self.situation.nodes.values()
            if any(
                is_eligible(vertex.template["spec"], node, domain_label=label)
                for vertex in self.situation.spec.vertices
            )
        ]
        return figures(
            self.measured,
            [where.get(task, "") for task in self._tasks()],
            awake=sum(node.is_ready for node in usable),
            nodes=len(usable),
            at=timestamp(self.situation.now_s),
        )

    def _tasks(self) -> list[TaskKey]:
        return [
            TaskKey(vertex=vertex.name, index=index)
            for vertex in self.situation.spec.vertices
            for index in range(self.situation.replicas[vertex.name])
        ]
