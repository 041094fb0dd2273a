"""From a stage to the arrays of the event kernel."""

from dataclasses import dataclass, field

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.simulate import arena
from thalweg_scheduling.simulate.arena import Memory
from thalweg_scheduling.simulate.crowding import Crowd, cores_of
from thalweg_scheduling.simulate.stage import Stage


@dataclass(slots=True, kw_only=True)
class Roster:
    """Which slot belongs to which task; a task that leaves and returns finds its old one."""

    known: dict[tuple[int, int], int] = field(default_factory=dict)
    """Vertex and index to slot."""

    def seat(self, stage: Stage) -> "Seating":
        """Give every task of the stage a slot; the slots of others drain."""
        tasks = stage.snapshot.tasks
        here = [self.known.setdefault((t.vertex, t.index), len(self.known)) for t in tasks]
        first = np.searchsorted(stage.snapshot.vertex_of, np.arange(len(stage.snapshot.vertices)))
        task_of = np.empty(len(self.known), dtype=np.int64)
        for (vertex, _), slot in self.known.items():
            task_of[slot] = first[vertex]
        task_of[here] = np.arange(len(tasks))
        drains = np.ones(len(self.known), dtype=np.bool_)
        drains[here] = False
        return Seating(slot_of=np.array(here, dtype=np.int64), task_of=task_of, drains=drains)


@dataclass(frozen=True, slots=True, kw_only=True)
class Seating:
    """Tasks and slots of one stage."""

    slot_of: Ints
    """Shape (tasks,)."""
    task_of: Ints
    """Shape (slots,): its task; for a slot that drains, the first task of its vertex."""
    drains: Bools
    """Shape (slots,): whether its task has been taken away."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Where slots are; those that drain stay where they were, each in a process of its own."""

    node: Ints
    process: Ints

    @staticmethod
    def of(stage: Stage, seating: Seating, before: "Places | None") -> "Places":
        """Move those that have a task."""
        node, process = stage.node[seating.task_of], stage.process[seating.task_of].copy()
        drains = np.flatnonzero(seating.drains)
        if drains.size and before is not None:
            node[drains] = before.node[drains]
            process[drains] = process.max() + 1 + np.arange(drains.size)
        return Places(node=node, process=process)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ways:
    """The pairs of slots that talk, in the order of their senders and then of their receivers."""

    source: Ints
    target: Ints
    pair: Ints
    """Their pair in the workload."""
    group_of: Ints
    pair_from: Ints
    """Shape (groups + 1,): where each group begins."""

    @property
    def groups(self) -> int:
        """How many there are."""
        return len(self.pair_from) - 1

    def cumulative(self, sent: Floats, copies: Floats) -> Floats:
        """Shape (pairs,): which share of its group goes to this pair or one before it."""
        before = np.concatenate(([0.0], np.cumsum(sent)))
        upto = before[1:] - before[self.pair_from[:-1]][self.group_of]
        total = copies[self.group_of]
        return np.where(total > 0, upto / np.where(total > 0, total, 1.0), 1.0)

    @staticmethod
    def of(stage: Stage, seating: Seating) -> "Ways":
        """A slot that drains sends as its vertex does; nobody sends to it."""
        workload = stage.workload
        first, count = workload.indptr[seating.task_of], np.diff(workload.indptr)[seating.task_of]
        source = np.repeat(np.arange(len(count)), count)
        offset = np.arange(len(source)) - np.repeat(np.cumsum(count) - count, count)
        pair = np.repeat(first, count) + offset
        task = workload.targets[pair]
        vertex = stage.snapshot.vertex_of[task]
        begins = np.diff(source, prepend=-1).astype(np.bool_)
        begins |= np.diff(vertex, prepend=-1).astype(np.bool_)
        begins |= _is_broadcast(stage)[stage.snapshot.vertex_of[seating.task_of[source]], vertex]
        return Ways(
            source=source,
            target=seating.slot_of[task],
            pair=pair,
            group_of=np.cumsum(begins) - 1,
            pair_from=np.append(np.flatnonzero(begins), len(source)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """All that stays until the placement changes."""

    stage: Stage
    seating: Seating
    places: Places
    ways: Ways

    @staticmethod
    def of(stage: Stage, seating: Seating, before: Places | None) -> "Layout":
        """Seat the tasks of a stage."""
        places = Places.of(stage, seating, before)
        return Layout(stage=stage, seating=seating, places=places, ways=Ways.of(stage, seating))

    def write(self, memory: Memory, *, timeout_s: float) -> None:
        """Put it where the kernel finds it."""
        given = self.stage.parameters
        memory.real[arena.CREDIT] = given.credit_tuples
        memory.real[arena.RECEIVE_S] = given.deserialise_s
        memory.real[arena.SERVICE_CV2] = given.service_cv2
        memory.real[arena.TIMEOUT_S] = timeout_s
        memory.whole[arena.SLOT_COUNT] = len(self.seating.task_of)
        crowd = _crowd(self.stage, self.places)
        self._write_slots(memory, crowd)
        self._write_nodes(memory, crowd)
        self._write_ways(memory)

    def rows(self) -> dict[int, int]:
        """How much room it takes."""
        slots, pairs = len(self.seating.task_of), len(self.ways.source)
        return {
            arena.SLOTS: slots,
            arena.NODES: len(self.stage.snapshot.nodes),
            arena.PROCESSES: len(np.unique(self.places.process)),
            arena.GROUPS: self.ways.groups,
            arena.PAIRS: pairs,
            arena.SENDERS: pairs,
            arena.RUNNING: slots,
        }

    def _write_slots(self, memory: Memory, crowd: Crowd) -> None:
        task_of, ways, workload = self.seating.task_of, self.ways, self.stage.workload
        whole, real = memory.whole_of(arena.SLOTS), memory.real_of(arena.SLOTS)
        slots = np.arange(len(task_of) + 1)
        group_source = ways.source[ways.pair_from[:-1]]
        first_group = np.searchsorted(group_source, slots)
        first_sender = np.searchsorted(np.sort(ways.target), slots)
        whole[:, arena.NODE_OF] = self.places.node
        whole[:, arena.PROCESS_OF] = crowd.process
        whole[:, arena.IS_SINK] = _is_sink(self.stage)[self.stage.snapshot.vertex_of[task_of]]
        whole[:, arena.GROUP_FROM], whole[:, arena.GROUP_END] = first_group[:-1], first_group[1:]
        whole[:, arena.SENDER_FROM] = first_sender[:-1]
        whole[:, arena.SENDER_END] = first_sender[1:]
        sent = workload.sent_per_tuple[ways.pair] * self._is_remote()
        sending = np.bincount(ways.source, weights=sent, minlength=len(task_of))
        serialise_s = self.stage.parameters.serialise_s
        real[:, arena.CPU_S] = workload.cpu_s[task_of] + serialise_s * sending
        real[:, arena.HELD_S] = workload.held_s[task_of]
        real[:, arena.BLOCKED_SINCE] = -1.0
        most = np.bincount(
            group_source, weights=np.ceil(self._copies()), minlength=len(task_of)
        ).max(initial=0.0)
        memory.whole[arena.SPARE] = int(most) + 2

    def _write_nodes(self, memory: Memory, crowd: Crowd) -> None:
        there = np.bincount(self.places.node, minlength=len(crowd.cores))
        memory.whole_of(arena.NODES)[:, arena.ROOM_FROM] = np.cumsum(there) - there
        cores = np.maximum(0.0, crowd.cores - crowd.idle_cores)
        memory.real_of(arena.NODES)[:, arena.CORES] = cores
        memory.real_of(arena.PROCESSES)[:, 0] = crowd.process_cores

    def _write_ways(self, memory: Memory) -> None:
        ways, workload = self.ways, self.stage.workload
        groups = memory.whole_of(arena.GROUPS)
        groups[:, arena.PAIR_FROM], groups[:, arena.PAIR_END] = (
            ways.pair_from[:-1],
            ways.pair_from[1:],
        )
        copies = self._copies()
        memory.real_of(arena.GROUPS)[:, arena.COPIES] = copies
        here, there = self.places.node[ways.source], self.places.node[ways.target]
        remote = self._is_remote()
        whole, real = memory.whole_of(arena.PAIRS), memory.real_of(arena.PAIRS)
        whole[:, arena.TARGET_OF], whole[:, arena.IS_REMOTE_PAIR] = ways.target, remote
        real[:, arena.UPTO] = ways.cumulative(workload.sent_per_tuple[ways.pair], copies)
        near_s = self.stage.snapshot.latency.classes.same_process_s
        apart_s = self.stage.snapshot.node_cost_s[here, there]
        real[:, arena.HOP_S] = np.where(remote, apart_s, near_s)
        on_wire_s = workload.tuple_bytes[ways.pair] / self.stage.parameters.bandwidth_bytes_per_s
        real[:, arena.WIRE_S] = np.where(here != there, on_wire_s, 0.0)
        by_target = np.lexsort((ways.source, ways.target))
        memory.whole_of(arena.SENDERS)[:, 0] = ways.source[by_target]

    def _copies(self) -> Floats:
        sent = self.stage.workload.sent_per_tuple[self.ways.pair]
        copies = np.zeros(self.ways.groups)
        np.add.at(copies, self.ways.group_of, sent)
        return copies

    def _is_remote(self) -> Bools:
        process = self.places.process
        remote: Bools = process[self.ways.source] != process[self.ways.target]
        return remote


def _crowd(stage: Stage, places: Places) -> Crowd:
    """Who runs beside whom; nodes of which nobody said how many cores they have never run out."""
    cores = cores_of(stage.snapshot)
    cores = np.where(np.isfinite(cores), cores, np.inf)
    return Crowd.of(cores, places.node, places.process, stage.parameters)


def _is_broadcast(stage: Stage) -> Bools:
    vertices = len(stage.snapshot.vertices)
    found = np.zeros((vertices, vertices), dtype=np.bool_)
    for edge in stage.snapshot.edges:
        found[edge.source, edge.target] = edge.grouping is GroupingType.BROADCAST
    return found


def _is_sink(stage: Stage) -> Bools:
    sink = np.ones(len(stage.snapshot.vertices), dtype=np.bool_)
    sink[[edge.source for edge in stage.snapshot.edges]] = False
    return sink
