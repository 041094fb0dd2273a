"""RaStream: as few nodes as the stream needs, and tasks that talk much in one process.

Fan et al., "A fine-grained task scheduling strategy for resource auto-scaling over fluctuating data
streams", FGCS 2025.

| paper | here |
| --- | --- |
| Eq 1–2 transmission rates | `Snapshot.traffic`, condensed with the trimmed mean |
| Eq 3–6, 10–11 resources of tasks and subgraphs | `measure.amounts`, `Amounts.weighted_by` |
| Eq 9, 16–19 objective | `partition.annealed_subgraphs.cost_of` |
| Alg 1, Eq 20 subgraphs by annealing | `partition.annealed_subgraphs.anneal_into_subgraphs` |
| Eq 21, Alg 2 resource scaling | `scale.merging.merged_and_relieved` |
| Eq 12–15, Alg 3 line 1–4 fittest node | `place.fitness.place_subgraphs` |
| Alg 3 line 5–8, Eq 22–23 pairs in processes | `place.pairing.paired` |

What is different here, and why:

- Eq 1 divides by the number of samples that are left, since two were taken out.
- Eq 3–5 are not needed: what a task uses is measured, or else requested.
- Eq 13 tests every resource that the snapshot names, and whether the tasks may be on the node.
- Eq 19 divides σ by the mean share of a subgraph: undivided it is no ratio, and divided by all
  traffic its minimum is one subgraph with everything in it.
- Eq 20 has the sign that makes a worse partition less likely, and the best one seen is returned.
- Temperatures are in units of a task's mean share of the objective: else nothing ever freezes
  where there are more than a few dozen tasks.
- Alg 2 puts a merged subgraph back while it is underloaded, drops a finished one from X, and stops
  where no partner is left; pairs alone never get from 14 nodes to the paper's 5. An underloaded one
  without partner whose tasks all find room elsewhere is dealt out.
- Alg 3 takes the largest subgraph first and the cheapest of equally fit nodes; what then does not
  fit goes, task by task, where it costs least.
- Tasks that may not move stay in the subgraph of their node.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from thalweg_scheduling.measure.amounts import CPU, MEMORY, NETWORK, amounts
from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.annealed_subgraphs import Annealing, anneal_into_subgraphs
from thalweg_scheduling.place.fitness import Fitness, Surplus, place_subgraphs
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.pairing import paired
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.settling import settle
from thalweg_scheduling.scale.merging import Subgraphs, Thresholds, merged_and_relieved
from thalweg_scheduling.strategies.ranges import within
from thalweg_scheduling.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class RaParameters:
    """The paper's Table 4, and what it does not state."""

    cpu_weight: float = 0.50
    """α of Eq 6, from 0 to 1."""
    memory_weight: float = 0.35
    """β of Eq 6, from 0 to 1; what is left of 1 is for the network."""
    cut_weight: float = 0.70
    """ε of Eq 19, from 0 to 1."""
    cooling: float = 0.99
    """ζ of Alg 1, from 0.5 to 0.9999."""
    spare_cpu_weight: float = 0.50
    """γ of Eq 15, from 0 to 1."""
    spare_memory_weight: float = 0.35
    """δ of Eq 15, from 0 to 1."""
    underload: float = 0.60
    """T_under of Eq 21, from 0 to `overload`."""
    overload: float = 0.75
    """T_over of Eq 21, from `underload` to 1."""
    first_heat: float = 1.0
    """T₀ of Alg 1, from 1e-6 to 1e6; not stated."""
    last_heat: float = 1e-3
    """T_f of Alg 1, from 1e-9 to `first_heat`; not stated."""
    tries_per_task: int = 10
    """max_iter of Alg 1 for each task, from 1 to 10,000; not stated."""
    tasks_per_process: int = 2
    """From 1 to 1,000."""

    def __post_init__(self) -> None:
        for name in ("cpu_weight", "memory_weight", "cut_weight"):
            within(name, getattr(self, name), 0, 1)
        for name in ("spare_cpu_weight", "spare_memory_weight"):
            within(name, getattr(self, name), 0, 1)
        within("cooling", self.cooling, 0.5, 0.9999)
        within("overload", self.overload, 0, 1)
        within("underload", self.underload, 0, self.overload)
        within("first_heat", self.first_heat, 1e-6, 1e6)
        within("last_heat", self.last_heat, 1e-9, self.first_heat)
        within("tries_per_task", self.tries_per_task, 1, 10_000)
        within("tasks_per_process", self.tasks_per_process, 1, 1_000)
        within("cpu_weight + memory_weight", self.cpu_weight + self.memory_weight, 0, 1)
        spare = self.spare_cpu_weight + self.spare_memory_weight
        within("spare_cpu_weight + spare_memory_weight", spare, 0, 1)

    @property
    def annealing(self) -> Annealing:
        """What Alg 1 needs of it."""
        return Annealing(
            cut_weight=self.cut_weight,
            first_heat=self.first_heat,
            last_heat=self.last_heat,
            cooling=self.cooling,
            tries_per_task=self.tries_per_task,
        )


TABLE_4 = RaParameters()


def place_ra(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,
    parameters: RaParameters = TABLE_4,
) -> Proposal:
    """Partition, scale, schedule: Algorithms 1, 2 and 3."""
    problem = problem_of(snapshot, movable)
    nodes = len(snapshot.nodes)
    if nodes == 0 or not movable.any():
        return proposed(snapshot, np.where(movable, UNPLACED, snapshot.placement))
    of = anneal_into_subgraphs(
        problem.rates,
        _first_partition(problem),
        nodes,
        movable=movable,
        annealing=parameters.annealing,
        rng=rng,
    )
    of = _scaled(problem, of, parameters)
    node = settle(problem, place_subgraphs(problem, of, _surplus(snapshot, parameters)))
    process = paired(problem, node, parameters.tasks_per_process)
    note = f"{len(np.unique(of))} subgraphs for {nodes} nodes"
    return replace(proposed(snapshot, node, (note,)), process=process)


def _first_partition(problem: Problem) -> Ints:
    """As many subgraphs as nodes, dealt in turn; who may not move is in that of its node."""
    placement = problem.snapshot.placement
    stays = ~problem.movable & (placement != UNPLACED)
    dealt = np.arange(len(placement)) % len(problem.snapshot.nodes)
    return np.where(stays, placement, dealt)


def _scaled(problem: Problem, of: Ints, parameters: RaParameters) -> Ints:
    """Algorithm 2."""
    weights = _weights(parameters.cpu_weight, parameters.memory_weight)
    known = amounts(problem.snapshot)
    load, _ = known.weighted_by(weights, _mean_node(known.there))
    surplus = Surplus(task=load, node=np.zeros(len(problem.snapshot.nodes)))
    empty = Fitness(problem, surplus)
    return merged_and_relieved(
        Subgraphs(of=of, most=len(surplus.node), load=load, movable=problem.movable),
        Thresholds(under=parameters.underload, over=parameters.overload),
        Neighbours(problem),
        lambda tasks: bool(empty.able(tasks).any()),
    )


def _surplus(snapshot: Snapshot, parameters: RaParameters) -> Surplus:
    """Eq 15 in units of a mean node."""
    weights = _weights(parameters.spare_cpu_weight, parameters.spare_memory_weight)
    known = amounts(snapshot)
    task, node = known.weighted_by(weights, _mean_node(known.there))
    return Surplus(task=task, node=node)


def _weights(cpu: float, memory: float) -> dict[str, float]:
    return {CPU: cpu, MEMORY: memory, NETWORK: 1.0 - cpu - memory}


def _mean_node(there: Floats) -> Floats:
    mean: Floats = np.maximum(there, 0.0).mean(axis=0)
    return mean


def ra_stream(parameters: RaParameters = TABLE_4) -> Strategy:
    """The strategy with other parameters than these."""
    return Strategy(place=partial(place_ra, parameters=parameters))


RA_STREAM = ra_stream()
