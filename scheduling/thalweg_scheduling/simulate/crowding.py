"""How tasks that share a node, or a process, slow each other down."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate.parameters import Parameters
from thalweg_scheduling.simulate.queueing import slowdown


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Who runs beside whom. Tasks without a node have NaN everywhere."""

    node: Ints
    process: Ints
    """Shape (tasks,): positions of processes, numbered from 0 without gaps."""
    cores: Floats
    """Shape (nodes,)."""
    idle_cores: Floats
    """Shape (nodes,): what processes and the node itself take while nothing flows."""
    process_cores: Floats
    """Shape (processes,): what each process may use."""
    runners: Floats
    """Shape (nodes,): the most cores that what is there could use at a time."""

    @staticmethod
    def of(cores: Floats, node: Ints, process: Ints, parameters: Parameters) -> "Crowd":
        """Count what runs where."""
        numbers, first, position = np.unique(process, return_index=True, return_inverse=True)
        host = node[first]
        hosted = np.bincount(host[host != UNPLACED], minlength=len(cores))
        idle = parameters.process_overhead_cores * hosted.astype(np.float64)
        idle[hosted > 0] += parameters.node_overhead_cores
        # A process has no more cores than its node; that of a task without a node is unknown.
        usable = np.minimum(
            parameters.process_cores, np.maximum(1.0, np.append(cores, np.nan)[host])
        )
        most = np.minimum(usable, np.bincount(position.reshape(-1), minlength=len(numbers)))
        runners = np.zeros(len(cores))
        np.add.at(runners, host[host != UNPLACED], most[host != UNPLACED])
        return Crowd(
            node=node,
            process=position.reshape(len(process)),
            cores=cores,
            idle_cores=idle,
            process_cores=usable,
            runners=runners,
        )

    def on_nodes(self, load: Floats) -> Floats:
        """Shape (nodes,): cores in use when each task uses `load`."""
        placed = self.node != UNPLACED
        used = np.array(self.idle_cores)
        np.add.at(used, self.node[placed], load[placed])
        return used

    def in_processes(self, load: Floats) -> Floats:
        """Shape (processes,): the same for processes."""
        used = np.zeros(len(self.process_cores))
        np.add.at(used, self.process, load)
        return used

    def slowdown(self, load: Floats) -> Floats:
        """Shape (tasks,): how much longer each task takes than alone on a core of its own.

        A node with less than one core is a slow core. Nobody waits for a core, of a node or of a
        process, where there are as many cores as could be used at a time. Node and process are two
        doors one after the other; the narrower one counts.
        """
        # What a task without a node has is the last entry: nothing known.
        cores = np.append(self.cores, np.nan)[self.node]
        used = np.append(self.on_nodes(load), np.nan)[self.node]
        servers, speed = np.maximum(1.0, cores), np.minimum(1.0, cores)
        beside = (used - load) / speed
        roomy = np.append(self.runners <= self.cores - self.idle_cores, False)[self.node]
        by_node = np.where(roomy, 1.0, slowdown(servers, np.maximum(0.0, beside)) / speed)
        narrower: Floats = np.maximum(by_node, self._slowdown_inside(load))
        return narrower

    def _slowdown_inside(self, load: Floats) -> Floats:
        """Shape (tasks,): what the others of its process cost each."""
        tasks = np.bincount(self.process, minlength=len(self.process_cores))
        crowded = (tasks > self.process_cores)[self.process]
        slower = np.ones(len(load))
        # Mostly nobody is, and this is asked for in every step.
        if crowded.any():
            inside = (self.in_processes(load)[self.process] - load)[crowded]
            cores = self.process_cores[self.process[crowded]]
            slower[crowded] = slowdown(cores, np.maximum(0.0, inside))
        return slower

    def worst_slowdown(self) -> Floats:
        """Shape (tasks,): the same beside others that never rest; cores are shared evenly."""
        tasks = np.bincount(self.process, minlength=len(self.process_cores))
        by_node = self.runners / np.maximum(0.0, self.cores - self.idle_cores)
        by_process = tasks / self.process_cores
        worst: Floats = np.maximum(np.append(by_node, np.nan)[self.node], by_process[self.process])
        return np.maximum(1.0, worst)


def cores_of(snapshot: Snapshot) -> Floats:
    """Shape (nodes,): the cores that this topology may use; NaN where nobody said."""
    if "cpu" not in snapshot.resources:
        return np.full(len(snapshot.nodes), np.nan)
    return np.maximum(0.0, snapshot.capacity[:, snapshot.resources.index("cpu")])
