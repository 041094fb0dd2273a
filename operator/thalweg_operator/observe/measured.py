"""What the matrix store says of one topology, in the order of its tasks and of the nodes."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg_operator.observe.store import Matrices
from thalweg_scheduling.model.matrices import (
    LOAD_FIELDS,
    DependencyMatrix,
    NodeLatency,
    Observed,
    TaskLoad,
)

Key = tuple[str, str]
"""A topology: its namespace and name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The matrices that a decision may look at, and the figures that people want to see."""

    traffic: DependencyMatrix | None = None
    """Over the long window that placement is decided by."""
    recent_traffic: DependencyMatrix | None = None
    """Over the window of the loads, for scaling: the two must be of the same moments."""
    loads: TaskLoad | None = None
    latency: NodeLatency = field(default_factory=NodeLatency)
    latency_s: float = math.nan
    """Median from source to sink."""
    throughput_per_s: float = math.nan
    observed_at_s: float = math.nan
    coverage: float = math.nan
    """The worse of traffic's and loads' coverage."""


NOTHING_MEASURED = Measured()


def measured_for(
    matrices: Matrices | None, key: Key, tasks: Sequence[str], nodes: Sequence[str]
) -> Measured:
    """The part of the store that is about one topology; unknown stays unknown."""
    if matrices is None:
        return NOTHING_MEASURED
    observed = {
        matrix: _observed(matrices, matrix, key)
        for matrix in ("dependency", "task_load", "node_latency")
    }
    figures = next(_of(matrices, "tuple_latency", key), {})
    return Measured(
        traffic=_traffic(matrices, key, tasks, observed["dependency"], "tuples_per_s"),
        recent_traffic=_traffic(
            matrices, key, tasks, observed["dependency"], "recent_tuples_per_s"
        ),
        loads=_loads(matrices, key, tasks, observed["task_load"]),
        latency=_latency(matrices, nodes, observed["node_latency"]),
        latency_s=_number(figures.get("p50_s")),
        throughput_per_s=_number(figures.get("throughput_per_s")),
        observed_at_s=matrices.observed_at_s,
        coverage=_worse(observed["dependency"], observed["task_load"]),
    )


def _of(matrices: Matrices, table: str, key: Key) -> Iterator[Mapping[str, Any]]:
    for row in matrices.tables[table]:
        if (row.get("namespace"), row.get("topology")) == key:
            yield row


def _observed(matrices: Matrices, matrix: str, key: Key) -> Observed | None:
    """When and how completely a matrix was seen; latency is the whole cluster's."""
    wanted = {key} if matrix != "node_latency" else {key, ("", ""), (None, None)}
    for row in matrices.tables["coverage"]:
        if row["matrix"] == matrix and (row.get("namespace"), row.get("topology")) in wanted:
            return Observed(
                at_s=_number(row["observed_at_s"]),
                window_s=_number(row["window_s"]),
                samples=int(row["samples"] or 0),
                coverage=_number(row["coverage"]),
            )
    return None


def _traffic(
    matrices: Matrices, key: Key, tasks: Sequence[str], observed: Observed | None, column: str
) -> DependencyMatrix | None:
    position = {task: number for number, task in enumerate(tasks)}
    pairs = {
        (position[row["source_task"]], position[row["target_task"]]): (
            _number(row[column]),
            _number(row["bytes_per_s"]),
        )
        for row in _of(matrices, "dependency", key)
        if row["source_task"] in position and row["target_task"] in position
    }
    if not pairs:
        return None
    return DependencyMatrix.from_pairs(len(tasks), pairs, observed)


def _loads(
    matrices: Matrices, key: Key, tasks: Sequence[str], observed: Observed | None
) -> TaskLoad | None:
    rows = {row["task"]: row for row in _of(matrices, "task_load", key)}
    if not any(task in rows for task in tasks):
        return None
    columns = {
        name: np.array([_number(rows.get(task, {}).get(name)) for task in tasks])
        for name in LOAD_FIELDS
    }
    return TaskLoad(**columns, observed=observed)


def _latency(matrices: Matrices, nodes: Sequence[str], observed: Observed | None) -> NodeLatency:
    position = {node: number for number, node in enumerate(nodes)}
    pairs = np.full((len(nodes), len(nodes)), np.nan)
    for row in matrices.tables["node_latency"]:
        source, target = position.get(row["source_node"]), position.get(row["target_node"])
        if source is not None and target is not None:
            pairs[source, target] = _number(row["latency_s"])
    return NodeLatency(pairs_s=pairs, observed=observed)


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _worse(*observed: Observed | None) -> float:
    """NaN as soon as one of them is unknown."""
    shares = [math.nan if one is None else one.coverage for one in observed]
    return math.nan if any(math.isnan(share) for share in shares) else min(shares)
