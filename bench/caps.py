"""1,024 tasks against CAPS: who loads the worst worker less, and how long it takes to find out.

CAPS balances three dimensions; Auto lowers J under capacities. So tasks are first dealt out and
exchanged until workers are equally full (bench/balancing.py); what the fullest one then carries in
each dimension is the capacity of all, and from there Auto places by traffic. Its time is that of
both.

One number for three dimensions is the worst worker over what it must carry at least, in the
dimension where that is most.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bench.balancing import TINY, balanced, least_possible
from bench.caps_search import NETWORK, REPEATS, Workers, bottleneck, tuned
from bench.catalog import CAPSYS, Query
from bench.instances import Cluster, snapshot_of
from bench.tables import table
from bench.timing import SEEDS, Time, machine, spread, timed
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.strategies import STRATEGIES

TASKS = 1_024
TASKS_PER_WORKER = 8
SLOTS = 9
PUBLISHED_S = 92.0
"""Auto-tuning for 1,024 tasks, as its authors measured it on 20 cores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balanced:
    """A plan's worst worker in compute, state and network, and the time."""

    worst: Floats
    time: Time


def workers_for(query: Query, tasks: int) -> Workers:
    """The query with its parallelism scaled up, on workers for eight tasks with a slot to spare."""
    total = sum(stage.tasks for stage in query.stages)
    stages = [
        replace(stage, tasks=max(1, round(stage.tasks * tasks / total))) for stage in query.stages
    ]
    largest = max(range(len(stages)), key=lambda position: stages[position].tasks)
    missing = tasks - sum(stage.tasks for stage in stages)
    stages[largest] = replace(stages[largest], tasks=stages[largest].tasks + missing)
    scaled = Query(stages=tuple(stages), edges=query.edges)
    return Workers(query=scaled, count=tasks // TASKS_PER_WORKER, slots=SLOTS)


def snapshot_for(workers: Workers) -> Snapshot:
    """All workers in one domain; compute, state, network and slots are resources."""
    cluster = Cluster(cpu_milli=(1,) * workers.count, domain_of=(0,) * workers.count)
    plain = snapshot_of(workers.query, cluster)
    demand = np.repeat(workers.cost, workers.tasks, axis=0)
    slots = np.ones((len(demand), 1))
    return replace(
        plain,
        resources=("compute", "state", "network", "slots"),
        demand=np.hstack([demand, slots]),
        capacity=np.zeros((workers.count, 4)),
    )


def ours(workers: Workers, snapshot: Snapshot, seed: int) -> Ints:
    """Counts of shape (vertices, workers): balanced, then by traffic where nobody gets fuller."""
    counts = balanced(workers)
    fullest = (counts.T @ workers.cost).max(axis=0)
    # The last digit of a sum must not decide.
    limit = np.append(fullest * (1 + 1e-9), workers.slots)
    begun = replace(
        snapshot,
        capacity=np.tile(limit, (workers.count, 1)),
        placement=np.concatenate(
            [np.repeat(np.arange(workers.count), vertex) for vertex in counts]
        ),
    )
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    rng = np.random.default_rng(seed)
    return _counts(snapshot, STRATEGIES["Auto"].place(begun, movable=everyone, rng=rng).node)


def _counts(snapshot: Snapshot, node: Ints) -> Ints:
    counts = np.zeros((len(snapshot.vertices), len(snapshot.nodes)), dtype=np.int64)
    np.add.at(counts, (snapshot.vertex_of, node), 1)
    return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """CAPS as described, CAPS with one repeat, and Auto for each seed."""

    caps: Balanced
    hasty: Balanced
    auto: list[Balanced]


def contest(workers: Workers, seeds: Sequence[int], repeats: int) -> Contest:
    """Auto runs once before it counts, to get warm."""
    caps, hasty = (_caps(workers, each) for each in (repeats, 1))
    snapshot = snapshot_for(workers)
    ours(workers, snapshot, seeds[0])
    found = []
    for seed in seeds:
        counts, time = timed(partial(ours, workers, snapshot, seed))
        found.append(Balanced(worst=bottleneck(workers, counts), time=time))
    return Contest(caps=caps, hasty=hasty, auto=found)


def _caps(workers: Workers, repeats: int) -> Balanced:
    (plan, _), time = timed(lambda: tuned(workers, repeats))
    return Balanced(worst=bottleneck(workers, plan), time=time)


def run(tasks: int, queries: Sequence[str], seeds: Sequence[int], repeats: int = REPEATS) -> str:
    """One table for what the worst worker carries, one for the time."""
    held = {
        name: (workers, contest(workers, seeds, repeats))
        for name in queries
        for workers in (workers_for(CAPSYS[name], tasks),)
    }
    loads = [_load_line(name, *each) for name, each in held.items()]
    times = [_time_line(name, each) for name, (_, each) in held.items()]
    return f"{table(LOAD_HEAD, loads)}\n\n{table(TIME_HEAD, times)}"


LOAD_HEAD = ("worst worker", "Auto ÷ CAPS", "compute", "state", "network", "CAPS", "Auto")
TIME_HEAD = (
    "time",
    "CAPS CPU s",
    "with one repeat",
    "Auto CPU s",
    "Auto wall s",
    "times faster (CPU)",
    "than with one repeat",
    f"than the published {PUBLISHED_S:.0f} s",
)


def _load_line(name: str, workers: Workers, held: Contest) -> list[str]:
    least, caps = np.maximum(least_possible(workers), TINY), held.caps.worst
    ratios = np.array([each.worst / np.maximum(caps, TINY) for each in held.auto])
    ours_at = [float(np.max(each.worst / least)) for each in held.auto]
    caps_at = float(np.max(caps / least))
    return [
        name,
        spread([each / caps_at for each in ours_at]),
        *(spread(ratios[:, n].tolist()) if caps[n] > 0 else "none" for n in range(NETWORK + 1)),
        f"{caps_at:.3g}",
        spread(ours_at),
    ]


def _time_line(name: str, held: Contest) -> list[str]:
    cpu_s = [each.time.cpu_s for each in held.auto]
    wall_s = [each.time.wall_s for each in held.auto]
    return [
        name,
        f"{held.caps.time.cpu_s:.3g}",
        f"{held.hasty.time.cpu_s:.3g}",
        spread(cpu_s),
        spread(wall_s),
        spread([held.caps.time.cpu_s / each for each in cpu_s]),
        spread([held.hasty.time.cpu_s / each for each in cpu_s]),
        spread([PUBLISHED_S / each for each in wall_s]),
    ]


def main() -> None:
    """The six queries, five seeds, warm: least / median / most."""
    print(f"{machine()}\n\n{run(TASKS, list(CAPSYS), SEEDS)}")
