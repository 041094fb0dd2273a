"""Running the rows: every system's value, and the best that any plan is known to reach."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import gt, lt
from statistics import median

import numpy as np

from bench.papers.rows import Measure, Row, numbers_of
from bench.papers.setting import Setting
from bench.papers.systems import Kind, NoRoom, Sight, System, by_traffic, lay_out
from bench.papers.trial import Layout, Outcome, measured, try_out
from thalweg_scheduling.model.arrays import Ints

SEEDS = (1, 2, 3)
GRID = 500.0
FITTED = 1e-3
"""Constants fit a baseline's limit this well: it must not fall to the next step by rounding."""
TRIES = 400
REPLANS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What everybody reached in one row."""

    row: Row
    values: Mapping[str, float]
    kinds: Mapping[str, Kind]
    nodes: Mapping[str, int]
    """How many nodes each used."""
    machines: Mapping[str, tuple[int, ...]]
    """Which ones."""
    best: float
    """The best plan known, with the same nodes, tasks and groupings as any of them."""

    @property
    def name(self) -> str:
        """The row's."""
        return self.row.name

    def beats(self, one: float, other: float) -> bool:
        """Whether one number is better than the other."""
        return one > other if self.row.measure.more_is_better else one < other

    def gain(self, name: str) -> float:
        """How much better than the baseline a system is, as a share of the baseline's number."""
        return self._gain(self.values[name], self.values[self.row.base])

    @property
    def bound(self) -> float:
        """The gain of the best plan known."""
        return self._gain(self.best, self.values[self.row.base])

    def paper_gain(self, name: str) -> float | None:
        """The same by the paper's numbers."""
        numbers = numbers_of(self.row.paper)
        if name not in numbers or self.row.base not in numbers:
            return None
        return self._gain(numbers[name], numbers[self.row.base])

    def captured(self, name: str) -> float:
        """η: the part of what can be gained that a system gains; NaN where nothing can be."""
        whole = self.best - self.values[self.row.base]
        if abs(whole) < 1e-9 * abs(self.best):
            return float("nan")
        return (self.values[name] - self.values[self.row.base]) / whole

    def _gain(self, value: float, base: float) -> float:
        return value / base - 1 if self.row.measure.more_is_better else 1 - value / base


def run_row(
    row: Row, systems: Sequence[System], *, seeds: Sequence[int] = SEEDS, tries: int = TRIES
) -> Result:
    """Lay out by every system, and look for something better than all of them."""
    values: dict[str, float] = {}
    layouts: list[tuple[System, Layout]] = []
    for system in systems:
        found = [
            one
            for seed in (seeds if system.sight in (Sight.MEASURED, Sight.TRAFFIC) else (1,))
            if (one := _run(row, system, seed)) is not None
        ]
        if found:
            values[system.name] = median(value for value, _ in found)
            layouts.append((system, _best_of(row, found)))
    best = values[_leader(row, values)]
    if tries and not row.measure.is_of_nodes:
        best = _climbed(row, layouts, best, tries)
    return Result(
        row=row,
        values=values,
        kinds={system.name: system.kind for system in systems},
        nodes={system.name: layout.nodes_used for system, layout in layouts},
        machines={
            system.name: tuple(int(node) for node in np.unique(layout.node))
            for system, layout in layouts
        },
        best=best,
    )


def value_of(row: Row, layout: Layout) -> float:
    """The row's number for a layout."""
    if row.measure is Measure.PENDING:
        return _held_back(row, layout)
    return _READ[row.measure](try_out(layout, row.rate_per_s))


_READ: Mapping[Measure, Callable[[Outcome], float]] = {
    Measure.LATENCY: lambda found: 1000 * found.latency_s,
    Measure.COMPONENTS: lambda found: 1000 * found.component_s,
    Measure.WAITING: lambda found: 1000 * found.waiting_s,
    Measure.PROCESSING: lambda found: 1000 * (found.component_s - found.waiting_s),
    Measure.BOTTLENECK: lambda found: GRID * int(found.limit_per_s * (1 + FITTED) / GRID),
    Measure.THROUGHPUT: lambda found: found.throughput_per_s,
    Measure.NODES: lambda found: float(found.nodes),
    Measure.CPU: lambda found: 100 * found.cpu,
    Measure.UTILIZATION: lambda found: 50 * (found.cpu + found.memory),
}


def _run(row: Row, system: System, seed: int) -> tuple[float, Layout] | None:
    """A system's number from one seed; None where it has no room for all tasks."""
    try:
        layout = lay_out(system, row.setting, row.rate_per_s, seed=seed)
    except NoRoom:
        return None
    if row.measure is Measure.BOTTLENECK and system.sight is Sight.MEASURED:
        layout = _raised(row, system, layout, seed)
    return value_of(row, layout), layout


def _raised(row: Row, system: System, layout: Layout, seed: int) -> Layout:
    """Raise the rate to the limit and plan anew, as long as that raises the limit."""
    best = layout
    for _ in range(REPLANS):
        limit = try_out(best, row.rate_per_s).limit_per_s
        try:
            after = lay_out(system, row.setting, 0.999 * limit, seed=seed, before=best)
        except NoRoom:
            break
        if try_out(after, row.rate_per_s).limit_per_s <= limit * 1.001:
            break
        best = after
    return best


def _held_back(row: Row, layout: Layout) -> float:
    """The rate at which rate × latency is what may be pending."""
    low, high = 0.0, try_out(layout, row.rate_per_s).limit_per_s
    for _ in range(25):
        middle = (low + high) / 2
        enough = middle * try_out(layout, middle).latency_s < row.pending
        low, high = (middle, high) if enough else (low, middle)
    return low


def _leader(row: Row, values: Mapping[str, float]) -> str:
    choose = max if row.measure.more_is_better else min
    return choose(values, key=lambda name: values[name])


def _best_of(row: Row, found: Sequence[tuple[float, Layout]]) -> Layout:
    choose = max if row.measure.more_is_better else min
    return choose(found, key=lambda one: one[0])[1]


def _climbed(row: Row, layouts: Sequence[tuple[System, Layout]], best: float, tries: int) -> float:
    """Move and swap tasks at random by the true number, from the best layout there is."""
    rng = np.random.default_rng(7)
    better = gt if row.measure.more_is_better else lt
    finest = _unrounded(row)
    ranked = sorted(
        layouts,
        key=lambda one: value_of(finest, one[1]),
        reverse=row.measure.more_is_better,
    )
    for system, layout in ranked[:2]:
        seen = measured(layout, row.rate_per_s, rng)
        value = value_of(finest, layout)
        for _ in range(tries // 2):
            node = _changed(layout.setting, layout.node, rng)
            trial = Layout(
                setting=layout.setting,
                node=node,
                process=by_traffic(layout.setting, node, seen),
            )
            if system.regroup is not None:
                trial = system.regroup(trial, row.rate_per_s, rng)
            if is_hopeless(finest, trial, value):
                continue
            after = value_of(finest, trial)
            if better(after, value):
                layout, value = trial, after
        reached = value_of(row, layout)
        best = reached if better(reached, best) else best
    return best


def is_hopeless(row: Row, layout: Layout, value: float) -> bool:
    """Whether one look shows that it is no better: else it takes 25 to know how good it is."""
    if row.measure is not Measure.PENDING:
        return False
    return value * try_out(layout, value).latency_s >= row.pending


def _unrounded(row: Row) -> Row:
    """Climbing needs to see small steps: what passes of an endless stream, without the grid."""
    if row.measure is Measure.BOTTLENECK:
        return replace(row, measure=Measure.THROUGHPUT, rate_per_s=1e6)
    return row


def _changed(setting: Setting, node: Ints, rng: np.random.Generator) -> Ints:
    after = np.array(node)
    task = int(rng.integers(len(node)))
    if rng.random() < 0.5:
        other = int(rng.integers(len(node)))
        after[task], after[other] = node[other], node[task]
        return after
    target = int(rng.integers(len(setting.machines)))
    room = setting.processes_per_node * setting.tasks_per_process
    if np.count_nonzero(node == target) < room:
        after[task] = target
    return after
