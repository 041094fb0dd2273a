"""From one load to another: how many decisions until every vertex has what it needs.

Random programs run as fluids (bench/flowing.py). A scaler sees them every 15 s with 3 % noise on
each task, and what it asks for is there at the next look. Right is: no task is busier than 5 % over
the target of 70 %, and all tasks together are at most 5 % (or one task) more than the fewest that
keep to the target. Under one load a vertex may go above what it will need and come back once, to
work off what had queued up; turning round again is oscillation.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.flowing import Program, Stream, random_program
from bench.tables import table
from bench.timing import SEEDS, machine, spread
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.limits import Limits
from thalweg_scheduling.model.memory import Memory
from thalweg_scheduling.scale import Scaler, decide_replicas, follow_utilization

SCALERS: Mapping[str, Scaler] = {"DS2, ours": decide_replicas, "HPA": follow_utilization}
STEPS = (1.5, 5.0, 20.0, 0.2)
PROGRAMS = 20
PASS_S = 15.0
PASSES = 100
NOISE = 0.03
UTILIZATION = Limits().scaling.target_utilization


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """What one scaler did after one step of one program's load."""

    enough: int | None
    """Decisions that changed something until no vertex had too little; None if one always had."""
    right: int | None
    """The same until it was right, neither too little nor too much."""
    seconds: float
    """Until it was right."""
    came_back: int
    """Vertices that turned round once under the same load."""
    oscillations: int
    """How often any turned round again."""
    overshoot: float
    """The most tasks at any time, over the fewest, less one; only when the load went up."""
    final: float
    """The same at the end."""


def main() -> None:
    """Print the tables."""
    print(machine())
    print()
    print(render(run()))


Runs = Mapping[tuple[str, float], list[Run]]


def run(programs: int = PROGRAMS, seeds: tuple[int, ...] = SEEDS) -> Runs:
    """Every scaler, every step, every program and seed."""
    return {
        (name, step): [
            follow(scaler, random_program(program), step, np.random.default_rng([seed, program]))
            for program in range(programs)
            for seed in seeds
        ]
        for step in STEPS
        for name, scaler in SCALERS.items()
    }


def follow(scaler: Scaler, program: Program, step: float, rng: np.random.Generator) -> Run:
    """Let a program settle at one load, change it, and watch."""
    before = _first_load(program, rng)
    offered = before * step
    fewest = program.fewest(offered, UTILIZATION)
    stream = Stream(program, program.fewest(before, UTILIZATION), noise=NOISE, rng=rng)
    memory = _looked_once(scaler, stream, before)
    history = [np.array(stream.replicas)]
    changes, last_scaled_at_s = 0, None
    enough, right, right_at_s = None, None, float("nan")
    for turn in range(1, PASSES + 1):
        now_s = turn * PASS_S
        stream.run(offered, PASS_S)
        scaling = scaler(
            stream.snapshot(now_s, Limits(), last_scaled_at_s), now_s=now_s, memory=memory
        )
        memory = scaling.memory
        if scaling.replicas:
            changes, last_scaled_at_s = changes + 1, now_s
            stream.scale(scaling.replicas)
        history.append(np.array(stream.replicas))
        if not is_enough(program, offered, stream.replicas):
            continue
        enough = changes if enough is None else enough
        if right is None and not is_too_much(stream.replicas, fewest):
            right, right_at_s = changes, now_s
    tasks = np.array([int(replicas.sum()) for replicas in history])
    turns = _turns(history)
    return Run(
        enough=enough,
        right=right,
        seconds=right_at_s,
        came_back=int(np.count_nonzero(turns)),
        oscillations=int(np.maximum(turns - 1, 0).sum()),
        overshoot=float(tasks.max() / fewest.sum() - 1) if step > 1 else float("nan"),
        final=float(tasks[-1] / fewest.sum() - 1),
    )


def is_enough(program: Program, offered: float, replicas: Ints) -> bool:
    """Whether no task is busier than it should be."""
    busy = offered * program.gain / (replicas * program.true_rate_per_s)
    return bool(np.all(busy <= 1.05 * UTILIZATION))


def is_too_much(replicas: Ints, fewest: Ints) -> bool:
    """Whether there are more tasks than 5 %, or one, over the fewest."""
    spare = int(replicas.sum()) - int(fewest.sum())
    return spare > max(1.0, 0.05 * int(fewest.sum()))


def _first_load(program: Program, rng: np.random.Generator) -> float:
    """A load for which the busiest vertex needs two to ten tasks."""
    tasks = rng.uniform(2, 10)
    return float(tasks * UTILIZATION * np.min(program.true_rate_per_s / program.gain))


def _looked_once(scaler: Scaler, stream: Stream, offered: float) -> Memory | None:
    stream.run(offered, PASS_S)
    return scaler(stream.snapshot(0.0, Limits(), None), now_s=0.0).memory


def _turns(history: list[Ints]) -> Ints:
    """Shape (vertices,): how often each went the other way than before."""
    changes = np.sign(np.diff(np.array(history), axis=0))
    return np.array(
        [
            np.count_nonzero(np.diff(moves))
            for vertex in changes.T
            for moves in (vertex[vertex != 0],)
        ]
    )


def render(runs: Runs) -> str:
    """One line for each step and scaler."""
    return table(
        [
            "load",
            "scaler",
            "decisions until enough",
            "until right",
            "never right",
            "seconds",
            "came back",
            "oscillated",
            "most tasks over the least",
            "at the end",
        ],
        [_line(name, step, found) for (name, step), found in runs.items()],
    )


def _line(name: str, step: float, runs: list[Run]) -> list[str]:
    right = [run for run in runs if run.right is not None]
    overshoot = [100 * run.overshoot for run in runs if np.isfinite(run.overshoot)]
    return [
        f"× {step:g}",
        name,
        _spread([run.enough for run in runs]),
        _spread([run.right for run in runs]),
        f"{len(runs) - len(right)} of {len(runs)}",
        _spread([round(run.seconds) for run in right]),
        str(sum(run.came_back for run in runs)),
        str(sum(run.oscillations for run in runs)),
        f"{spread(overshoot)} %" if overshoot else "–",
        f"{spread([100 * run.final for run in runs])} %",
    ]


def _spread(values: Sequence[int | None]) -> str:
    counted = [float(value) for value in values if value is not None]
    return spread(counted, 4) if counted else "–"


if __name__ == "__main__":
    main()
