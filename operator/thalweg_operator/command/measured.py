"""Latency between nodes, rates between tasks and loads of tasks from CSV files."""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from thalweg_operator.command.files import Row, read_table
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.matrices import DependencyMatrix, Observed, TaskLoad
from thalweg_scheduling.model.snapshot import Snapshot

LATENCY_COLUMNS = ("source", "target", "seconds")
RATES_COLUMNS = ("from", "to", "tuples_per_second")
RATES_OPTIONAL = ("bytes_per_second",)
LOAD_COLUMNS = {
    "cpu_cores": "cpu_cores",
    "memory_bytes": "memory_bytes",
    "busy_share": "busy_share",
    "backpressured_share": "backpressured_share",
    "wait_seconds": "wait_s",
    "processed_per_second": "processed_per_s",
    "queue_tuples": "queue_tuples",
}
"""The file's words and the model's."""
OBSERVED = Observed(at_s=0.0, window_s=0.0, samples=1, coverage=1.0)
"""A file is as fresh and as whole as its owner says; offline, now is 0."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """What a name in LATENCY may mean: a node, or all nodes of a domain."""

    nodes: Mapping[str, int]
    domains: Mapping[str, Ints]

    def named(self, row: Row, column: str) -> Ints:
        """The nodes that a cell names. A node goes before a domain of the same name."""
        name = row.cells[column]
        if name in self.nodes:
            return np.array([self.nodes[name]])
        if name in self.domains:
            return self.domains[name]
        raise row.wrong(f"no node or domain is called {name!r}{_near(name, self.names)}")

    @property
    def names(self) -> list[str]:
        """All of them."""
        return [*self.nodes, *self.domains]


def read_latency(path: Path, snapshot: Snapshot) -> Floats:
    """Shape (nodes, nodes): one-way seconds as the file gives them, NaN elsewhere.

    What names a node goes over what names its domain. A domain with itself says nothing about a
    node with itself.
    """
    places = _places(snapshot)
    rows = read_table(path, LATENCY_COLUMNS)
    _refuse_repetition(rows, ("source", "target"))
    found = []
    for row in rows:
        sources, targets = places.named(row, "source"), places.named(row, "target")
        nodes = sum(row.cells[column] in places.nodes for column in ("source", "target"))
        found.append((nodes, sources, targets, row.number("seconds")))
    seconds = np.full((len(snapshot.nodes), len(snapshot.nodes)), np.nan)
    for nodes, sources, targets, value in sorted(found, key=lambda each: each[0]):
        itself = seconds[sources, sources].copy()
        seconds[np.ix_(sources, targets)] = value
        if nodes < len(("source", "target")):
            seconds[sources, sources] = itself
    return seconds


def read_rates(path: Path, snapshot: Snapshot) -> DependencyMatrix:
    """Traffic between tasks; a rate between vertices is spread evenly over their task pairs."""
    rows = read_table(path, RATES_COLUMNS, RATES_OPTIONAL)
    _refuse_repetition(rows, ("from", "to"))
    tasks = _TaskNames(snapshot)
    edges = {(edge.source, edge.target) for edge in snapshot.edges}
    pairs: dict[tuple[int, int], tuple[float, float]] = {}
    line: dict[tuple[int, int], int] = {}
    for row in rows:
        senders, receivers = tasks.named(row, "from"), tasks.named(row, "to")
        if tuple(snapshot.vertex_of[[senders[0], receivers[0]]]) not in edges:
            words = f"{row.cells['from']} to {row.cells['to']}"
            raise row.wrong(f"the topology has no edge from {words}")
        count = len(senders) * len(receivers)
        share = (row.number("tuples_per_second") / count, _bytes(row) / count)
        for pair in ((s, r) for s in senders for r in receivers):
            if pair in pairs:
                names = " to ".join(snapshot.tasks[task].name for task in pair)
                raise row.wrong(f"the rate from {names} is already given in line {line[pair]}")
            pairs[pair], line[pair] = share, row.line
    return DependencyMatrix.from_pairs(len(snapshot.tasks), pairs, OBSERVED)


def silent_edges(snapshot: Snapshot, traffic: DependencyMatrix) -> list[str]:
    """Edges of the topology of which a rates file says nothing."""
    vertex_of = snapshot.vertex_of
    told = set(zip(vertex_of[traffic.sources], vertex_of[traffic.targets], strict=True))
    names = [vertex.name for vertex in snapshot.vertices]
    return [
        f"{names[edge.source]} → {names[edge.target]}"
        for edge in snapshot.edges
        if (edge.source, edge.target) not in told
    ]


def read_loads(path: Path, snapshot: Snapshot) -> TaskLoad:
    """What each task does; a vertex's line is about each of its tasks. Empty is unknown."""
    rows = read_table(path, ("task",), tuple(LOAD_COLUMNS))
    _refuse_repetition(rows, ("task",))
    tasks = _TaskNames(snapshot)
    values = {field: np.full(len(snapshot.tasks), np.nan) for field in LOAD_COLUMNS.values()}
    for row in rows:
        for column, field in LOAD_COLUMNS.items():
            if row.cells.get(column):
                values[field][tasks.named(row, "task")] = _load(row, column)
    return TaskLoad(**values, true_rate_per_s=_true_rates(values), observed=_observed(values))


def assumed_loads(snapshot: Snapshot, traffic: DependencyMatrix) -> TaskLoad:
    """Loads of tasks that are as busy as they should be, for a prediction where none are known.

    Nothing is decided by them: a task gets what it is sent, a source gets what it sends.
    """
    tasks = len(snapshot.tasks)
    sent = np.zeros((tasks, len(snapshot.vertices)))
    np.add.at(sent, (traffic.sources, snapshot.vertex_of[traffic.targets]), traffic.tuples_per_s)
    got = np.bincount(traffic.targets, weights=traffic.tuples_per_s, minlength=tasks)
    busy = np.full(tasks, snapshot.limits.scaling.target_utilization)
    processed = np.where(got > 0, got, sent.max(axis=1, initial=0.0))
    return replace(
        TaskLoad.unknown(tasks),
        busy_share=busy,
        processed_per_s=processed,
        true_rate_per_s=processed / busy,
        cpu_cores=busy * np.minimum(1.0, _requested_cores(snapshot)),
        observed=OBSERVED,
    )


def _requested_cores(snapshot: Snapshot) -> Floats:
    if "cpu" not in snapshot.resources:
        return np.ones(len(snapshot.tasks))
    requested = snapshot.demand[:, snapshot.resources.index("cpu")]
    return np.where(requested > 0, requested, 1.0)


def _load(row: Row, column: str) -> float:
    value = row.number(column)
    if column.endswith("_share") and value > 1:
        raise row.wrong(f"{column} must be from 0 to 1, not {row.cells[column]}")
    return value


def _true_rates(values: Mapping[str, Floats]) -> Floats:
    """What a task could process if it were always busy; unknown for one that does nothing."""
    busy = np.where(values["busy_share"] > 0, values["busy_share"], np.nan)
    rates: Floats = values["processed_per_s"] / busy
    return rates


def _observed(values: Mapping[str, Floats]) -> Observed:
    known = np.isfinite(values["busy_share"])
    return Observed(
        at_s=0.0, window_s=0.0, samples=1, coverage=float(known.mean()) if known.size else 1.0
    )


class _TaskNames:
    """What a name in RATES or LOADS may mean: a task, or all tasks of a vertex."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._tasks = {task.name: [position] for position, task in enumerate(snapshot.tasks)}
        self._vertices = {
            vertex.name: np.flatnonzero(snapshot.vertex_of == position).tolist()
            for position, vertex in enumerate(snapshot.vertices)
        }

    def named(self, row: Row, column: str) -> list[int]:
        name = row.cells[column]
        if name in self._tasks and name in self._vertices:
            raise row.wrong(f"{name!r} is a vertex and also a task of another; rename one vertex")
        found = self._tasks.get(name) or self._vertices.get(name)
        if not found:
            near = _near(name, [*self._vertices, *self._tasks])
            raise row.wrong(f"no vertex or task is called {name!r}{near}")
        return found


def _places(snapshot: Snapshot) -> Places:
    return Places(
        nodes={name: position for position, name in enumerate(snapshot.nodes)},
        domains={
            name: np.flatnonzero(snapshot.domain_of == position)
            for position, name in enumerate(snapshot.domains)
            if name
        },
    )


def _refuse_repetition(rows: Iterable[Row], columns: Sequence[str]) -> None:
    seen: dict[tuple[str, ...], int] = {}
    for row in rows:
        key = tuple(row.cells[column] for column in columns)
        if key in seen:
            raise row.wrong(f"{' to '.join(key)} is already given in line {seen[key]}")
        seen[key] = row.line


def _bytes(row: Row) -> float:
    return row.number("bytes_per_second") if row.cells.get("bytes_per_second") else np.nan


def _near(name: str, known: Sequence[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"; did you mean {near[0]}?" if near else ""
