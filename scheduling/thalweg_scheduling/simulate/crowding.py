"""How tasks that share a node, or a process, slow each other down."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate.parameters import Parameters
from thalweg_scheduling.simulate.queueing import slowdown

_TINY = 1e-300
"""What is divided by instead of nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Crowd:
    """Who runs beside whom. Tasks without a node have NaN everywhere."""

    node: Ints
    process: Ints
    """Shape (tasks,): positions of processes, numbered from 0 without gaps."""
    host: Ints
    """Shape (processes,): the node of each process."""
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
            host=host,
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
        cores = np.append(np.maximum(0.0, self.cores - self.idle_cores), np.nan)[self.node]
        used = np.append(self.on_nodes(load) - self.idle_cores, np.nan)[self.node]
        servers, speed = np.maximum(1.0, cores), np.minimum(1.0, cores)
        beside = np.maximum(0.0, used - load)
        slower = slowdown(servers, beside / speed, self._several(load, beside)) / speed
        roomy = np.append(self.runners, np.nan)[self.node] <= cores
        narrower: Floats = np.maximum(np.where(roomy, 1.0, slower), self._slowdown_inside(load))
        return narrower

    def _several(self, load: Floats, beside: Floats) -> Floats:
        """Shape (tasks,): how many the others on its node are, the busy ones first of all.

        A process that is full runs no more tasks at a time than it has cores.
        """
        cores, mates = self.process_cores[self.process], self.in_processes(load)
        squares = self.in_processes(load**2)
        heavy = np.maximum(squares, mates**2 / self.process_cores)
        placed = self.host != UNPLACED
        on_node = np.zeros(len(self.cores) + 1)
        np.add.at(on_node, self.host[placed], heavy[placed])
        without = np.maximum(
            squares[self.process] - load**2, (mates[self.process] - load) ** 2 / cores
        )
        others = on_node[self.node] - heavy[self.process] + without
        return _as_many(beside, others)

    def _slowdown_inside(self, load: Floats) -> Floats:
        """Shape (tasks,): what the others of its process cost each."""
        tasks = np.bincount(self.process, minlength=len(self.process_cores))
        crowded = (tasks > self.process_cores)[self.process]
        slower = np.ones(len(load))
        # Mostly nobody is, and this is asked for in every step.
        if crowded.any():
            inside = np.maximum(0.0, self.in_processes(load)[self.process] - load)[crowded]
            squares = (self.in_processes(load**2)[self.process] - load**2)[crowded]
            cores = self.process_cores[self.process[crowded]]
            slower[crowded] = slowdown(cores, inside, _as_many(inside, squares))
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


def _as_many(load: Floats, squares: Floats) -> Floats:
    """(Σ load)² / Σ load²: n for n equal ones, less where some have most of the load."""
    return np.where(load > 0, load**2 / np.maximum(squares, _TINY), np.inf)
