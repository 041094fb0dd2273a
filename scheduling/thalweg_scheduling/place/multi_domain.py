"""Md-Stream's Algorithm 3: blocks to nodes, domain by domain, those that depend most together.

Nodes stand in a row: domains by how far they are from the sources' domain, in each the least used
node first. A node gets the two free blocks that exchange most, then whichever depends most on
what it has, until it would be fuller than μ; then it is the next node's turn.

Where the paper errs or is silent:

- whether a block keeps a node within μ is asked before it is put there, not after;
- a block that does not fit, or may not run there, is passed over instead of ending the node's turn;
- tasks that stay where they are count as what their node has, and nodes on which somebody stays
  whom a free block depends on come first, the most wanted before the others;
- the sources' domain is where most sources are that stay, else the one with most room that may
  run them: the paper takes the master's, and no node of ours is one.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints, frozen_floats, frozen_ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.problem import Problem
from thalweg_scheduling.place.room import Room


@dataclass(frozen=True, slots=True, kw_only=True)
class Allotment:
    """What is to be dealt to nodes, and how full they may get."""

    block: Ints
    """Shape (tasks,): the block of each; UNPLACED for tasks that stay."""
    weight: Floats
    """Shape (tasks,): Eq 9."""
    capacity: Floats
    """Shape (nodes,): the same measure of what each node has."""
    margin: float
    """μ: the share of a node that blocks may fill."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "block", frozen_ints(self.block))
        object.__setattr__(self, "weight", frozen_floats(self.weight))
        object.__setattr__(self, "capacity", frozen_floats(self.capacity))


def allocate(problem: Problem, allotment: Allotment) -> Ints:
    """Shape (tasks,): a node for the tasks of every block that found one, else UNPLACED."""
    dealing = _Dealing(problem, allotment)
    order = node_order(problem, dealing.use)
    for node in order[np.argsort(-dealing.wanted[order], kind="stable")].tolist():
        dealing.serve(node)
    return dealing.node


def node_order(problem: Problem, use: Floats) -> Ints:
    """All nodes, by how far their domain is from the sources' and how much of them is used."""
    snapshot = problem.snapshot
    if not snapshot.nodes:
        return np.zeros(0, dtype=np.int64)
    home = sources_domain(problem)
    seconds = _seconds_from(snapshot, home)
    nodes = np.arange(len(snapshot.nodes))
    near = seconds[snapshot.domain_of]
    return np.lexsort((nodes, use, snapshot.domain_of, near))


def sources_domain(problem: Problem) -> int:
    """The domain from which the stream starts."""
    snapshot = problem.snapshot
    fed = {edge.target for edge in snapshot.edges}
    source = np.array([vertex not in fed for vertex in range(len(snapshot.vertices))])
    reads = source[snapshot.vertex_of] if source.size else np.zeros(0, dtype=np.bool_)
    settled = reads & ~problem.movable & (snapshot.placement != UNPLACED)
    domains = len(snapshot.domains)
    if settled.any():
        there = snapshot.domain_of[snapshot.placement[settled]]
        return int(np.argmax(np.bincount(there, minlength=domains)))
    share = snapshot.eligible[reads].mean(axis=0) if reads.any() else np.ones(len(snapshot.nodes))
    room = Room(snapshot, ~problem.movable).free
    whole = np.maximum(room, 0.0).sum(axis=0)
    free = np.divide(np.maximum(room, 0.0), whole, out=np.zeros_like(room), where=whole > 0)
    wealth = np.bincount(snapshot.domain_of, share * free.min(axis=1, initial=1.0), domains)
    return int(np.argmax(wealth))


def _seconds_from(snapshot: Snapshot, home: int) -> Floats:
    """Shape (domains,): mean one-way seconds to each domain; the home itself comes first."""
    members = snapshot.domain_of == home
    domains = len(snapshot.domains)
    seconds = snapshot.node_cost_s[members].mean(axis=0) if members.any() else 0.0
    size = np.bincount(snapshot.domain_of, minlength=domains)
    total = np.bincount(
        snapshot.domain_of, np.broadcast_to(seconds, snapshot.domain_of.shape), domains
    )
    mean: Floats = total / np.maximum(size, 1)
    mean[home] = -1.0
    return mean


class _Dealing:
    """Which blocks are still free, and what each node already has."""

    def __init__(self, problem: Problem, allotment: Allotment) -> None:
        snapshot, block = problem.snapshot, allotment.block
        self._allotment, self._snapshot = allotment, snapshot
        self.node = np.where(problem.movable, UNPLACED, snapshot.placement)
        self._room = Room(snapshot, ~problem.movable)
        self._binds = problem.spread.binds
        blocks = int(block.max(initial=UNPLACED)) + 1
        self._members = [np.flatnonzero(block == each) for each in range(blocks)]
        self._demand = _summed(problem.needs.demand, self._members)
        self._weight = _summed(allotment.weight[:, None], self._members)[:, 0]
        self._eligible = np.array(
            [snapshot.eligible[tasks].all(axis=0) for tasks in self._members], dtype=np.bool_
        ).reshape(blocks, len(snapshot.nodes))
        self._free = np.array([tasks.size > 0 for tasks in self._members], dtype=np.bool_)
        self._between = _between_blocks(problem, block, blocks)
        self._towards = _towards_nodes(problem, block, blocks, self.node)
        self._load = np.zeros(len(snapshot.nodes))
        staying = np.flatnonzero(self.node != UNPLACED)
        np.add.at(self._load, self.node[staying], allotment.weight[staying])

    @property
    def use(self) -> Floats:
        """Shape (nodes,): the share of each node that is taken."""
        there = self._allotment.capacity
        return np.divide(self._load, there, out=np.ones_like(there), where=there > 0)

    @property
    def wanted(self) -> Floats:
        """Shape (nodes,): how much the block exchanges with it that exchanges most."""
        most: Floats = self._towards.max(axis=0, initial=0.0)
        return most

    def serve(self, node: int) -> None:
        """One node's turn: lines 10 to 21."""
        drawn = np.array(self._towards[:, node])
        barred = ~self._free
        while True:
            able = self._able(node) & ~barred
            if not able.any():
                return
            block = self._most_dependent(drawn, able)
            if self._put(block, node):
                drawn += self._between[block]
                self._free[block] = False
            barred[block] = True

    def _able(self, node: int) -> Bools:
        """Shape (blocks,): which free blocks fit, within μ and within what the node has."""
        most = self._allotment.margin * self._allotment.capacity[node] * (1 + 1e-9)
        light = self._load[node] + self._weight <= most
        enough = (self._demand <= self._room.free[node]) | (self._demand == 0)
        able: Bools = self._free & self._eligible[:, node] & light & enough.all(axis=1)
        return able

    def _most_dependent(self, drawn: Floats, able: Bools) -> int:
        """The block that depends most on what is there; else one of the strongest free pair."""
        depends = np.where(able, drawn, -1.0)
        if depends.max() > 0:
            return int(np.argmax(depends))
        strongest = (self._between * (able[:, None] & able[None, :])).max(axis=1)
        # The heavier of equals: small ones find room later.
        return int(np.lexsort((-self._weight, -strongest, ~able))[0])

    def _put(self, block: int, node: int) -> bool:
        """Put a whole block down, or nothing of it where a domain may not take all."""
        put: list[int] = []
        for task in self._members[block].tolist():
            if self._binds and not self._room.fitting(task)[node]:
                for other in put:
                    self._room.take(other, node)
                return False
            self._room.put(task, node)
            put.append(task)
        self.node[put] = node
        self._load[node] += self._weight[block]
        return True


def _summed(values: Floats, members: list[Ints]) -> Floats:
    """Shape (blocks, columns)."""
    sums = [values[tasks].sum(axis=0) for tasks in members]
    return np.array(sums).reshape(len(members), values.shape[1])


def _between_blocks(problem: Problem, block: Ints, blocks: int) -> Floats:
    """Shape (blocks, blocks): Eq 17, either way."""
    rates = problem.rates
    source, target = block[rates.source], block[rates.target]
    apart = (source != target) & (source != UNPLACED) & (target != UNPLACED)
    between = np.zeros((blocks, blocks))
    np.add.at(between, (source[apart], target[apart]), rates.per_s[apart])
    return between + between.T


def _towards_nodes(problem: Problem, block: Ints, blocks: int, node: Ints) -> Floats:
    """Shape (blocks, nodes): what each block exchanges with the tasks that stay there."""
    rates = problem.rates
    towards = np.zeros((blocks, len(problem.snapshot.nodes)))
    for mine, other in ((rates.source, rates.target), (rates.target, rates.source)):
        kept = (block[mine] != UNPLACED) & (node[other] != UNPLACED)
        np.add.at(towards, (block[mine[kept]], node[other[kept]]), rates.per_s[kept])
    return towards
