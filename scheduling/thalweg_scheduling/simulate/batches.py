"""The time-stepped mode: streams as rates and queues as amounts, for runs of too many tuples.

Of every queue its mean length L is kept. What leaves it follows from that length, as if the queue
had settled at it (the pointwise stationary fluid approximation):

    L(ρ)  = ρ + c·ρ²/(1 - ρ),  c = (ca² + cs²)/2        the length that belongs to a utilisation
    dL/dt = arrivals - ρ(L)/S                           and how it changes

So a steady stream comes to what the analytic mode says, and more than can be carried makes the
queue grow at the rate that is too much. First come, first served says how old is what leaves. Steps
are implicit: they stay right when they are longer than a queue needs to settle. Nothing is left to
chance.
"""

from dataclasses import dataclass
from functools import reduce
from operator import add

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.scale.flow import vertices_in_order
from thalweg_scheduling.simulate.ages import Ages
from thalweg_scheduling.simulate.demand import Demand, Pairs, crowd_of, demand_of, hops_s
from thalweg_scheduling.simulate.events import TIMEOUT_S
from thalweg_scheduling.simulate.paths import Paths, Sojourn
from thalweg_scheduling.simulate.stage import Counts, Stage

STEP_S = 0.2
_SETTLING = 0.5
"""How much of a change of the load is felt by what runs beside it in the next step."""


class BatchEngine:
    """Runs a stage in steps of time."""

    def __init__(
        self, stage: Stage, *, timeout_s: float = TIMEOUT_S, step_s: float = STEP_S
    ) -> None:
        self._timeout_s = timeout_s
        self._step_s = step_s
        self._now_s = 0.0
        self._ground = _Ground.of(stage)
        self._state = _State.empty(len(stage.node))
        self._ages = Ages(self._state.queue)
        self._steps: list[Counts] = []

    def adopt(self, stage: Stage, paused_until_s: Floats | None = None) -> None:
        """Go on with another stage; what waits for a task that goes waits for its siblings."""
        seat = {name: at for at, name in enumerate(stage.snapshot.task_names)}
        to = np.array([seat.get(name, -1) for name in self._ground.stage.snapshot.task_names])
        self._state = self._state.on(self._ground.stage, stage, to)
        if paused_until_s is not None:
            until_s = np.maximum(self._state.paused_until_s, paused_until_s)
            self._state.paused_until_s = until_s
        self._ground = _Ground.of(stage)
        self._ages = self._ages.on(self._state.queue, to)
        self._steps = []

    def advance(self, offered_per_s: float, until_s: float) -> None:
        """Let time pass while so much is offered."""
        begin_s, span_s = self._now_s, until_s - self._now_s
        steps = max(1, round(span_s / self._step_s))
        for number in range(steps):
            self._steps.append(self._step(offered_per_s, span_s / steps))
            self._now_s = begin_s + span_s * (number + 1) / steps

    def collect(self) -> Counts:
        """What has happened since the last time."""
        counts = reduce(add, self._steps)
        self._steps = []
        return counts

    # Divisions by nothing are answered, by infinity or NaN; they are no accidents.
    @np.errstate(all="ignore")
    def _step(self, offered_per_s: float, span_s: float) -> Counts:
        ground, state = self._ground, self._state
        demand, workload = ground.demand, ground.stage.workload
        slowdown = np.minimum(demand.crowd.slowdown(state.load), ground.worst_slowdown)
        service_s = demand.cpu_s * slowdown + demand.held_s
        awake = np.clip((self._now_s + span_s - state.paused_until_s) / span_s, 0.0, 1.0)
        able = awake * span_s / service_s
        most, room = _credit(ground, state, able, span_s)
        offered = offered_per_s * span_s * ground.stage.offered_share
        inflow = np.minimum(state.backlog + offered, room)
        state.backlog = state.backlog + offered - inflow
        passed, held_up = np.zeros(len(able)), np.zeros(len(able))
        for tasks, pairs in ground.in_order:
            there = state.queue[tasks] + inflow[tasks]
            unhindered = _served(there, able[tasks], ground.cv2)
            passed[tasks] = np.minimum(unhindered, most[tasks])
            held_up[tasks] = unhindered > most[tasks]
            state.queue[tasks] = there - passed[tasks]
            onward = workload.sent_per_tuple[pairs] * passed[ground.sources[pairs]]
            np.add.at(inflow, workload.targets[pairs], onward)
        state.arriving = inflow
        state.load += _SETTLING * (demand.cpu_s * passed / span_s - state.load)
        response_s = np.maximum(service_s, self._ages.after(span_s, inflow, passed))
        sent = workload.sent_per_tuple * passed[ground.sources]
        return Counts(
            span_s=span_s,
            offered=offered,
            processed=passed,
            waited_s=np.maximum(0.0, state.queue * span_s - passed * service_s),
            served_s=passed * service_s,
            cpu_s=passed * demand.cpu_s,
            blocked_s=held_up * span_s,
            sent=sent,
            queued=state.queue,
            backlog=state.backlog,
            **self._latencies(passed, sent / span_s, response_s, service_s),
        )

    def _latencies(
        self, passed: Floats, sent_per_s: Floats, response_s: Floats, service_s: Floats
    ) -> dict[str, float]:
        """What became of the tuples of one step."""
        ground = self._ground
        share = ground.stage.offered_share
        sojourn = Sojourn(
            wait_s=np.maximum(0.0, response_s - service_s),
            service_s=service_s,
            hop_s=ground.hops_s(sent_per_s),
        )
        delivered = float(passed[ground.paths.is_sink].sum())
        completed = float(passed[share > 0].sum())
        complete_s = ground.paths.complete_latency_s(sojourn, share) if completed else 0.0
        latency_s = ground.paths.latency_s(sojourn, share) if delivered else 0.0
        return {
            "latency_sum_s": delivered * latency_s,
            "latencies": delivered,
            "complete_sum_s": completed * complete_s,
            "completed": completed,
            "failed": completed if complete_s > self._timeout_s else 0.0,
        }


@dataclass(slots=True, kw_only=True)
class _State:
    """What changes from step to step; shape (tasks,) each."""

    queue: Floats
    """Tuples at a task, that in work included."""
    backlog: Floats
    load: Floats
    """Cores in use, as far as others feel it."""
    arriving: Floats
    """Tuples that came in the last step."""
    paused_until_s: Floats

    @staticmethod
    def empty(tasks: int) -> "_State":
        """Nothing is there yet."""
        queue, backlog, load, arriving, paused_until_s = np.zeros((5, tasks))
        return _State(
            queue=queue,
            backlog=backlog,
            load=load,
            arriving=arriving,
            paused_until_s=paused_until_s,
        )

    def on(self, before: Stage, after: Stage, to: Ints) -> "_State":
        """The same with other tasks; `to` is where each is then, or -1."""
        stays = to >= 0
        moved = _State.empty(len(after.node))
        for name in self.__slots__:
            getattr(moved, name)[to[stays]] = getattr(self, name)[stays]
        vertex_of, count = after.snapshot.vertex_of, np.bincount(after.snapshot.vertex_of)
        for name in ("queue", "backlog"):
            orphans = np.bincount(
                before.snapshot.vertex_of,
                weights=np.where(stays, 0.0, getattr(self, name)),
                minlength=len(count),
            )
            setattr(moved, name, getattr(moved, name) + (orphans / count)[vertex_of])
        return moved


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What stays until the placement changes."""

    stage: Stage
    paths: Paths
    pairs: Pairs
    demand: Demand
    worst_slowdown: Floats
    """Shape (tasks,): beside others that are all busy all the time."""
    cv2: float
    sources: Ints
    wire_s: Floats
    """Shape (pairs,): how long one tuple keeps the wire of a node busy."""
    in_order: tuple[tuple[slice, slice], ...]
    """The tasks of each vertex and the pairs they send on, sources first."""

    @staticmethod
    @np.errstate(all="ignore")
    def of(stage: Stage) -> "_Ground":
        """Work it out."""
        snapshot, workload, given = stage.snapshot, stage.workload, stage.parameters
        paths = Paths.of(snapshot, workload)
        pairs = Pairs.of(snapshot, workload, stage.node, stage.process)
        crowd = crowd_of(snapshot, stage.node, stage.process, given)
        rate = paths.flow(workload.offered_per_s)
        on_wire_s = workload.tuple_bytes / given.bandwidth_bytes_per_s
        vertices = np.arange(len(snapshot.vertices) + 1)
        first = np.searchsorted(snapshot.vertex_of, vertices).tolist()
        pair = workload.indptr[first].tolist()
        return _Ground(
            stage=stage,
            paths=paths,
            pairs=pairs,
            demand=demand_of(workload, rate, pairs, crowd, given),
            worst_slowdown=crowd.worst_slowdown(),
            cv2=(given.arrival_cv2 + given.service_cv2) / 2,
            sources=workload.sources,
            wire_s=np.where(pairs.from_node == pairs.to_node, 0.0, on_wire_s),
            in_order=tuple(
                (slice(first[v], first[v + 1]), slice(pair[v], pair[v + 1]))
                for v in vertices_in_order(snapshot)
            ),
        )

    def wires(self, sent: Floats) -> Floats:
        """Shape (2, nodes): seconds of wire that so many tuples on each pair take, out and in."""
        nodes = len(self.stage.snapshot.nodes)
        used = sent * self.wire_s
        return np.array(
            [
                np.bincount(self.pairs.from_node, weights=used, minlength=nodes),
                np.bincount(self.pairs.to_node, weights=used, minlength=nodes),
            ]
        )

    def hops_s(self, sent_per_s: Floats) -> Floats:
        """Shape (pairs,): how long a tuple is on its way."""
        wire = np.minimum(self.wires(sent_per_s), 1.0)
        stage = self.stage
        return hops_s(stage.snapshot, self.pairs, wire, stage.workload, stage.parameters)


def _served(there: Floats, able: Floats, cv2: float) -> Floats:
    """How many of those that are there get through in a step in which `able` could.

    The utilisation ρ at which L(ρ) is what is left then: (c - 1 - k)ρ² + (1 + k + A)ρ - A = 0.
    """
    square = np.sqrt((1 + able - there) ** 2 + 4 * cv2 * there)
    return able * 2 * there / (1 + able + there + square)


def _credit(ground: _Ground, state: _State, able: Floats, span_s: float) -> tuple[Floats, Floats]:
    """What each task may process at most, and what it has room for; sinks first.

    Who sends to the same task gets its room in the proportion in which they want to send, and the
    receiver with the least room holds up a sender.
    """
    workload, sources, targets = (
        ground.stage.workload,
        ground.sources,
        ground.stage.workload.targets,
    )
    likely = np.minimum(able, state.queue + state.arriving)
    wanted = np.where(likely > 0, likely, able)
    asked = workload.sent_per_tuple * wanted[sources]
    asked_of = np.bincount(targets, weights=asked, minlength=len(able))
    out, into = span_s / ground.wires(asked)
    wire = np.minimum(out[ground.pairs.from_node], into[ground.pairs.to_node])
    most = np.full(len(able), np.inf)
    room = ground.stage.parameters.credit_tuples - state.queue
    for tasks, pairs in reversed(ground.in_order):
        share = np.minimum(wire[pairs], room[targets[pairs]] / asked_of[targets[pairs]])
        share = np.where(asked[pairs] > 0, share * wanted[sources[pairs]], np.inf)
        np.minimum.at(most, sources[pairs], share)
        room[tasks] = np.maximum(0.0, room[tasks] + np.minimum(able[tasks], most[tasks]))
    return most, room
