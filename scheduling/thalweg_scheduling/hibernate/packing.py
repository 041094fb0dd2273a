"""Tasks as kinds, nodes as bins: the question of who may sleep, with everything else left out.

Tasks that ask for the same, may go to the same nodes and count towards the same domain limits are
interchangeable. Counting them by kind turns thousands of tasks into a few rows.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot

# Requests are sums of decimal fractions: what fits on paper must fit here too.
_TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True, kw_only=True)
class Packing:
    """What has to be packed where."""

    demand: Floats
    """Shape (kinds, resources): what one task of a kind takes."""
    wanted: Ints
    """Shape (kinds,): how many tasks there are of it."""
    allowed: Bools
    """Shape (kinds, nodes)."""
    group: Ints
    """Shape (kinds,): kinds of one group share a limit on tasks in one domain."""
    most_in_domain: Ints
    """Shape (groups,)."""
    fewest_domains: Ints
    """Shape (groups,)."""
    capacity: Floats
    """Shape (nodes, resources)."""
    domain_of: Ints
    kind_of: Ints
    """Shape (tasks,)."""
    placement: Ints
    """Shape (tasks,): where each task is now, or UNPLACED."""

    @property
    def nodes(self) -> int:
        """How many nodes there are, awake or not."""
        return len(self.domain_of)

    @property
    def minds_domains(self) -> bool:
        """Whether the spread over domains is limited at all."""
        crowded = np.any(self.most_in_domain < self.wanted.sum())
        return bool(crowded or np.any(self.fewest_domains > 1))

    def scarcity(self) -> Floats:
        """Shape (resources,): what one unit of each is worth, by how much of it is wanted."""
        wanted = self.wanted @ self.demand
        there = np.maximum(self.capacity, 0.0).sum(axis=0)
        worth = np.zeros(len(there))
        np.divide(wanted, there**2, out=worth, where=there > 0)
        return worth

    def likeness(self, node: int) -> tuple[bytes, bytes, int]:
        """The same for nodes that may be exchanged for each other."""
        return (
            self.capacity[node].tobytes(),
            self.allowed[:, node].tobytes(),
            int(self.domain_of[node]),
        )

    def present(self) -> Ints:
        """Shape (kinds, nodes): how many tasks of each kind run where now."""
        counts = np.zeros((len(self.wanted), self.nodes), dtype=np.int64)
        placed = self.placement != UNPLACED
        np.add.at(counts, (self.kind_of[placed], self.placement[placed]), 1)
        return counts

    def assigned(self, counts: Ints) -> Ints:
        """Shape (tasks,): a node for each task so that as few as possible move."""
        node = np.array(self.placement)
        for kind in range(len(self.wanted)):
            members = np.flatnonzero(self.kind_of == kind)
            rank = _rank_on_node(node[members])
            room = np.append(counts[kind], 0)[node[members]]
            leaving = members[(rank >= room) | (node[members] == UNPLACED)]
            node[leaving] = UNPLACED
            stay = np.bincount(node[members][node[members] != UNPLACED], minlength=self.nodes)
            node[leaving] = np.repeat(np.arange(self.nodes), counts[kind] - stay)
        return node


def packing_of(snapshot: Snapshot) -> Packing:
    """The packing question of a snapshot, by requests and by measured use."""
    demand, capacity = _with_measured_use(snapshot)
    limits = snapshot.limits.placement
    spread = limits.min_domains > 1 or limits.max_share_percent < 100
    kinds: dict[tuple[int, bytes, bytes], int] = {}
    kind_of = np.empty(len(demand), dtype=np.int64)
    for task, vertex in enumerate(snapshot.vertex_of.tolist()):
        key = (
            vertex if spread else 0,
            demand[task].tobytes(),
            snapshot.eligible[task].tobytes(),
        )
        kind_of[task] = kinds.setdefault(key, len(kinds))
    first = np.unique(kind_of, return_index=True)[1]
    groups = len(snapshot.vertices) if spread else 1
    replicas = np.array([vertex.replicas for vertex in snapshot.vertices], dtype=np.int64)
    most = np.maximum(1, np.floor(replicas * limits.max_share_percent / 100 + _TOLERANCE))
    fewest = np.minimum(np.minimum(limits.min_domains, replicas), len(snapshot.domains))
    everything = np.array([len(demand)])
    return Packing(
        demand=demand[first],
        wanted=np.bincount(kind_of, minlength=len(kinds)),
        allowed=snapshot.eligible[first],
        group=snapshot.vertex_of[first] if spread else np.zeros(len(first), dtype=np.int64),
        most_in_domain=most.astype(np.int64) if spread else everything,
        fewest_domains=fewest if spread else np.zeros(groups, dtype=np.int64),
        capacity=capacity,
        domain_of=snapshot.domain_of,
        kind_of=kind_of,
        placement=snapshot.placement,
    )


class Filling:
    """Bins while they are being filled."""

    def __init__(self, packing: Packing, awake: Bools) -> None:
        """Start with empty bins; those that sleep take nothing."""
        self.packing = packing
        self.awake = awake
        self.counts = np.zeros((len(packing.wanted), packing.nodes), dtype=np.int64)
        self.free = packing.capacity + _TOLERANCE * np.maximum(1.0, np.abs(packing.capacity))
        self.worth = packing.scarcity()
        self._limited = packing.minds_domains
        domains = int(packing.domain_of.max(initial=-1)) + 1
        self._in_domain = np.zeros((len(packing.most_in_domain), domains), dtype=np.int64)

    def copy(self) -> "Filling":
        """The same, to go on from without changing this one."""
        twin = Filling(self.packing, np.array(self.awake))
        twin.counts, twin.free = np.array(self.counts), np.array(self.free)
        twin._in_domain = np.array(self._in_domain)
        return twin

    def room(self, kind: int) -> Ints:
        """Shape (nodes,): how many more tasks of a kind fit on each node."""
        demand = self.packing.demand[kind]
        asked = np.flatnonzero(demand)
        fits = np.full(self.packing.nodes, self.packing.wanted[kind])
        for resource in asked:
            held = np.maximum(0.0, self.free[:, resource] / demand[resource])
            fits = np.minimum(fits, held.astype(np.int64))
        return np.where(self.packing.allowed[kind] & self.awake, fits, 0)

    def most_on(self, node: int) -> Ints:
        """Shape (kinds,): how many tasks of each kind, alone, fit on a node."""
        demand = self.packing.demand
        held = np.full(demand.shape, np.inf)
        np.divide(np.maximum(0.0, self.free[node]), demand, out=held, where=demand > 0)
        fits = np.minimum(np.min(held, axis=1, initial=np.inf), self.packing.wanted)
        return np.where(self.packing.allowed[:, node], fits, 0).astype(np.int64)

    def put(self, kind: int, taken: Ints) -> None:
        """Put `taken` tasks of a kind on each node; negative numbers take them away."""
        nodes = np.flatnonzero(taken)
        number = taken[nodes]
        self.counts[kind, nodes] += number
        self.free[nodes] -= number[:, None] * self.packing.demand[kind]
        domains = self.packing.domain_of[nodes]
        np.add.at(self._in_domain[self.packing.group[kind]], domains, number)

    def fill(self, kind: int, need: int, order: Ints) -> Ints:
        """Put up to `need` tasks of a kind on the first nodes of `order` that have room.

        Returns how many went to each node; what finds no room is left.
        """
        room = self.room(kind)[order]
        if self._limited:
            room = self._within_domains(kind, room, order)
        before = np.cumsum(room) - room
        taken = np.zeros(self.packing.nodes, dtype=np.int64)
        taken[order] = np.clip(need - before, 0, room)
        self.put(kind, taken)
        return taken

    def unreached(self, kind: int) -> int:
        """In how many more domains the group of a kind must have a task."""
        group = self.packing.group[kind]
        reached = np.count_nonzero(self._in_domain[group])
        return max(0, int(self.packing.fewest_domains[group]) - int(reached))

    def has_reached(self, kind: int) -> Bools:
        """Shape (nodes,): whether the kind's group has a task in the node's domain."""
        reached: Bools = self._in_domain[self.packing.group[kind]] > 0
        return reached[self.packing.domain_of]

    def load(self) -> Floats:
        """Shape (nodes,): how full each node is, by its fullest resource."""
        capacity = np.maximum(self.packing.capacity, 1e-300)
        used: Floats = np.max(self.used() / capacity, axis=1, initial=0.0)
        return used

    def used(self) -> Floats:
        """Shape (nodes, resources): what the tasks on each node take."""
        taken: Floats = self.counts.T @ self.packing.demand
        return taken

    def is_spread(self) -> bool:
        """Whether every group is in as many domains as it must."""
        reached = np.count_nonzero(self._in_domain, axis=1)
        return bool(np.all(reached >= self.packing.fewest_domains))

    def _within_domains(self, kind: int, room: Ints, order: Ints) -> Ints:
        group = self.packing.group[kind]
        allowed = np.array(room)
        for domain, present in enumerate(self._in_domain[group]):
            inside = self.packing.domain_of[order] == domain
            before = np.cumsum(room[inside]) - room[inside]
            left = max(0, int(self.packing.most_in_domain[group] - present))
            allowed[inside] = np.clip(left - before, 0, room[inside])
        return allowed


def filled_as_it_is(packing: Packing) -> Filling | None:
    """Every task where it is now, if that is allowed and nothing is overfull."""
    filling = Filling(packing, np.ones(packing.nodes, dtype=np.bool_))
    present = packing.present()
    for kind in range(len(present)):
        filling.put(kind, present[kind])
    whole = present.sum() == packing.wanted.sum() and not np.any(present[~packing.allowed])
    return filling if whole and not np.any(filling.free < 0) else None


def _with_measured_use(snapshot: Snapshot) -> tuple[Floats, Floats]:
    """Requests fill a node; measured use, the mean of each vertex, fills only a part of it."""
    demand, capacity = [snapshot.demand], [snapshot.capacity]
    measured = {}
    if snapshot.loads is not None:
        measured = {"cpu": snapshot.loads.cpu_cores, "memory": snapshot.loads.memory_bytes}
    replicas = np.array([max(1, vertex.replicas) for vertex in snapshot.vertices])
    for position, name in enumerate(snapshot.resources):
        used = measured.get(name)
        if used is None or not np.all(np.isfinite(used)):
            continue
        total = np.bincount(snapshot.vertex_of, weights=used, minlength=len(replicas))
        demand.append((total / replicas)[snapshot.vertex_of][:, None])
        share = snapshot.limits.placement.use_headroom
        capacity.append(share * snapshot.capacity[:, [position]])
    return np.hstack(demand), np.hstack(capacity)


def _rank_on_node(node: Ints) -> Ints:
    """For each task, how many earlier ones are on the same node."""
    order = np.argsort(node, kind="stable")
    starts = np.flatnonzero(np.diff(node[order], prepend=-2))
    rank = np.empty(len(node), dtype=np.int64)
    lengths = np.diff(np.append(starts, len(node)))
    rank[order] = np.arange(len(node)) - np.repeat(starts, lengths)
    return rank
