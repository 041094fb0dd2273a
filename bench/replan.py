"""Deciding again after one per cent of the tasks changed, as the operator would: all of `decide`.

`lost`: these tasks have no node any more. `cordoned`: the nodes of these tasks take none any more.
`busier`: these tasks send and get ten times as much. What has to move is known for the first two;
for the third, the changed tasks are what may have to.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from bench.instances import NOW_S
from bench.streams import Size, many_topologies
from bench.tables import table
from bench.timing import SEEDS, Time, machine, spread, timed
from thalweg_scheduling.decide import decide
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.strategies import STRATEGIES

SIZE = Size(tasks=10_000, nodes=1_000, domains=8)
SHARE = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A snapshot after the change, and how many tasks have to move or be placed."""

    snapshot: Snapshot
    needed: int
    before: float
    """J of the placement before the change, at the rates after it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Replanned:
    """What came of it."""

    time: Time
    needed: int
    done: int
    """Tasks placed or moved."""
    before: float
    """J of the placement before, at the rates after the change."""
    after: float


def settled(size: Size, seed: int) -> Snapshot:
    """An instance in which everything is where Auto wants it, with a price on moves."""
    snapshot = many_topologies(size, seed)
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)
    rng = np.random.default_rng(seed)
    node = STRATEGIES["Auto"].place(snapshot, movable=everyone, rng=rng).node
    # A move has to gain what a task costs on average.
    price = objective(snapshot, node) / len(snapshot.tasks)
    # Any gain counts, so that what is measured is the search and not the patience.
    placement = replace(snapshot.limits.placement, move_cost=price, min_gain_percent=0.0)
    return replace(snapshot, placement=node, limits=replace(snapshot.limits, placement=placement))


def lose(snapshot: Snapshot, rng: np.random.Generator) -> Change:
    """One per cent of the tasks lost their node."""
    lost = _some(len(snapshot.tasks), rng)
    placement = np.array(snapshot.placement)
    placement[lost] = UNPLACED
    changed = replace(snapshot, placement=placement)
    return Change(snapshot=changed, needed=len(lost), before=_value(snapshot))


def cordon(snapshot: Snapshot, rng: np.random.Generator) -> Change:
    """One per cent of the nodes were cordoned; all their tasks have to go."""
    nodes = _some(len(snapshot.nodes), rng)
    eligible = np.ones(snapshot.eligible.shape, dtype=np.bool_)
    eligible[:, nodes] = False
    needed = int(np.isin(snapshot.placement, nodes).sum())
    changed = replace(snapshot, eligible=eligible)
    return Change(snapshot=changed, needed=needed, before=_value(changed))


def load(snapshot: Snapshot, rng: np.random.Generator) -> Change:
    """One per cent of the tasks talk ten times as much."""
    assert snapshot.traffic is not None
    busier = _some(len(snapshot.tasks), rng)
    traffic = snapshot.traffic
    theirs = np.isin(traffic.sources, busier) | np.isin(traffic.targets, busier)
    rates = np.where(theirs, 10 * traffic.tuples_per_s, traffic.tuples_per_s)
    changed = replace(snapshot, traffic=replace(traffic, tuples_per_s=rates))
    return Change(snapshot=changed, needed=len(busier), before=_value(changed))


def _value(snapshot: Snapshot) -> float:
    return objective(snapshot, snapshot.placement)


CHANGES: Mapping[str, Callable[[Snapshot, np.random.Generator], Change]] = {
    "lost": lose,
    "cordoned": cordon,
    "busier": load,
}


def _some(count: int, rng: np.random.Generator) -> Ints:
    return rng.choice(count, size=max(1, round(SHARE * count)), replace=False)


def replanned(change: Change, seed: int) -> Replanned:
    """Decide once to get warm, once for the clock."""
    snapshot = change.snapshot

    def work() -> Plan:
        return decide(snapshot, "Auto", now_s=NOW_S, rng=np.random.default_rng(seed))

    work()
    plan, time = timed(work)
    after = plan.objective if np.isfinite(plan.objective) else _value(snapshot)
    return Replanned(
        time=time,
        needed=change.needed,
        done=len(plan.placed) + len(plan.moves),
        before=change.before,
        after=after,
    )


def run(size: Size, seeds: Sequence[int]) -> str:
    """One line for each kind of change."""
    results: dict[str, list[Replanned]] = {name: [] for name in CHANGES}
    for seed in seeds:
        snapshot = settled(size, seed)
        for name, make in CHANGES.items():
            change = make(snapshot, np.random.default_rng([seed, 3]))
            results[name].append(replanned(change, seed))
    rows = [
        (
            name,
            spread([each.time.wall_s for each in found]),
            spread([each.time.cpu_s for each in found]),
            spread([each.needed for each in found], digits=5),
            spread([each.done for each in found], digits=5),
            spread([100 * (each.done - each.needed) / size.tasks for each in found]),
            spread([each.after / each.before for each in found]),
        )
        for name, found in results.items()
    ]
    head = (
        size.label,
        "wall s",
        "CPU s",
        "needed",
        "placed or moved",
        "beyond need, % of tasks",
        "J after ÷ before",
    )
    return table(head, rows)


def main() -> None:
    """10,000 tasks, five seeds, warm: least / median / most."""
    print(f"{machine()}\n\n{run(SIZE, SEEDS)}")
