"""Traffic between nodes (Hd-Stream's X): of each pair of tasks by where both were at the time."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg_spark.condense.places import Stay
from thalweg_spark.condense.rates import covered_s, increments, together
from thalweg_spark.condense.series import Series

Row = dict[str, Any]
FLOWS = {"tuples": "tuples_per_s", "bytes": "bytes_per_s"}


def node_traffic(
    pulled: Mapping[str, Sequence[Series]],
    staying: Sequence[Stay],
    nodes: Mapping[tuple[str, str], str],
) -> list[Row]:
    """Rates between nodes; what was sent from or to an unknown place is in none of them."""
    receivers: dict[tuple[str, str, str], list[Stay]] = {}
    for one in staying:
        receivers.setdefault((one.namespace, one.topology, one.task), []).append(one)
    sums: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for fact, column in FLOWS.items():
        for pair, parts in _pairs(pulled.get(fact, ())).items():
            namespace, topology, _, target = pair
            covered = covered_s(together(parts))
            for series in parts:
                source = nodes.get((namespace, series.labels.get("pod", "")), "")
                for stay in receivers.get((namespace, topology, target), ()) if source else ():
                    amount = _during(series, stay)
                    if amount > 0 and covered > 0:
                        cell = sums.setdefault((namespace, topology, source, stay.node), {})
                        cell[column] = cell.get(column, 0.0) + amount / covered
    return [as_row(key, cell) for key, cell in sorted(sums.items())]


def as_row(key: tuple[str, str, str, str], cell: Mapping[str, float]) -> Row:
    """A row of the table; a flow that was not measured is unknown."""
    names = ("namespace", "topology", "source_node", "target_node")
    known = {column: cell.get(column, float("nan")) for column in FLOWS.values()}
    return {**dict(zip(names, key, strict=True)), **known}


def _pairs(series: Sequence[Series]) -> dict[tuple[str, ...], list[Series]]:
    found: dict[tuple[str, ...], list[Series]] = {}
    for one in series:
        key = tuple(
            one.labels.get(label, "") for label in ("namespace", "topology", "task", "to_task")
        )
        if all(key):
            found.setdefault(key, []).append(one)
    return found


def _during(series: Series, stay: Stay) -> float:
    """What was counted while the receiver was there; a rise that spans a change is divided."""
    found = increments(series)
    inside = np.minimum(found.end_s, stay.until_s) - np.maximum(found.start_s, stay.since_s)
    share = np.clip(inside / (found.end_s - found.start_s), 0.0, 1.0)
    return float((found.amount * share).sum())
