"""Rows over time: rates that change, strategies that follow, in discrete-event simulation.

Baselines lay tasks out once and leave them there. A paper's strategy looks every 30 s; it scales if
it scales at all, and places everything anew where the stream has changed by a tenth (no paper says
when). A change stops the whole topology for `REBALANCE_S`, as Storm's does; Auto moves make before
break. Strategies see samples with noise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from bench.papers.setting import Setting
from bench.papers.systems import EVEN, Kind, System, by_traffic, keeps_slots, lay_out
from thalweg_scheduling.decide import assignments_of, decide
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Permits, PlacementLimits
from thalweg_scheduling.model.plan import NOTHING_TO_DO, Move, Plan
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate.changing import Moving
from thalweg_scheduling.simulate.profiles import Profile
from thalweg_scheduling.simulate.sampling import MemoryUse
from thalweg_scheduling.simulate.stage import Program
from thalweg_scheduling.simulate.trial import Scenario, run_trial
from thalweg_scheduling.simulate.windows import Trial
from thalweg_scheduling.strategies import strategy_named

REBALANCE_S = 2.0
"""Such that it adds some 40 ms to the mean of a minute, as Hd-Stream's re-scheduling does."""
SWITCH_S = 0.1
CHANGED = 0.1
LOOK_S = 30.0

Reading = Callable[[Trial, Setting, float, float], float]
"""A number of a run between two times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """What the paper says of a stretch of its run."""

    name: str
    unit: str
    read: Reading
    begin_s: float
    end_s: float
    paper: Mapping[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a paper."""

    name: str
    setting: Setting
    profile: Profile
    duration_s: float
    spans: tuple[Span, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A span with everybody's number."""

    run: Run
    span: Span
    values: Mapping[str, float]


def latency_ms(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> float:
    """Complete latency with the fixed part."""
    seconds = setting.constants.fixed_s + trial.mean("complete_latency_s", begin_s, end_s)
    return 1000 * seconds


def highest_latency_ms(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> float:
    """The same in the worst window."""
    chosen = [one for one in trial.windows if begin_s < one.at_s <= end_s + 1e-9]
    return 1000 * (setting.constants.fixed_s + max(one.complete_latency_s for one in chosen))


def highest_minute_ms(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> float:
    """The same in the worst minute."""
    minutes = np.arange(begin_s, end_s, 60.0)
    return max(latency_ms(trial, setting, at, at + 60.0) for at in minutes.tolist())


def component_ms(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> float:
    """Md-Stream's latency."""
    seconds = setting.constants.fixed_s + trial.mean("component_latency_s", begin_s, end_s)
    return 1000 * seconds


def throughput(trial: Trial, _: Setting, begin_s: float, end_s: float) -> float:
    """What got through, tuples/s."""
    return trial.mean("throughput_per_s", begin_s, end_s)


def nodes(trial: Trial, _: Setting, begin_s: float, end_s: float) -> float:
    """Nodes with tasks."""
    return trial.mean("nodes_used", begin_s, end_s)


def cpu_percent(trial: Trial, _: Setting, begin_s: float, end_s: float) -> float:
    """CPU of the nodes that are used."""
    return 100 * trial.mean("utilization", begin_s, end_s)


def mean_use_percent(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> float:
    """The mean of CPU and memory of the nodes that are used: Hd-Stream's utilisation."""
    there = np.array([machine.memory_bytes for machine in setting.machines])
    chosen = [one for one in trial.windows if begin_s < one.at_s <= end_s + 1e-9]
    memory = [float((one.memory_bytes / there)[one.memory_bytes > 0].mean()) for one in chosen]
    return (cpu_percent(trial, setting, begin_s, end_s) + 100 * float(np.mean(memory))) / 2


def capacity_of(vertex: int) -> Reading:
    """Storm's capacity of a vertex: how busy its tasks are."""

    def read(trial: Trial, _: Setting, begin_s: float, end_s: float) -> float:
        chosen = [one for one in trial.windows if begin_s < one.at_s <= end_s + 1e-9]
        return float(np.mean([one.vertex_busy[vertex] for one in chosen]))

    return read


def run_over_time(run: Run, systems: Sequence[System], *, seed: int = 1) -> list[Told]:
    """Everybody's numbers for all spans of a run."""
    trials = {system.name: try_over_time(run, system, seed=seed) for system in systems}
    return [
        Told(
            run=run,
            span=span,
            values=MappingProxyType(
                {
                    name: span.read(trial, run.setting, span.begin_s, span.end_s)
                    for name, trial in trials.items()
                }
            ),
        )
        for span in run.spans
    ]


def try_over_time(run: Run, system: System, *, seed: int) -> Trial:
    """One system's run; those that follow the stream begin with Even's layout."""
    setting = run.setting if system.regroup is None else near_setting(run.setting)
    follows = system.kind in (Kind.PAPER, Kind.OURS)
    first = lay_out(EVEN if follows else system, setting, run.profile.rate_per_s(0.0))
    constants = setting.constants
    limits = setting.snapshot().limits
    placement = PlacementLimits(shared_processes=True, cool_down_s=LOOK_S)
    permits = Permits(move=True, scale=system.scale is not None, regroup=True)
    scenario = Scenario(
        snapshot=replace(
            setting.snapshot(),
            placement=first.node,
            process=first.process,
            limits=replace(limits, permits=permits, placement=placement),
        ),
        program=Program(
            vertices=setting.vertex_profiles(1.0),
            edges=setting.edge_profiles,
            parameters=setting.parameters,
        ),
        profile=run.profile,
        duration_s=run.duration_s,
        decide_every_s=LOOK_S,
        memory=MemoryUse(process_bytes=constants.process_bytes, task_bytes=constants.task_bytes),
        moving=Moving(switch_s=SWITCH_S)
        if system.kind is Kind.OURS
        else Moving(rebalance_s=REBALANCE_S),
    )
    decider = _Following(system, setting) if follows else None
    return run_trial(scenario, decider, seed=seed)


def near_setting(setting: Setting, edge: int = 0) -> Setting:
    """The same with one edge near-source, as it is while a topology runs."""
    streams = list(setting.streams)
    streams[edge] = replace(streams[edge], grouping=GroupingType.NEAR_SOURCE)
    return replace(setting, streams=tuple(streams))


class _Following:
    """A strategy that follows the stream."""

    def __init__(self, system: System, setting: Setting) -> None:
        self._system, self._setting = system, setting
        self._placed_by = 0.0
        """The stream by which tasks were last placed, tuples/s."""

    def __call__(self, snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan:
        name, permits = self._system.name, snapshot.limits.permits
        if name == "Auto" or snapshot.unplaced.size:
            return self._in_slots(snapshot, decide(snapshot, name, now_s=now_s, rng=rng))
        only = replace(snapshot.limits, permits=replace(permits, move=False))
        plan = decide(replace(snapshot, limits=only), name, now_s=now_s, rng=rng)
        flows = 0.0 if snapshot.traffic is None else float(snapshot.traffic.tuples_per_s.sum())
        if plan.replicas:
            # The tasks that come are placed beside the others; then all are placed anew.
            self._placed_by = 0.0
            return plan
        if abs(flows - self._placed_by) <= CHANGED * self._placed_by or flows <= 0:
            return plan
        self._placed_by = flows
        return self._anew(snapshot, plan, rng)

    def _anew(self, snapshot: Snapshot, plan: Plan, rng: np.random.Generator) -> Plan:
        everyone = np.ones(len(snapshot.placement), dtype=np.bool_)
        place = strategy_named(self._system.name).place
        proposal = place(snapshot, movable=everyone, rng=rng)
        if proposal.missing:
            return plan
        moves = tuple(
            Move(task=task, source=snapshot.nodes[a], target=snapshot.nodes[b])
            for task, a, b in zip(
                snapshot.task_names, snapshot.placement, proposal.node, strict=True
            )
            if a != b
        )
        processes = dict(zip(snapshot.task_names, proposal.process.tolist(), strict=True))
        placed = Plan(
            strategy=self._system.name,
            assignments=assignments_of(snapshot, proposal.node),
            processes=MappingProxyType(processes),
            moves=moves,
            reasons=(NOTHING_TO_DO,),
            memory=plan.memory,
        )
        return self._in_slots(snapshot, placed)

    def _in_slots(self, snapshot: Snapshot, plan: Plan) -> Plan:
        """The same with processes as the setting allows them."""
        position = {name: place for place, name in enumerate(snapshot.nodes)}
        if plan.replicas or len(plan.assignments) != len(snapshot.task_names):
            return plan
        node = np.array([position[plan.assignments[name]] for name in snapshot.task_names])
        replicas = {vertex.name: vertex.replicas for vertex in snapshot.vertices}
        setting = self._setting.with_replicas(replicas)
        process = np.array([plan.processes.get(name, -1) for name in snapshot.task_names])
        if not plan.processes or keeps_slots(setting, node, process):
            return plan
        slots = by_traffic(setting, node, snapshot).tolist()
        return replace(
            plan,
            processes=MappingProxyType(dict(zip(snapshot.task_names, slots, strict=True))),
        )
