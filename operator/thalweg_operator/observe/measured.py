"""What the matrix store says of one topology, in the order of its tasks and of the nodes."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from thalweg_operator.observe.store import Matrices
from thalweg_scheduling.model.arrays import Floats
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
    routes_versions: Mapping[str, int] = field(default_factory=dict)
    """The version of the routes that each task's newest pod sends by; unknown ones are absent."""
    latency: NodeLatency = field(default_factory=NodeLatency)
    latency_s: float = math.nan
    """Mean from source to sink."""
    throughput_per_s: float = math.nan
    observed_at_s: float = math.nan
    coverage: float = math.nan
    """The worse of traffic's and loads' coverage."""
    warnings: tuple[str, ...] = ()
    """What the metrics source said about its answers."""


NOTHING_MEASURED = Measured()


def measured_for(
    matrices: Matrices | None, key: Key, tasks: Sequence[str], domains: Mapping[str, str]
) -> Measured:
    """The part of the store that is about one topology; unknown stays unknown.

    `domains` has the domain of each node, in the order of the nodes.
    """
    if matrices is None:
        return NOTHING_MEASURED
    observed = {
        matrix: _observed(matrices, matrix, key)
        for matrix in ("dependency", "task_load", "node_latency")
    }
    # Plans are judged by these: of a partial answer they would say that less flows than before.
    shown = () if matrices.is_partial else matrices.rows("tuple_latency", *key)
    figures: Mapping[str, Any] = next(iter(shown), {})
    return Measured(
        traffic=_traffic(matrices, key, tasks, observed["dependency"], "tuples_per_s"),
        recent_traffic=_traffic(
            matrices, key, tasks, observed["dependency"], "recent_tuples_per_s"
        ),
        loads=_loads(matrices, key, tasks, observed["task_load"]),
        routes_versions=_routes_versions(matrices, key, tasks),
        latency=NodeLatency(
            pairs_s=filled(_pairs(matrices, list(domains)), list(domains.values())),
            observed=observed["node_latency"],
        ),
        latency_s=_number(figures.get("mean_s")),
        throughput_per_s=_number(figures.get("throughput_per_s")),
        observed_at_s=matrices.observed_at_s,
        coverage=_worse(observed["dependency"], observed["task_load"]),
        warnings=matrices.warnings,
    )


def _observed(matrices: Matrices, matrix: str, key: Key) -> Observed | None:
    """When and how completely a matrix was seen; latency is the whole cluster's.

    Of an answer that was partial nobody knows how much of it there should have been.
    """
    namespace, topology = ("", "") if matrix == "node_latency" else key
    for row in matrices.rows("coverage", namespace, topology):
        if row["matrix"] == matrix:
            return Observed(
                at_s=_number(row["observed_at_s"]),
                window_s=_number(row["window_s"]),
                samples=int(row["samples"] or 0),
                coverage=math.nan if matrices.is_partial else _number(row["coverage"]),
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
        for row in matrices.rows("dependency", *key)
        if row["source_task"] in position and row["target_task"] in position
    }
    if not pairs:
        return None
    return DependencyMatrix.from_pairs(len(tasks), pairs, observed)


def _loads(
    matrices: Matrices, key: Key, tasks: Sequence[str], observed: Observed | None
) -> TaskLoad | None:
    rows = {row["task"]: row for row in matrices.rows("task_load", *key)}
    if not any(task in rows for task in tasks):
        return None
    columns = {
        name: np.array([_number(rows.get(task, {}).get(name)) for task in tasks])
        for name in LOAD_FIELDS
    }
    return TaskLoad(**columns, observed=observed)


def _routes_versions(matrices: Matrices, key: Key, tasks: Sequence[str]) -> dict[str, int]:
    known = {
        row["task"]: _number(row.get("routes_version")) for row in matrices.rows("task_load", *key)
    }
    return {task: int(known[task]) for task in tasks if math.isfinite(known.get(task, math.nan))}


def _pairs(matrices: Matrices, nodes: Sequence[str]) -> Floats:
    position = {node: number for number, node in enumerate(nodes)}
    pairs = np.full((len(nodes), len(nodes)), np.nan)
    for row in matrices.tables["node_latency"]:
        source, target = position.get(row["source_node"]), position.get(row["target_node"])
        if source is not None and target is not None:
            pairs[source, target] = _number(row["latency_s"])
    return pairs


def filled(pairs_s: Floats, domains: Sequence[str]) -> Floats:
    """Unknown pairs by the way back, else by the mean between their two domains.

    A node that came a minute ago is as far from the others as its neighbours are. Between domains
    of which no pair was measured nothing is known, and nothing is made up.
    """
    names, domain_of = np.unique(np.array(domains, dtype=str), return_inverse=True)
    known = np.isfinite(pairs_s) & (pairs_s >= 0)
    np.fill_diagonal(known, val=False)
    seconds = np.where(known, pairs_s, np.nan)
    seconds = np.where(known | ~known.T, seconds, seconds.T)
    sums, counts = np.zeros((2, len(names), len(names)))
    sources, targets = np.nonzero(np.isfinite(seconds))
    between = domain_of[sources], domain_of[targets]
    np.add.at(sums, between, seconds[sources, targets])
    np.add.at(counts, between, 1)
    means = np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
    seconds = np.where(np.isfinite(seconds), seconds, means[np.ix_(domain_of, domain_of)])
    np.fill_diagonal(seconds, np.diagonal(pairs_s))
    return seconds


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else math.nan


def _worse(*observed: Observed | None) -> float:
    """NaN as soon as one of them is unknown."""
    shares = [math.nan if one is None else one.coverage for one in observed]
    return math.nan if any(math.isnan(share) for share in shares) else min(shares)
