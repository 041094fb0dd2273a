"""Tasks of one node into processes, those that exchange most first: within a process a tuple is
handed over in memory.
"""

import numpy as np

from thalweg_scheduling.measure.amounts import CPU, amounts
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.proposal import separate_processes

CORES_PER_PROCESS = 1.0
"""A Python process has one core, however many tasks it hosts."""


def paired(problem: Problem, node: Ints, tasks_per_process: int) -> Ints:
    """A process for each task; where the user allows it, the heaviest pairs of a node share one.

    Tasks that may not move keep the process that they are in; others may join it. Processes are
    numbered by their first task.
    """
    snapshot = problem.snapshot
    process = separate_processes(len(node))
    if not snapshot.limits.placement.shared_processes:
        return process
    keep_present(problem, process)
    size = np.bincount(process, minlength=len(node))
    cores = cores_of(snapshot)
    busy = np.bincount(process, cores, minlength=len(node))
    rates = problem.rates
    together = (node[rates.source] == node[rates.target]) & (node[rates.source] != UNPLACED)
    joined: set[int] = {int(each) for each in process[~problem.movable]}
    for pair in _heaviest_first(problem, together):
        one, two = int(process[pair[0]]), int(process[pair[1]])
        if one == two or size[one] + size[two] > tasks_per_process:
            continue
        if busy[one] + busy[two] > CORES_PER_PROCESS or {one, two} <= joined:
            continue
        process[process == max(one, two)] = min(one, two)
        size[min(one, two)] = size[one] + size[two]
        busy[min(one, two)] = busy[one] + busy[two]
        if one in joined or two in joined:
            joined.add(min(one, two))
    return process


def keep_present(problem: Problem, process: Ints) -> None:
    """Who stays, stays in the process where it is."""
    present = problem.snapshot.process
    if present is None:
        return
    first: dict[int, int] = {}
    for task in np.flatnonzero(~problem.movable):
        process[task] = first.setdefault(int(present[task]), int(task))


def _heaviest_first(problem: Problem, together: Ints) -> list[tuple[int, int]]:
    rates = problem.rates
    source, target = rates.source[together], rates.target[together]
    order = np.lexsort((target, source, -rates.per_s[together]))
    return [(int(source[each]), int(target[each])) for each in order]


def cores_of(snapshot: Snapshot) -> Floats:
    """Shape (tasks,): the cores that each task uses, 0 where nothing is known of processors."""
    known = amounts(snapshot)
    if CPU not in known.words:
        return np.zeros(len(snapshot.placement))
    return known.used[:, known.words.index(CPU)]
