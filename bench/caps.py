"""1,024 tasks against CAPS: who loads the worst worker less, and how long it takes to find out.

CAPS balances three dimensions; Auto lowers J under capacities. So Auto is given capacities a little
over what the worst worker must carry at least, and more until everything fits. Its time is that of
all attempts.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from bench.caps_search import NETWORK, Workers, bottleneck, tuned
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
ROOM = sorted(
    (
        (compute, state, network)
        for compute in (0.04, 0.1, 0.3)
        for state in (0.0, 0.2, 0.4)
        for network in (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 2.0)
    ),
    key=lambda room: (room[0], room[1] + room[2]),
)
"""Over what the worst worker must carry at least, in the order in which it is tried."""


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


def least_possible(workers: Workers) -> Floats:
    """Shape (3,): what the worst worker carries at least: the mean, or an uneven vertex's part."""
    mean = (workers.tasks[:, None] * workers.cost).sum(axis=0) / workers.count
    parts = np.ceil(workers.tasks / workers.count)[:, None] * workers.cost
    return np.asarray(np.maximum(mean, parts.max(axis=0)))


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


def ours(workers: Workers, snapshot: Snapshot, seed: int) -> Ints | None:
    """Counts of shape (vertices, workers) for the least capacity that Auto can place under."""
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    least = least_possible(workers)
    for room in ROOM:
        limit = np.append((1 + np.array(room)) * least, workers.slots)
        capacity = np.tile(limit, (workers.count, 1))
        rng = np.random.default_rng(seed)
        found = STRATEGIES["Auto"](replace(snapshot, capacity=capacity), movable=everyone, rng=rng)
        if not found.missing:
            return _counts(snapshot, found.node)
    return None


def _counts(snapshot: Snapshot, node: Ints) -> Ints:
    counts = np.zeros((len(snapshot.vertices), len(snapshot.nodes)), dtype=np.int64)
    np.add.at(counts, (snapshot.vertex_of, node), 1)
    return counts


def contest(workers: Workers, seeds: Sequence[int]) -> tuple[Balanced, list[Balanced]]:
    """CAPS once, since it draws no lots, and Auto for each seed, once before to get warm."""
    (plan, _), time = timed(lambda: tuned(workers))
    caps = Balanced(worst=bottleneck(workers, plan), time=time)
    snapshot = snapshot_for(workers)
    ours(workers, snapshot, seeds[0])
    found = []
    for seed in seeds:
        counts, time = timed(partial(ours, workers, snapshot, seed))
        worst = np.full(3, np.inf) if counts is None else bottleneck(workers, counts)
        found.append(Balanced(worst=worst, time=time))
    return caps, found


def run(tasks: int, queries: Sequence[str], seeds: Sequence[int]) -> str:
    """One line a query."""
    rows = []
    for name in queries:
        workers = workers_for(CAPSYS[name], tasks)
        caps, found = contest(workers, seeds)
        ratios = np.array([each.worst / np.maximum(caps.worst, 1e-9) for each in found])
        known = caps.worst > 0
        rows.append(
            (
                name,
                *(
                    spread(ratios[:, n].tolist()) if known[n] else "none"
                    for n in range(NETWORK + 1)
                ),
                f"{caps.time.cpu_s:.3g}",
                spread([each.time.cpu_s for each in found]),
                spread([each.time.wall_s for each in found]),
                spread([caps.time.cpu_s / each.time.cpu_s for each in found]),
                spread([PUBLISHED_S / each.time.wall_s for each in found]),
            )
        )
    head = (
        f"{tasks:,} tasks",
        "compute ÷ CAPS",
        "state ÷ CAPS",
        "network ÷ CAPS",
        "CAPS (ours) CPU s",
        "Auto CPU s",
        "Auto wall s",
        "times faster (CPU)",
        f"than the published {PUBLISHED_S:.0f} s",
    )
    return table(head, rows)


def main() -> None:
    """The six queries, five seeds, warm: least / median / most."""
    print(f"{machine()}\n\n{run(TASKS, list(CAPSYS), SEEDS)}")
