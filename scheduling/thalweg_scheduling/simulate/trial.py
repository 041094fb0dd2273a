"""A run of a topology under a profile of rates, with a strategy that may change it on the way.

    trial = run_trial(
        Scenario(
            snapshot=snapshot,            # graph, nodes, limits and permits; placed or not
            program=Program(vertices={...}, edges={...}, parameters=Parameters()),
            profile=step(1000, (2500, 1800)),
            duration_s=3600,
        ),
        lambda snapshot, now_s, rng: decide(snapshot, "Auto", now_s=now_s, rng=rng),
        seed=1,
        progress=print,                   # gets the share of the run that is done
    )
    trial.mean("latency_s", 1800, 3600), trial.windows[-1].replicas

The strategy is asked once at the start for what has no node, then at the end of every decision
window. It sees the graph, the nodes, requests, and what `Sight` lets it see of the last window. It
answers with a Plan, or with None to leave everything as it is; no strategy at all leaves it, too.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import TypeAlias

import numpy as np

from thalweg_scheduling.model.errors import InvalidSnapshot
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.reasons import Reason
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate.batches import BatchEngine
from thalweg_scheduling.simulate.changing import (
    Moving,
    carried_out,
    is_same,
    moved_tasks,
    without_pending,
)
from thalweg_scheduling.simulate.events import TIMEOUT_S, Engine, EventEngine, event_kernels
from thalweg_scheduling.simulate.paths import Paths
from thalweg_scheduling.simulate.profiles import Profile
from thalweg_scheduling.simulate.sampling import MemoryUse, Sight, sampled
from thalweg_scheduling.simulate.stage import Counts, Program, Stage, stage_of
from thalweg_scheduling.simulate.windows import Trial, Window, window_of

Decider: TypeAlias = Callable[[Snapshot, float, np.random.Generator], Plan | None]
Progress: TypeAlias = Callable[[float], None]

EVENTS_UP_TO = 10_000_000
"""Visits of tuples to tasks up to which each is simulated by itself."""
COMPILED_FROM = 50_000
"""Visits up to which interpreted kernels are done before compiled ones are loaded."""


class Mode(StrEnum):
    """How finely time is cut."""

    AUTO = "Auto"
    EVENTS = "Events"
    BATCHES = "Batches"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """What is run, where, and for how long."""

    snapshot: Snapshot
    program: Program
    profile: Profile
    duration_s: float
    decide_every_s: float = 30.0
    report_every_s: float = 10.0
    tick_s: float = 1.0
    """Rates are constant for so long."""
    timeout_s: float = TIMEOUT_S
    sight: Sight = field(default_factory=Sight)
    moving: Moving = field(default_factory=Moving)
    memory: MemoryUse = field(default_factory=MemoryUse)
    mode: Mode = Mode.AUTO


def run_trial(
    scenario: Scenario,
    decider: Decider | None = None,
    *,
    seed: int,
    progress: Progress | None = None,
) -> Trial:
    """Run it; the same seed gives the same result."""
    run = _Run(scenario, decider, seed)
    windows = []
    reports = max(1, round(scenario.duration_s / scenario.report_every_s))
    for number in range(reports):
        windows.append(run.report(scenario.duration_s * (number + 1) / reports))
        if progress is not None:
            progress((number + 1) / reports)
    return Trial(windows=tuple(windows), decisions=tuple(run.decisions), mode=run.mode)


def expected_visits(scenario: Scenario, stage: Stage) -> float:
    """How many tuples the tasks will process in all, if everything gets through."""
    flow = Paths.of(stage.snapshot, stage.workload).flow(stage.offered_share)
    tuples = scenario.profile.mean_per_s(scenario.duration_s) * scenario.duration_s
    return float(flow.sum()) * tuples


class _Run:
    """One run, as far as it has come."""

    def __init__(self, scenario: Scenario, decider: Decider | None, seed: int) -> None:
        self._scenario = scenario
        self._decider = decider
        engine_rng, self._sight_rng, self._rng = np.random.default_rng(seed).spawn(3)
        self.decisions: list[tuple[float, tuple[Reason, ...]]] = []
        self._now_s = 0.0
        self._asleep: frozenset[str] = frozenset()
        self._pending: tuple[float, Snapshot] | None = None
        self._seen: Counts | None = None
        self._decided_s = 0.0
        snapshot = self._placed(scenario.snapshot)
        self._stage = stage_of(snapshot, scenario.program)
        self.mode = _mode(scenario, self._stage)
        visits = expected_visits(scenario, self._stage)
        self._engine: Engine = (
            BatchEngine(self._stage, timeout_s=scenario.timeout_s)
            if self.mode is Mode.BATCHES
            else EventEngine(
                self._stage,
                engine_rng,
                timeout_s=scenario.timeout_s,
                kernels=event_kernels() if visits > COMPILED_FROM else None,
            )
        )

    def report(self, until_s: float) -> Window:
        """Run on to a time and say what has come of it."""
        moved = self._carry_out_pending()
        while self._now_s < until_s - 1e-9:
            next_s = min(until_s, self._now_s + self._scenario.tick_s)
            rate = self._scenario.profile.rate_per_s((self._now_s + next_s) / 2)
            self._engine.advance(rate, next_s)
            self._now_s = next_s
        counts = self._engine.collect()
        self._seen = counts if self._seen is None else self._seen + counts
        window = window_of(
            self._stage,
            counts,
            at_s=until_s,
            moved=moved,
            awake=len(self._stage.snapshot.nodes) - len(self._asleep),
            memory_bytes=self._scenario.memory.on_nodes(self._stage),
        )
        if until_s - self._decided_s >= self._scenario.decide_every_s - 1e-9:
            self._decided_s = until_s
            self._decide()
        return window

    def _placed(self, snapshot: Snapshot) -> Snapshot:
        if not snapshot.unplaced.size:
            return snapshot
        after, reasons = self._answer(snapshot)
        if after is None or after.unplaced.size:
            raise InvalidSnapshot("not all tasks get a node, so there is nothing to run")
        self.decisions.append((self._now_s, reasons))
        return after

    def _decide(self) -> None:
        """Ask what should change, and remember it until it can take effect."""
        scenario, counts, present = self._scenario, self._seen, self._stage.snapshot
        self._seen = None
        if self._decider is None or self._pending is not None or counts is None:
            return
        view = sampled(
            self._stage, counts, scenario.sight, scenario.memory, self._sight_rng, now_s=self._now_s
        )
        after, reasons = self._answer(view)
        # Replicas were given; what has no node yet gets one in a second decision.
        if after is not None and after.unplaced.size:
            placed, more = self._answer(after)
            after, reasons = placed or after, (*reasons, *more)
        running = without_pending(after) if after is not None else None
        if after is None:
            return
        if running is None or is_same(running, present):
            # What comes to nothing may be worth remembering all the same.
            kept = replace(present, memory=after.memory)
            self._stage = replace(self._stage, snapshot=kept)
            return
        self.decisions.append((self._now_s, reasons))
        running = replace(running, traffic=None, loads=None, latency=present.latency)
        self._pending = self._now_s + scenario.moving.start_s, running

    def _answer(self, view: Snapshot) -> tuple[Snapshot | None, tuple[Reason, ...]]:
        """What there will be, if anything changes, and why."""
        plan = self._decider(view, self._now_s, self._rng) if self._decider else None
        if plan is None:
            return None, ()
        if replace(plan, asleep=()).changes_nothing:
            # Only a plan that is content with everything else says which nodes it needs.
            sleeps = frozenset(plan.asleep)
            if sleeps != self._asleep:
                self.decisions.append((self._now_s, plan.reasons))
            self._asleep = sleeps
            self._remember(plan)
            return None, ()
        after = carried_out(view, plan)
        if plan.replicas:
            after = replace(after, last_scaled_at_s=self._now_s)
        if plan.moves:
            after = replace(after, last_moved_at_s=self._now_s)
        return after, plan.reasons

    def _remember(self, plan: Plan) -> None:
        if plan.memory is not None:
            snapshot = replace(self._stage.snapshot, memory=plan.memory)
            self._stage = replace(self._stage, snapshot=snapshot)

    def _carry_out_pending(self) -> int:
        """Let a decision take effect whose time has come; how many tasks that moves."""
        if self._pending is None or self._pending[0] > self._now_s + 1e-9:
            return 0
        before, after = self._stage.snapshot, self._pending[1]
        self._pending = None
        self._asleep -= {after.nodes[at] for at in after.placement}
        self._stage = stage_of(after, self._scenario.program)
        self._engine.adopt(
            self._stage, self._scenario.moving.paused_until_s(before, after, self._now_s)
        )
        self._seen = None
        return int(moved_tasks(before, after).sum())


def _mode(scenario: Scenario, stage: Stage) -> Mode:
    if scenario.mode is not Mode.AUTO:
        return scenario.mode
    return Mode.EVENTS if expected_visits(scenario, stage) <= EVENTS_UP_TO else Mode.BATCHES
