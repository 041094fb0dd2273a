"""Md-Stream: a multi-domain cooperative scheduling framework (FGCS 2026).

Tasks that depend on each other are drawn into blocks, blocks that depend on each other into one
node or at least one domain; busy vertices get more tasks, idle ones fewer; idle nodes may sleep.

| paper | here |
| --- | --- |
| Eq 3 ds = de · atr | `measure.rates.search_rates`, `partition.dependencies.dependencies` |
| Eq 4, 5 cut between blocks | `Dependencies.cut` |
| Eq 6–10 resources of a task, of a block | `measure.amounts`: measured of each task |
| Eq 11, 12 Irl, Orl | `scale.parallelism_update.busiest_share` |
| Algorithm 1, Kahn's order by lot | `partition.topological.topological_order` |
| initial blocks | `partition.topological.consecutive_blocks` |
| Eq 13–15 gain | `partition.division.Division.gain` |
| AcyclicCheck | `Division.may_move` |
| balance constraint, Lmax | `partition.acyclic.heaviest_allowed` |
| Eq 16 number of blocks | `blocks_needed` |
| Algorithm 2, KFM | `partition.acyclic.acyclic_blocks` |
| Eq 17, Algorithm 3, blocks to nodes | `place.multi_domain.allocate` |
| blocks are slots, slots are processes | `place.hosting.hosted` |
| Eq 18, Algorithm 4, parallelism | `scale.parallelism_update.update_parallelism` |
| idle nodes hibernate (end of 5.5) | `hibernate.decide_asleep`, after all topologies |

Deviations:

- (16) as printed is the number of tasks in a slot; the number of blocks is all tasks over that.
- Eq 6–8 share out what a node uses by tuples; here each task's own use is measured, or requested.
- Blocks that no node takes within μ are placed task by task, where they cost least: a topology
  that fits is never left out for the sake of μ or of a block.
- The operator does not keep when a topology began: after a restart its oldest pod tells, which is
  younger where all have been moved. So a restart may make it settle once more, never too early.
- The wake rule of a sleeping node is ours; the paper has none.
- What the blocks leave to choose is told in their own modules.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from thalweg_scheduling.measure.amounts import CPU, MEMORY, amounts
from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.acyclic import Refinement, acyclic_blocks
from thalweg_scheduling.partition.dependencies import dependencies
from thalweg_scheduling.place.hosting import hosted
from thalweg_scheduling.place.multi_domain import Allotment, allocate
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.settling import settle
from thalweg_scheduling.scale.parallelism_update import Elasticity, update_parallelism
from thalweg_scheduling.strategies.ranges import within
from thalweg_scheduling.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class MdParameters:
    """The paper's parameters; where it is silent, ours."""

    cpu_weight: float = 0.5
    """α of Eq 9, from 0 to 1; not stated in the paper."""
    margin: float = 0.7
    """μ, from 0.05 to 1."""
    slots_per_node: int = 2
    """Num_slot, from 1 to 64; not stated."""
    refinement: Refinement = field(default_factory=Refinement)
    """χ from 0 to 1 and τ from 1 to 1000 (neither stated), rounds from 0 to 1000."""
    elasticity: Elasticity = field(default_factory=Elasticity)
    """Orl_min < Orl_max ≤ 1, SL_max and Time_stability at least 0, ω from 0 to 10 times PD."""

    def __post_init__(self) -> None:
        within("cpu_weight", self.cpu_weight, 0, 1)
        within("margin", self.margin, 0.05, 1)
        within("slots_per_node", self.slots_per_node, 1, 64)
        within("refinement.imbalance", self.refinement.imbalance, 0, 1)
        within("refinement.restarts", self.refinement.restarts, 1, 1000)
        within("refinement.rounds", self.refinement.rounds, 0, 1000)
        within("elasticity.most_busy", self.elasticity.most_busy, 0.01, 1)
        within("elasticity.least_busy", self.elasticity.least_busy, 0, self.elasticity.most_busy)
        within("elasticity.most_latency_s", self.elasticity.most_latency_s, 0, np.inf)
        within("elasticity.settling_s", self.elasticity.settling_s, 0, np.inf)
        within("elasticity.damping", self.elasticity.damping, 0, 10)


PUBLISHED = MdParameters()


def place_md(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,
    parameters: MdParameters = PUBLISHED,
) -> Proposal:
    """Algorithms 1 to 3: tasks into blocks, blocks to nodes."""
    problem = problem_of(snapshot, movable)
    weight, capacity = _weights(snapshot, parameters.cpu_weight)
    graph = dependencies(problem.rates, weight, movable)
    blocks = blocks_needed(graph.weight, capacity, parameters)
    block = np.full(len(movable), UNPLACED, dtype=np.int64)
    block[movable] = acyclic_blocks(graph, blocks, rng, parameters.refinement)
    wish = allocate(
        problem,
        Allotment(block=block, weight=weight, capacity=capacity, margin=parameters.margin),
    )
    node = settle(problem, wish)
    share = graph.cut(block[movable]) / max(float(graph.strength.sum()), 1e-300)
    note = f"{blocks} blocks, {100 * share:.0f} % of the traffic between them"
    return replace(proposed(snapshot, node, (note,)), process=hosted(problem, node, block))


def blocks_needed(weight: Floats, capacity: Floats, parameters: MdParameters) -> int:
    """Eq 16: as many blocks as slots of the largest node, filled to μ, hold all tasks."""
    largest = float(capacity.max(initial=0.0))
    slot = parameters.margin * largest / parameters.slots_per_node
    if slot <= 0:
        return 1
    wanted = int(np.ceil(float(weight.sum()) / slot - 1e-9))
    return int(np.clip(wanted, 1, max(1, len(weight))))


def _weights(snapshot: Snapshot, cpu_weight: float) -> tuple[Floats, Floats]:
    """Eq 9 for every task and every node, as shares of the largest node."""
    known = amounts(snapshot)
    largest = np.maximum(known.there, 0.0).max(axis=0, initial=0.0)
    return known.weighted_by({CPU: cpu_weight, MEMORY: 1 - cpu_weight}, largest)


def md_stream(parameters: MdParameters = PUBLISHED) -> Strategy:
    """The strategy with other parameters than these."""
    return Strategy(
        place=partial(place_md, parameters=parameters),
        scale=partial(update_parallelism, how=parameters.elasticity),
    )


MD_STREAM = md_stream()
