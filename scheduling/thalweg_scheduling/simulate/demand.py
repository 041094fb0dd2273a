"""What a placement asks of tasks, processes, nodes and wires, and how much of it they can give."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.simulate.crowding import Crowd, cores_of
from thalweg_scheduling.simulate.parameters import Parameters
from thalweg_scheduling.simulate.workload import Workload

_ROUNDS = 60
_EXACT = 1e-12


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairs:
    """How near the two tasks of each pair are; nodes are -1 where a task has none."""

    sources: Ints
    targets: Ints
    from_node: Ints
    to_node: Ints
    same_process: Bools
    other_domain: Floats
    """1, 0, or NaN where one of the two has no node."""

    @staticmethod
    def of(snapshot: Snapshot, workload: Workload, node: Ints, process: Ints) -> "Pairs":
        """Look up both ends of every pair."""
        sources, targets = workload.sources, workload.targets
        from_node, to_node = node[sources], node[targets]
        # The domain of "no node" is the last entry.
        domain = np.append(snapshot.domain_of, -1)
        placed = (from_node != UNPLACED) & (to_node != UNPLACED)
        return Pairs(
            sources=sources,
            targets=targets,
            from_node=from_node,
            to_node=to_node,
            same_process=process[sources] == process[targets],
            other_domain=np.where(placed, domain[from_node] != domain[to_node], np.nan),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """What is asked when all that is offered flows."""

    rate_per_s: Floats
    cpu_s: Floats
    """Shape (tasks,): CPU seconds a tuple, sending and receiving included."""
    held_s: Floats
    wire: Floats
    """Shape (2, nodes): the share of each node's bandwidth that is used, out and in."""
    crowd: Crowd

    def load(self, share: float) -> Floats:
        """Cores that each task uses when `share` of what is offered flows."""
        return np.where(self.rate_per_s == 0, 0.0, share * self.rate_per_s * self.cpu_s)

    def service_s(self, share: float) -> Floats:
        """Shape (tasks,): time a tuple, beside all the others."""
        return self.cpu_s * self.crowd.slowdown(self.load(share)) + self.held_s

    def utilization(self, share: float, service_s: Floats) -> Floats:
        """Shape (tasks,): share of the time in which each task is busy."""
        return np.where(self.rate_per_s == 0, 0.0, share * self.rate_per_s * service_s)


def demand_of(
    workload: Workload, rate_per_s: Floats, pairs: Pairs, crowd: Crowd, parameters: Parameters
) -> Demand:
    """Add up what every task has to do in this placement."""
    tasks = len(rate_per_s)
    flow = _weighted(rate_per_s[pairs.sources], workload.sent_per_tuple)
    crossing = np.where(pairs.same_process, 0.0, 1.0)
    sending = _sums(pairs.sources, crossing * workload.sent_per_tuple, tasks)
    received = _sums(pairs.targets, flow, tasks)
    from_outside = _sums(pairs.targets, crossing * flow, tasks)
    share = np.where(received == 0, 0.0, from_outside / received)
    cpu = workload.cpu_s + parameters.serialise_s * sending + parameters.deserialise_s * share
    return Demand(
        rate_per_s=rate_per_s,
        cpu_s=cpu,
        held_s=workload.held_s,
        wire=_wires(workload, flow, pairs, len(crowd.cores), parameters),
        crowd=crowd,
    )


def largest_share(demand: Demand) -> float:
    """The largest multiple of what is offered that flows without anything being full.

    Everything but crowding grows in proportion, which gives a bound; below it, crowding grows with
    the rate, and the first task to be busy all the time is looked for between nothing and there.
    """
    high = _bound(demand)
    if not np.isfinite(high) or high <= 0:
        return high
    at_high = _slack(demand, high)
    if at_high >= -1e-9 * high:
        return high
    low, at_low = 0.0, _slack(demand, 0.0)
    rose: bool | None = None
    for _ in range(_ROUNDS):
        # Where the straight line between both ends says; in the middle where it says nothing.
        middle = (low * at_high - high * at_low) / (at_high - at_low)
        middle = middle if low < middle < high else (low + high) / 2
        at_middle = _slack(demand, middle)
        if abs(at_middle) <= _EXACT * middle or high - low <= _EXACT * high:
            return middle
        # An end that stays twice counts half (Illinois), or it might stay for ever.
        if at_middle > 0:
            low, at_low = middle, at_middle
            at_high = at_high / 2 if rose is True else at_high
        else:
            high, at_high = middle, at_middle
            at_low = at_low / 2 if rose is False else at_low
        rose = at_middle > 0
    return low


def hops_s(
    snapshot: Snapshot, pairs: Pairs, wire: Floats, workload: Workload, parameters: Parameters
) -> Floats:
    """Shape (pairs,): one-way seconds between the two tasks."""
    if not len(snapshot.nodes):
        return np.full(len(pairs.sources), np.nan)
    apart = snapshot.node_cost_s[pairs.from_node, pairs.to_node]
    if np.isfinite(parameters.bandwidth_bytes_per_s):
        # A wire that is all but full holds no more than one that is full: what credit allows.
        queued = np.where(wire < 1, wire / (2 * (1 - wire)), np.inf)
        queued = np.minimum(queued, parameters.credit_tuples)
        on_wire = workload.tuple_bytes / parameters.bandwidth_bytes_per_s
        on_wire = on_wire * (1 + queued[0, pairs.from_node] + queued[1, pairs.to_node])
        apart = apart + np.where(pairs.from_node == pairs.to_node, 0.0, on_wire)
    hop = np.where(pairs.same_process, snapshot.latency.classes.same_process_s, apart)
    return np.where(np.isnan(pairs.other_domain), np.nan, hop)


def crowd_of(snapshot: Snapshot, node: Ints, process: Ints, parameters: Parameters) -> Crowd:
    """Who runs beside whom in this placement."""
    return Crowd.of(cores_of(snapshot), node, process, parameters)


def _bound(demand: Demand) -> float:
    crowd, load = demand.crowd, demand.load(1.0)
    flowing = crowd.on_nodes(load) - crowd.idle_cores
    alone = _weighted(demand.rate_per_s, demand.cpu_s + demand.held_s)
    return float(
        np.min(
            np.concatenate(
                [
                    _ratio(np.maximum(0.0, crowd.cores - crowd.idle_cores), flowing),
                    _ratio(crowd.process_cores, crowd.in_processes(load)),
                    _ratio(np.ones(len(alone)), alone),
                    _ratio(np.ones(demand.wire.size), demand.wire.ravel()),
                ]
            ),
            initial=np.inf,
        )
    )


def _slack(demand: Demand, share: float) -> float:
    """How much more of what is offered the busiest task could take, as crowded as it is then."""
    each = demand.utilization(1.0, demand.service_s(share))
    worst = float(np.max(each, initial=0.0))
    return float("inf") if worst == 0 else 1 / worst - share


def _wires(
    workload: Workload, flow: Floats, pairs: Pairs, nodes: int, parameters: Parameters
) -> Floats:
    wire = np.zeros((2, nodes))
    if np.isfinite(parameters.bandwidth_bytes_per_s):
        placed = ~np.isnan(pairs.other_domain)
        leaves = placed & (pairs.from_node != pairs.to_node)
        used = _weighted(flow, workload.tuple_bytes) / parameters.bandwidth_bytes_per_s
        np.add.at(wire[0], pairs.from_node[leaves], used[leaves])
        np.add.at(wire[1], pairs.to_node[leaves], used[leaves])
    return wire


def _weighted(weight: Floats, value: Floats) -> Floats:
    return np.where(weight == 0, 0.0, weight * value)


def _ratio(room: Floats, used: Floats) -> Floats:
    """Room over use; what is not used has room without end."""
    return np.where(used == 0, np.inf, room / used)


def _sums(positions: Ints, values: Floats, length: int) -> Floats:
    sums = np.zeros(length)
    np.add.at(sums, positions, values)
    return sums
