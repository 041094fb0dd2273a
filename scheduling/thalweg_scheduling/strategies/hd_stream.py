"""HdStream: groups of nodes that are near each other, and tasks that go over to where they talk.

Fan et al., "Hierarchical dependency-aware scheduling for distributed stream computing systems".

| paper | here |
| --- | --- |
| Eq 1 dependency of tasks | `Snapshot.traffic`, `place.neighbours.Neighbours` |
| X, communication cost of nodes | `Snapshot.node_cost_s`, measured where it could be |
| Eq 2 K-means | `partition.resource_groups.clustered` |
| Eq 3 SSE, elbow | `partition.resource_groups.squared_error`, `elbow` |
| Algorithm 1, VRNs | `partition.resource_groups.grouped_nodes` |
| Algorithm 1, their sequence | `partition.resource_groups.group_sequence` |
| Eq 4–5 fluctuation | `measure.fluctuation.fluctuation` |
| scheduling trigger | `wait_for_fluctuation`, `remember_surroundings` |
| Eq 6–8 migration benefit | `place.boundary.Boundary` |
| Algorithm 2, boundary migration | `place.boundary.Boundary.migrate` |

What is different here, and why:

- Tasks are placed anew where Δ > ψ; the text has it reversed.
- Δ compares with what tasks were last placed by, not with the window before: windows overlap, and a
  network that slowly gets worse would never show.
- A changed stream counts like a changed network. In the paper's runs the stream rises and tasks are
  placed anew, which X alone would not show.
- Only what was done counts: moves that somebody still has to approve, or that J refuses, are asked
  for again.
- A first look is an occasion too, and a node that is overloaded or barred does not wait for one.
- How tasks get onto VRNs first is not said: along the stream they fill VRN after VRN of the
  sequence, in each the node that is used least.
- What is near without a neighbour in the sequence, or may not be where its VRN is, is put where it
  costs least (`place.settling`).
- Tasks of a node each have a process of their own, or share one where the user allows it: the paper
  has nothing on processes.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from thalweg_scheduling.measure.amounts import CPU, MEMORY, amounts
from thalweg_scheduling.measure.fluctuation import fluctuation, surroundings_of
from thalweg_scheduling.model.arrays import Bools
from thalweg_scheduling.model.memory import Memory, Proposed, Surroundings
from thalweg_scheduling.model.plan import NOTHING_TO_MOVE, Plan
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.resource_groups import group_sequence, grouped_nodes
from thalweg_scheduling.place.boundary import Boundary, Groups
from thalweg_scheduling.place.dealing import by_vertex_in_turn
from thalweg_scheduling.place.greedy import largest_first
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.settling import settle
from thalweg_scheduling.strategies.ranges import within
from thalweg_scheduling.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class HdParameters:
    """The paper states none of its parameters."""

    most_groups: int = 16
    """k_max, from 1 to 64; never more than one less than there are nodes."""
    tolerated: float = 0.3
    """ψ, from 0 to 10."""
    cpu_weight: float = 0.5
    """From 0 to 1: what processors count where resources are added up; memory has the rest."""

    def __post_init__(self) -> None:
        within("most_groups", self.most_groups, 1, 64)
        within("tolerated", self.tolerated, 0, 10)
        within("cpu_weight", self.cpu_weight, 0, 1)


CHOSEN = HdParameters()


def place_hd(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,
    parameters: HdParameters = CHOSEN,
) -> Proposal:
    """Algorithm 1, then Algorithm 2 from where tasks are now."""
    problem = problem_of(snapshot, movable)
    if not snapshot.nodes or not movable.any():
        return proposed(snapshot, np.where(movable, UNPLACED, snapshot.placement))
    groups = virtual_nodes(problem, rng, parameters)
    boundary = Boundary(problem, groups)
    boundary.keep(largest_first(problem))
    boundary.deal(by_vertex_in_turn(snapshot))
    went_over = boundary.migrate()
    node = settle(problem, boundary.node)
    note = f"{len(groups.sequence)} groups of nodes, {went_over} tasks went over"
    return proposed(snapshot, node, (note,))


def virtual_nodes(problem: Problem, rng: np.random.Generator, parameters: HdParameters) -> Groups:
    """Algorithm 1: the VRNs, from the one that has most left."""
    snapshot = problem.snapshot
    far_s = np.array(snapshot.node_cost_s)
    of = grouped_nodes(far_s, parameters.most_groups, rng)
    known = amounts(snapshot)
    mean = np.maximum(known.there, 0.0).mean(axis=0)
    weights = {CPU: parameters.cpu_weight, MEMORY: 1 - parameters.cpu_weight}
    weight, capacity = known.weighted_by(weights, mean)
    stays = ~problem.movable & (snapshot.placement != UNPLACED)
    taken = np.bincount(snapshot.placement[stays], weight[stays], minlength=len(capacity))
    sequence = group_sequence(far_s, of, np.maximum(capacity - taken, 0.0))
    return Groups(of=of, sequence=tuple(sequence), weight=weight, capacity=capacity)


def wait_for_fluctuation(snapshot: Snapshot, parameters: HdParameters = CHOSEN) -> Reason | None:
    """Eq 5: nothing is placed anew while the network and the stream are about what they were."""
    before = placed_by(snapshot)
    if before is None:
        return None
    change = fluctuation(before, surroundings_of(snapshot))
    if change > parameters.tolerated:
        return None
    return Reason(
        code=ReasonCode.WITHIN_TOLERANCE,
        message=f"network and stream changed by {100 * change:.0f} %; tasks are placed anew from "
        f"{100 * parameters.tolerated:.0f} % on",
    )


def placed_by(snapshot: Snapshot) -> Surroundings | None:
    """What tasks were placed by: the moves asked for last, if anything has moved since."""
    memory = snapshot.memory
    if memory is None:
        return None
    asked = memory.proposed
    if asked is not None and asked.last_moved_at_s != snapshot.last_moved_at_s:
        return asked.by
    return memory.placed_by


def remember_surroundings(
    snapshot: Snapshot, memory: Memory, plan: Plan, parameters: HdParameters = CHOSEN
) -> Memory:
    """What tasks are placed by, until that has changed enough for another look.

    Moves that are only proposed place nobody, and what J refuses may be worth it the next time.
    """
    before, now = placed_by(snapshot), surroundings_of(snapshot)
    if plan.moves and wait_for_fluctuation(snapshot, parameters) is None:
        asked = Proposed(by=now, last_moved_at_s=snapshot.last_moved_at_s)
        return replace(memory, placed_by=before, proposed=asked)
    if plan.reasons[0] is NOTHING_TO_MOVE:
        return replace(memory, placed_by=now, proposed=None)
    if before is not memory.placed_by:
        return replace(memory, placed_by=before, proposed=None)
    return memory


def hd_stream(parameters: HdParameters = CHOSEN) -> Strategy:
    """The strategy with other parameters than ours."""
    return Strategy(
        place=partial(place_hd, parameters=parameters),
        hesitate=partial(wait_for_fluctuation, parameters=parameters),
        remember=partial(remember_surroundings, parameters=parameters),
    )


HD_STREAM = hd_stream()
