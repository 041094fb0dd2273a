"""Groups of tasks into processes: who belongs together and is on one node shares a process.

A Python process has one core: a group that uses more is given several processes.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.pairing import CORES_PER_PROCESS, cores_of, keep_present
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.proposal import separate_processes


def hosted(problem: Problem, node: Ints, group: Ints) -> Ints:
    """A process for each task, numbered by its first; each its own where none may be shared.

    Tasks that may not move keep the process that they are in.
    """
    snapshot = problem.snapshot
    process = separate_processes(len(node))
    if not snapshot.limits.placement.shared_processes:
        return process
    cores = cores_of(snapshot)
    first: dict[tuple[int, int], int] = {}
    used: dict[int, float] = {}
    for task in np.flatnonzero(problem.movable & (node != UNPLACED)).tolist():
        key = int(group[task]), int(node[task])
        host = first.get(key, task)
        if host != task and used[host] + cores[task] > CORES_PER_PROCESS:
            host = task
        first[key] = host
        used[host] = used.get(host, 0.0) + float(cores[task])
        process[task] = host
    keep_present(problem, process)
    return process
