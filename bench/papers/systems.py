"""Who lays the tasks out: the baselines of the papers, the papers' strategies, and ours.

Baselines see requests only, as Storm's did; some `-like` ones also see traffic, as theirs did.
R-Storm and its kin need requests that say something: tasks request what they use when Even is at
its limit. Sgp-Stream's RAS was run on Storm's defaults. Strategies see what was measured of the
layout before, with noise, beginning with Even.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import Enum

import numpy as np

from bench.papers.setting import NOW_S, Setting
from bench.papers.trial import Layout, measured, try_out
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.place.baselines import BASELINES
from thalweg_scheduling.place.proposal import Placer, Proposal
from thalweg_scheduling.scale import Scaler
from thalweg_scheduling.strategies import STRATEGIES, strategy_named

LESS = 0.95
TURN_S = 90.0
"""Longer than any cool-down."""
TURNS = 60
QUIET_TURNS = 12
"""Longer than the wait before a scale-down."""


class NoRoom(ValueError):
    """A system could not place every task."""


class Kind(Enum):
    """What a comparison with it may be used for."""

    RULE = "published rule"
    LIKE = "described only"
    PAPER = "the paper"
    OURS = "ours"


class Sight(Enum):
    """What a system knows of the cluster."""

    DEFAULTS = "Storm's defaults"
    REQUESTS = "requests"
    TRAFFIC = "requests and traffic"
    MEASURED = "everything measured"
    SUBMITTED = "requests, before anything runs"


Regroup = Callable[[Layout, float, np.random.Generator], Layout]
"""Sets the shares of a layout's edges at a rate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One competitor."""

    name: str
    kind: Kind
    place: Placer
    sight: Sight
    scale: Scaler | None = None
    """Sets the number of tasks first, where a row is about that."""
    regroup: Regroup | None = None
    own_processes: bool = False
    """Whether its proposal says who shares a process."""
    in_turn: bool = True
    """Otherwise: whether tasks take the slots of a node in turn, as Storm's do, or by traffic."""
    grouping: GroupingType | None = None
    """What the first edge is while a topology runs, where `regroup` says what comes of it."""
    deploys_once: bool = False
    """Whether it lays tasks out before anything runs and leaves them there."""


EVEN = System(name="Even", kind=Kind.RULE, place=STRATEGIES["Even"].place, sight=Sight.DEFAULTS)
RAS = System(
    name="RAS", kind=Kind.RULE, place=STRATEGIES["ResourceAware"].place, sight=Sight.DEFAULTS
)
R_STORM = System(name="R-Storm", kind=Kind.RULE, place=BASELINES["R-Storm"], sight=Sight.REQUESTS)
SP_ANT = System(
    name="SP-Ant-like", kind=Kind.LIKE, place=BASELINES["SP-Ant-like"], sight=Sight.TRAFFIC
)
TOP_STORM = System(
    name="TOP-Storm-like", kind=Kind.LIKE, place=BASELINES["TOP-Storm-like"], sight=Sight.REQUESTS
)
LC_STREAM = System(
    name="Lc-Stream-like", kind=Kind.LIKE, place=BASELINES["Lc-Stream-like"], sight=Sight.TRAFFIC
)


def strategy(
    name: str,
    *,
    regroup: Regroup | None = None,
    grouping: GroupingType | None = None,
    scales: bool = False,
    in_turn: bool = False,
) -> System:
    """A paper's strategy, or ours, by the word that a user writes.

    `in_turn` is for papers that say nothing of processes: then Storm deals them out.
    """
    found = strategy_named(name)
    ours = name == "Auto"
    return System(
        name=name,
        kind=Kind.OURS if ours else Kind.PAPER,
        place=found.place,
        sight=Sight.MEASURED,
        scale=found.scale if scales else None,
        regroup=regroup,
        own_processes=not (ours or in_turn),
        in_turn=in_turn,
        grouping=grouping,
        deploys_once=name == "NsStream",
    )


def lay_out(
    system: System,
    setting: Setting,
    rate_per_s: float,
    *,
    seed: int = 1,
    before: Layout | None = None,
) -> Layout:
    """The system's layout for a setting; `before` is what runs while it measures."""
    rng = np.random.default_rng(seed)
    if before is None and system is not EVEN:
        before = lay_out(EVEN, setting, rate_per_s)
    if before is not None and system.scale is not None:
        before = _scaled(system.scale, before, rate_per_s, rng)
        setting = before.setting
    snapshot, proposal = _asked(system, _seen(system, setting, rate_per_s, before, rng), rng)
    layout = Layout(
        setting=setting, node=proposal.node, process=_processes(system, setting, proposal, snapshot)
    )
    return layout if system.regroup is None else system.regroup(layout, rate_per_s, rng)


def _scaled(scale: Scaler, layout: Layout, rate_per_s: float, rng: np.random.Generator) -> Layout:
    """Look and scale until nothing changes for a while, tasks being spread evenly meanwhile."""
    memory: Memory | None = None
    last_scaled_at_s: float | None = None
    quiet = 0
    for turn in range(TURNS):
        now_s = NOW_S + turn * TURN_S
        snapshot = replace(
            measured(layout, rate_per_s, rng, now_s=now_s), last_scaled_at_s=last_scaled_at_s
        )
        scaling = scale(snapshot, now_s=now_s, memory=memory)
        memory = scaling.memory
        quiet = 0 if scaling.replicas else quiet + 1
        if quiet >= QUIET_TURNS:
            break
        if scaling.replicas:
            last_scaled_at_s = now_s
            layout = lay_out(EVEN, layout.setting.with_replicas(scaling.replicas), rate_per_s)
    return layout


def _asked(
    system: System, snapshot: Snapshot, rng: np.random.Generator
) -> tuple[Snapshot, Proposal]:
    """The proposal; who requests too much to fit requests less, as users do."""
    everyone = np.ones(len(snapshot.placement), dtype=np.bool_)
    proposal = system.place(snapshot, movable=everyone, rng=rng)
    for _ in range(40 if system.sight in (Sight.REQUESTS, Sight.TRAFFIC) else 0):
        if not proposal.missing:
            break
        snapshot = replace(snapshot, demand=snapshot.demand * [LESS, 1.0, 1.0])
        proposal = system.place(snapshot, movable=everyone, rng=rng)
    if proposal.missing:
        raise NoRoom(f"{system.name}: {proposal.missing[0].message}")
    return snapshot, proposal


def _seen(
    system: System,
    setting: Setting,
    rate_per_s: float,
    before: Layout | None,
    rng: np.random.Generator,
) -> Snapshot:
    if system.sight is Sight.SUBMITTED:
        return setting.snapshot()
    if system.sight is Sight.DEFAULTS or before is None:
        return setting.as_declared()
    found = measured(before, rate_per_s, rng)
    if system.sight is Sight.MEASURED:
        return found
    return replace(
        setting.snapshot(),
        demand=_requests(setting),
        traffic=found.traffic if system.sight is Sight.TRAFFIC else None,
    )


def _requests(setting: Setting) -> Floats:
    """What each task uses when Even is at its limit."""
    layout = lay_out(EVEN, setting, 1.0)
    limit = try_out(layout, 1.0).limit_per_s
    demand = np.array(setting.snapshot().demand)
    demand[:, 0] = try_out(layout, limit).analysis.cpu_cores
    return demand


def _processes(system: System, setting: Setting, proposal: Proposal, snapshot: Snapshot) -> Ints:
    if system.own_processes and keeps_slots(setting, proposal.node, proposal.process):
        return proposal.process
    if system.in_turn:
        return in_turn(setting, proposal.node)
    return by_traffic(setting, proposal.node, snapshot)


def keeps_slots(setting: Setting, node: Ints, process: Ints) -> bool:
    """Whether no process has more tasks and no node more processes than there may be."""
    _, first, tasks = np.unique(process, return_index=True, return_counts=True)
    hosted = np.bincount(node[first], minlength=len(setting.machines))
    return bool(
        np.all(tasks <= setting.tasks_per_process) and np.all(hosted <= setting.processes_per_node)
    )


def in_turn(setting: Setting, node: Ints) -> Ints:
    """Storm's way: the tasks of a node take its slots in turn."""
    process = np.zeros(len(node), dtype=np.int64)
    count = np.zeros(len(setting.machines), dtype=np.int64)
    for task, at in enumerate(node):
        process[task] = at * setting.processes_per_node + count[at] % setting.processes_per_node
        count[at] += 1
    return process


def by_traffic(setting: Setting, node: Ints, snapshot: Snapshot) -> Ints:
    """Tasks that exchange most share a process, as long as it has room for both."""
    process = np.full(len(node), -1, dtype=np.int64)
    tasks = np.zeros(len(setting.machines) * setting.processes_per_node, dtype=np.int64)
    for task in _busiest_pairs(snapshot, node):
        slots = node[task] * setting.processes_per_node + np.arange(setting.processes_per_node)
        room = tasks[slots] < setting.tasks_per_process
        pull = _pull(snapshot, task, process, slots)
        best = int(slots[np.lexsort((slots, tasks[slots], -pull, ~room))[0]])
        process[task] = best
        tasks[best] += 1
    return process


def _busiest_pairs(snapshot: Snapshot, node: Ints) -> list[int]:
    traffic = snapshot.traffic
    if traffic is None:
        return list(range(len(node)))
    source, target = traffic.sources, traffic.targets
    near = node[source] == node[target]
    order = np.flatnonzero(near)[np.argsort(-traffic.tuples_per_s[near], kind="stable")]
    ends = np.stack([source[order], target[order]], axis=1).ravel().tolist()
    return list(dict.fromkeys([*ends, *range(len(node))]))


def _pull(snapshot: Snapshot, task: int, process: Ints, slots: Ints) -> Floats:
    """Shape (slots,): what the task exchanges with those that are in each process."""
    traffic = snapshot.traffic
    pull = np.zeros(len(slots))
    if traffic is None:
        return pull
    for mine, other in (
        (traffic.sources, traffic.targets),
        (traffic.targets, traffic.sources),
    ):
        here = mine == task
        there = process[other[here]]
        for place, slot in enumerate(slots):
            pull[place] += traffic.tuples_per_s[here][there == slot].sum()
    return pull
