"""J, by which every strategy is measured: the tuples that are under way at any moment.

J = Σ rate(u, v) · seconds(place(u), place(v)), with rate in tuples/s. Tasks of one process hand
over in memory, which costs nothing unless the user says so. Tasks without a node do not count.
"""

import numpy as np

from thalweg_scheduling.kernels import summing
from thalweg_scheduling.kernels.compiling import SUM_FROM, can_compile, compiled
from thalweg_scheduling.measure.distance import Distances, distances, seconds_between, ways_of
from thalweg_scheduling.measure.rates import Rates, flow_of, measured_rates
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot


def objective(snapshot: Snapshot, node: Ints, process: Ints | None = None) -> float:
    """J of a placement by what was measured, NaN where the traffic is unknown."""
    rates = measured_rates(snapshot)
    if rates is None:
        return float("nan")
    far = distances(snapshot)
    if process is None or len(np.unique(process)) == len(process):
        return objective_of(rates, far, node)
    both = _both_placed(rates, node)
    source, target = rates.source[both], rates.target[both]
    seconds = np.where(
        process[source] == process[target],
        snapshot.latency.classes.same_process_s,
        seconds_between(far, node[source], node[target]),
    )
    return float(rates.per_s[both] @ seconds)


def objective_of(rates: Rates, far: Distances, node: Ints) -> float:
    """J of a placement by the given rates, each task in a process of its own."""
    if len(rates.per_s) > SUM_FROM and can_compile():
        return float(compiled(summing).total(flow_of(rates), ways_of(far), np.array(node)))
    both = _both_placed(rates, node)
    source, target = rates.source[both], rates.target[both]
    return float(rates.per_s[both] @ seconds_between(far, node[source], node[target]))


def move_delta(rates: Rates, far: Distances, node: Ints, *, task: int, target: int) -> float:
    """How J changes if one task, in a process of its own, goes to another node."""
    mine = (rates.source == task) | (rates.target == task)
    part = Rates(source=rates.source[mine], target=rates.target[mine], per_s=rates.per_s[mine])
    moved = np.array(node)
    moved[task] = target
    return objective_of(part, far, moved) - objective_of(part, far, node)


def cross_domain_share(snapshot: Snapshot, node: Ints) -> float:
    """Share of the tuples that leave their domain, NaN where unknown or where none flow."""
    rates = measured_rates(snapshot)
    if rates is None:
        return float("nan")
    both = _both_placed(rates, node)
    total = float(rates.per_s[both].sum())
    if total <= 0:
        return float("nan")
    domain = snapshot.domain_of[node]
    apart = both & (domain[rates.source] != domain[rates.target])
    return float(rates.per_s[apart].sum()) / total


def _both_placed(rates: Rates, node: Ints) -> Bools:
    placed = node != UNPLACED
    both: Bools = placed[rates.source] & placed[rates.target]
    return both
