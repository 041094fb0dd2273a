"""Rows over time: rates that change, strategies that follow, in discrete-event simulation.

Baselines lay tasks out once and leave them there, and so does Ns-Stream, before anything runs. A
paper's strategy looks every 30 s; it scales if it scales at all, places anew where there is an
occasion (`following`), and sets the shares of its edges. A change of places stops the topology as a
whole for `REBALANCE_S`, as Storm's does; Auto moves make before break. Strategies see samples with
noise.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from bench.papers.following import Following
from bench.papers.rows import Said, numbers_of
from bench.papers.setting import Setting
from bench.papers.systems import EVEN, Kind, Sight, System, lay_out
from bench.papers.trial import Layout
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import Permits, PlacementLimits
from thalweg_scheduling.simulate.changing import Moving
from thalweg_scheduling.simulate.profiles import Profile
from thalweg_scheduling.simulate.sampling import MemoryUse
from thalweg_scheduling.simulate.stage import Program
from thalweg_scheduling.simulate.trial import Scenario, run_trial
from thalweg_scheduling.simulate.windows import Trial

REBALANCE_S = 2.0
"""Such that it adds some 40 ms to the mean of a minute, as Hd-Stream's re-scheduling does."""
SWITCH_S = 0.1
LOOK_S = 30.0
EQ_6 = (0.50, 0.35, 0.15)
"""Ra-Stream's α and β, and what is left: for CPU, memory and the network."""

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
    paper: Mapping[str, Said]
    more_is_better: bool = False
    ranks: tuple[str, ...] = ()
    """Whom the paper has before whom where it has no numbers, the best first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One run of a paper."""

    name: str
    setting: Setting
    profile: Profile
    duration_s: float
    spans: tuple[Span, ...]
    base: str = "Even"
    """The baseline that gains are told against."""
    contradicts: str = ""
    """Why it is reported only; empty where it counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """A span with everybody's number."""

    run: Run
    span: Span
    values: Mapping[str, float]

    def gain(self, name: str) -> float:
        """How much better than the baseline a system is, as a share of the baseline's number."""
        return self._gain(self.values[name], self.values[self.run.base])

    def paper_gain(self, name: str) -> float | None:
        """The same by the paper's numbers."""
        numbers = numbers_of(self.span.paper)
        if name not in numbers or self.run.base not in numbers:
            return None
        return self._gain(numbers[name], numbers[self.run.base])

    def _gain(self, value: float, base: float) -> float:
        return value / base - 1 if self.span.more_is_better else 1 - value / base


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


def resources_percent(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> float:
    """Ra-Stream's Eq 6, the mean over the nodes that are used."""
    return float(np.mean(_resources(trial, setting, begin_s, end_s)))


def resources_spread(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> float:
    """How far the same is from its mean, window by window: the standard deviation."""
    return float(np.std(_resources(trial, setting, begin_s, end_s)))


def _resources(trial: Trial, setting: Setting, begin_s: float, end_s: float) -> list[float]:
    there = np.array([machine.memory_bytes for machine in setting.machines])
    found = []
    for one in trial.windows:
        if begin_s < one.at_s <= end_s + 1e-9:
            used = one.memory_bytes > 0
            parts = (one.node_utilization, one.memory_bytes / there, one.network_utilization)
            weighted = sum(weight * part for weight, part in zip(EQ_6, parts, strict=True))
            found.append(100 * float(np.asarray(weighted)[used].mean()))
    return found


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
    """One system's run; those that place anew begin with Even's layout."""
    setting = run.setting
    if system.grouping is not None:
        setting = grouped_setting(setting, system.grouping)
    follows = system.kind in (Kind.PAPER, Kind.OURS)
    first = first_layout(system, setting, run.profile.rate_per_s(0.0))
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
    decider = Following(system, setting) if follows else None
    return run_trial(scenario, decider, seed=seed)


def first_layout(system: System, setting: Setting, rate_per_s: float) -> Layout:
    """What runs at the beginning."""
    if system.deploys_once:
        once = replace(system, sight=Sight.SUBMITTED, regroup=None, scale=None)
        return lay_out(once, setting, rate_per_s)
    follows = system.kind in (Kind.PAPER, Kind.OURS)
    return lay_out(EVEN if follows else system, setting, rate_per_s)


def grouped_setting(setting: Setting, grouping: GroupingType, edge: int = 0) -> Setting:
    """The same with another grouping on one edge, as it is while a topology runs."""
    streams = list(setting.streams)
    streams[edge] = replace(streams[edge], grouping=grouping)
    return replace(setting, streams=tuple(streams))
