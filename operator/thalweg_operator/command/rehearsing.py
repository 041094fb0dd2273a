"""A run of a topology from files: what is run, and how its outcome is told."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

from thalweg_operator.command.charts import why_changed
from thalweg_operator.command.files import WrongFile, read_table
from thalweg_operator.command.measured import assumed_loads
from thalweg_operator.command.offline import Answer, Case
from thalweg_operator.errors import OperatorError
from thalweg_scheduling.decide import decide
from thalweg_scheduling.model.errors import SchedulingError
from thalweg_scheduling.model.limits import Permits
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.simulate.changing import Moving, carried_out
from thalweg_scheduling.simulate.profiles import InvalidProfile, Profile, parse_profile
from thalweg_scheduling.simulate.programs import assumed_program, measured_program, refuse_unknown
from thalweg_scheduling.simulate.stage import Program
from thalweg_scheduling.simulate.trial import Mode, Scenario, run_trial
from thalweg_scheduling.simulate.windows import Trial, Window

PROFILE_COLUMNS = ("seconds", "tuples_per_second")
_WINDOWS_S = (5.0, 10.0, 15.0, 30.0)
_MOST_WINDOWS = 360
"""A chart needs no more points than pixels."""
_ROWS = 12
_DECIDE_EVERY_S = 30.0
UNKNOWN = "–"


class CannotRun(OperatorError):
    """The files are right, but not enough to run anything."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """What the command was asked for."""

    strategy: str
    profile: Profile
    profile_words: str
    minutes: float
    seed: int
    fixed: bool
    pause_s: float
    mode: Mode


def read_profile(words: str) -> Profile:
    """A profile as it is written, or from a CSV file."""
    kind, _, name = words.partition(":")
    if kind != "file":
        return parse_profile(words)
    path = Path(name)
    rows = read_table(path, PROFILE_COLUMNS)
    if not rows:
        raise WrongFile(path, "there is no line after the header; a rate is needed", 2)
    times = [row.number("seconds") for row in rows]
    for row, before, at in zip(rows[1:], times, times[1:], strict=False):
        if at <= before:
            raise row.wrong(f"seconds must rise from line to line; {at:g} is not after {before:g}")
    rates = tuple(row.number("tuples_per_second") for row in rows)
    try:
        return Profile(times_s=tuple(times), rates_per_s=rates)
    except InvalidProfile as error:
        raise WrongFile(path, str(error)) from None


def program_of(case: Case, wish: Wish) -> tuple[Program, str]:
    """What the tasks do, and where that is known from."""
    snapshot = case.snapshot
    if snapshot.traffic is None:
        rate = wish.profile.rate_per_s(0.0) or wish.profile.mean_per_s(60 * wish.minutes)
        if not rate > 0:
            raise CannotRun("the profile offers no tuples at all")
        if snapshot.loads is not None:
            raise CannotRun("--loads says nothing without --rates, which says who sends to whom")
        told = f"assumed: tasks are as busy as they should be at {rate:g} tuples/s"
        return assumed_program(snapshot, rate), told
    told = "from --rates and --loads"
    if snapshot.loads is None:
        snapshot = replace(snapshot, loads=assumed_loads(snapshot, snapshot.traffic))
        told = "from --rates; assumed: tasks are as busy as they should be at these"
    program = measured_program(snapshot)
    try:
        refuse_unknown(snapshot, program)
    except SchedulingError as error:
        raise CannotRun(f"{error}: see --rates and --loads") from None
    return program, told


def rehearse(
    case: Case, answer: Answer, wish: Wish, progress: Callable[[float], None]
) -> tuple[Trial, str]:
    """Run it from the first placement on; and where the costs of a tuple are known from."""
    program, told = program_of(case, wish)
    placed = carried_out(replace(case.snapshot, traffic=None, loads=None), answer.plan)
    permits = Permits(move=True, scale=True, regroup=True, sleep=True)
    placement = placed.limits.placement
    # Tasks that share a process from the first placement on stay together, as in a cluster.
    whole = replace(placement, whole_processes=placement.shared_processes)
    limits = replace(placed.limits, permits=permits, placement=whole)
    scenario = Scenario(
        snapshot=replace(placed, limits=limits, memory=Memory(at_s=0.0, began_s=0.0)),
        program=program,
        profile=wish.profile,
        duration_s=60 * wish.minutes,
        report_every_s=_window_s(60 * wish.minutes),
        decide_every_s=_DECIDE_EVERY_S,
        moving=Moving(switch_s=wish.pause_s),
        mode=wish.mode,
    )

    def decider(snapshot: Snapshot, now_s: float, rng: np.random.Generator) -> Plan:
        return decide(snapshot, wish.strategy, now_s=now_s, rng=rng)

    trial = run_trial(scenario, None if wish.fixed else decider, seed=wish.seed, progress=progress)
    return trial, told


def facts(trial: Trial, wish: Wish, told: str) -> list[tuple[str, str]]:
    """The run in a few lines."""
    last = trial.windows[-1]
    return [
        ("strategy", wish.strategy + (", nothing changes" if wish.fixed else "")),
        ("profile", f"{wish.profile_words}, {wish.minutes:g} min, seed {wish.seed}"),
        ("costs of a tuple", told),
        ("mode", f"{trial.mode}: {_MODES[trial.mode]}"),
        ("latency", f"{_ms(trial.mean('latency_s'))} (complete "
         f"{_ms(trial.mean('complete_latency_s'))})"),
        ("throughput", f"{_number(trial.mean('throughput_per_s'))} of "
         f"{_number(trial.mean('offered_per_s'))} tuples/s offered"),
        ("failed", f"{_number(float(trial.over('failed').sum()))} tuples took longer than 30 s"),
        ("waiting outside", f"{_number(last.backlog_tuples)} tuples at the end"),
        ("changes", f"{len(trial.decisions)}; {int(trial.over('moved').sum())} tasks moved"),
    ]  # fmt: skip


def show(console: Console, trial: Trial, lines: Sequence[tuple[str, str]]) -> None:
    """A dozen moments, then the facts, then what was changed and why."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for number, word in enumerate(_COLUMNS):
        table.add_column(word, justify="left" if number == len(_COLUMNS) - 1 else "right")
    every = max(1, round(len(trial.windows) / _ROWS))
    for window in trial.windows[every - 1 :: every]:
        table.add_row(*_cells(window))
    console.print(table)
    told = [f"{word:<17} {value}" for word, value in lines]
    told += [f"{at_s / 60:8.1f} min  {why_changed(reasons)}" for at_s, reasons in trial.decisions]
    console.print()
    console.print("\n".join(told), markup=False, highlight=False, soft_wrap=True)


def as_json(trial: Trial, wish: Wish, told: str) -> dict[str, object]:
    """The fields that programs rely on; what is unknown is null."""
    return {
        "strategy": wish.strategy,
        "profile": wish.profile_words,
        "minutes": wish.minutes,
        "seed": wish.seed,
        "mode": str(trial.mode),
        "costs": told,
        "latency_seconds": _known(trial.mean("latency_s")),
        "complete_latency_seconds": _known(trial.mean("complete_latency_s")),
        "throughput_per_second": _known(trial.mean("throughput_per_s")),
        "offered_per_second": _known(trial.mean("offered_per_s")),
        "failed_tuples": float(trial.over("failed").sum()),
        "windows": [_window(window) for window in trial.windows],
        "decisions": [
            {
                "seconds": at_s,
                "reasons": [{"code": each.code, "message": each.message} for each in reasons],
            }
            for at_s, reasons in trial.decisions
        ],
    }


def _window_s(duration_s: float) -> float:
    """The shortest that gives few enough windows; beyond these, whole decisions."""
    long_s = _DECIDE_EVERY_S * math.ceil(duration_s / _MOST_WINDOWS / _DECIDE_EVERY_S)
    return next((each for each in _WINDOWS_S if duration_s / each <= _MOST_WINDOWS), long_s)


def _window(window: Window) -> dict[str, object]:
    told: dict[str, object] = {
        word: _known(float(getattr(window, name))) for word, name in _WORDS.items()
    }
    return {**told, "replicas": dict(window.replicas)}


def _cells(window: Window) -> list[str]:
    return [
        f"{window.at_s / 60:.1f}",
        _number(window.offered_per_s),
        _number(window.throughput_per_s),
        _ms(window.latency_s),
        _ms(window.complete_latency_s),
        _number(window.backlog_tuples),
        f"{100 * window.utilization:.0f} %" if math.isfinite(window.utilization) else UNKNOWN,
        f"{window.nodes_used}/{window.nodes_awake}",
        " ".join(f"{name} {count}" for name, count in window.replicas.items()),
    ]


def _known(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _number(value: float) -> str:
    return f"{value:,.0f}" if math.isfinite(value) else UNKNOWN


def _ms(seconds: float) -> str:
    return f"{1e3 * seconds:.4g} ms" if math.isfinite(seconds) else UNKNOWN


_COLUMNS = (
    "MINUTE", "OFFERED/s", "THROUGHPUT/s", "LATENCY", "COMPLETE", "OUTSIDE", "CPU", "USED/AWAKE",
    "REPLICAS",
)  # fmt: skip
_MODES: Mapping[str, str] = {Mode.EVENTS: "every tuple by itself", Mode.BATCHES: "in steps of time"}
_WORDS: Mapping[str, str] = {
    "seconds": "at_s",
    "offered_per_second": "offered_per_s",
    "throughput_per_second": "throughput_per_s",
    "delivered_per_second": "delivered_per_s",
    "latency_seconds": "latency_s",
    "complete_latency_seconds": "complete_latency_s",
    "component_latency_seconds": "component_latency_s",
    "completed_tuples": "completed",
    "failed_tuples": "failed",
    "backlog_tuples": "backlog_tuples",
    "queued_tuples": "queued_tuples",
    "cpu_utilization": "utilization",
    "nodes_used": "nodes_used",
    "nodes_awake": "nodes_awake",
    "moved_tasks": "moved",
    "cross_domain_share": "cross_domain_share",
}
