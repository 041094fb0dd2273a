"""SgpStream: tasks streamed into processes, processes to the freest nodes; shares of edges and the
number of tasks follow the load.

Sun et al., "Sgp-Stream", Expert Systems with Applications 2024.

| paper | here |
| --- | --- |
| Eq 1–2 times and rates of vertices | wait and true rate as measured (`TaskLoad`) |
| Eq 3 transmission time | `measure.critical_path.transmission_s` |
| Eq 5–6 power of nodes | `measure.amounts`, `Amounts.weighted_by` |
| Eq 7–8, EST = LST critical path | `measure.critical_path.critical_vertices` |
| Eq 9–10 number and size of processes | `process_capacity`, `partition.streaming` |
| Eq 11–12, Alg 1 line 15–32 LDG | `partition.streaming.stream_into_processes` |
| Alg 1 line 33–36 processes to nodes | `place.fitness.place_subgraphs`, `place.hosting.hosted` |
| Eq 13–17, Alg 2 stream grouping | `group.weighted`, `group.weighing.weigh_by_load` |
| Eq 18–21, Alg 3 elastic scaling | `scale.gradient.descend` |

What is different here, and why:

- Eq 1 is busy time in a window and no latency; the path is weighed by wait and service.
- Eq 5–6 are shares of the largest node: cores and bytes cannot be added up otherwise.
- Eq 11 is 0 where no neighbour is placed; then the least loaded process is taken.
- Tasks come one of each vertex in turn, from the sources on, which the paper leaves open.
- Lines 6–12 of Alg 1 share the state of a vertex among its tasks; here key groups own it.
- A process takes only what some node can host, and one core where processes are shared; what then
  does not fit goes, task by task, where it costs least.
- The cool time of the weights is not ours to keep: the operator changes shares every 30 s at most.
- What grouping and scaling leave to choose is told in their own modules.
"""

from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from thalweg_scheduling.group.weighing import weigh
from thalweg_scheduling.group.weighted import WeightSteps
from thalweg_scheduling.measure.amounts import CPU, MEMORY, amounts
from thalweg_scheduling.model.arrays import Bools, Floats
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.partition.streaming import Sizes, stream_into_processes
from thalweg_scheduling.place.dealing import by_vertex_in_turn
from thalweg_scheduling.place.fitness import Surplus, place_subgraphs
from thalweg_scheduling.place.hosting import hosted
from thalweg_scheduling.place.problem import problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.settling import settle
from thalweg_scheduling.scale.gradient import Descent, descend
from thalweg_scheduling.strategies.ranges import within
from thalweg_scheduling.strategies.strategy import Strategy


@dataclass(frozen=True, slots=True, kw_only=True)
class SgpParameters:
    """The paper's parameters; but for the cool time it states none of them."""

    cpu_weight: float = 0.5
    """α of Eq 5, from 0 to 1."""
    slots_per_node: int = 2
    """Slot of Eq 10, from 1 to 64."""
    descent: Descent = field(default_factory=Descent)
    """θ_min < θ_max from 0.01 to 1, ξ from 0.01 to 10 times N, the cool time at least 0."""
    weights: WeightSteps = field(default_factory=WeightSteps)
    """λ and the initial weight W above 0, the least and the most weight around it."""

    def __post_init__(self) -> None:
        within("cpu_weight", self.cpu_weight, 0, 1)
        within("slots_per_node", self.slots_per_node, 1, 64)
        within("descent.most_busy", self.descent.most_busy, 0.01, 1)
        within("descent.least_busy", self.descent.least_busy, 0, self.descent.most_busy)
        within("descent.step", self.descent.step, 0.01, 10)
        within("descent.cool_time_s", self.descent.cool_time_s, 0, np.inf)


CHOSEN = SgpParameters()


def place_sgp(
    snapshot: Snapshot,
    *,
    movable: Bools,
    rng: np.random.Generator,  # noqa: ARG001
    parameters: SgpParameters = CHOSEN,
) -> Proposal:
    """Algorithm 1: tasks into processes, processes to nodes."""
    problem = problem_of(snapshot, movable)
    if not snapshot.nodes or not movable.any():
        return proposed(snapshot, np.where(movable, UNPLACED, snapshot.placement))
    known = amounts(snapshot)
    largest = np.maximum(known.there, 0.0).max(axis=0, initial=0.0)
    weights = {CPU: parameters.cpu_weight, MEMORY: 1 - parameters.cpu_weight}
    load, power = known.weighted_by(weights, largest)
    sizes = Sizes(
        load=load,
        capacity=process_capacity(power, parameters.slots_per_node),
        processes_per_node=parameters.slots_per_node,
    )
    process = stream_into_processes(problem, by_vertex_in_turn(snapshot), sizes)
    wish = place_subgraphs(problem, process, Surplus(task=load, node=power))
    node = settle(problem, wish)
    note = f"{len(np.unique(process))} processes of {sizes.capacity:.3g} of the largest node"
    return replace(proposed(snapshot, node, (note,)), process=hosted(problem, node, process))


def process_capacity(power: Floats, slots_per_node: int) -> float:
    """Eq 10: the mean power of a slot."""
    return float(power.mean()) / slots_per_node


def sgp_stream(parameters: SgpParameters = CHOSEN) -> Strategy:
    """The strategy with other parameters than ours."""
    return Strategy(
        place=partial(place_sgp, parameters=parameters),
        scale=partial(descend, how=parameters.descent),
        weigh=partial(weigh, steps=parameters.weights),
    )


SGP_STREAM = sgp_stream()
