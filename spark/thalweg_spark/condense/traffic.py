"""Traffic between nodes (Hd-Stream's X): of each pair of tasks by where both were at the time."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg_spark.condense.figures import FLOWS, Figures, grouped
from thalweg_spark.condense.places import Stay
from thalweg_spark.condense.rates import increments
from thalweg_spark.condense.series import Series

Row = dict[str, Any]


def node_traffic(
    pulled: Mapping[str, Sequence[Series]],
    known: Figures,
    staying: Sequence[Stay],
    nodes: Mapping[tuple[str, str], str],
) -> list[Row]:
    """Rates between nodes; what was sent from or to an unknown place is in none of them."""
    receivers: dict[tuple[str, str, str], list[Stay]] = {}
    for one in staying:
        receivers.setdefault((one.namespace, one.topology, one.task), []).append(one)
    sums: dict[tuple[str, str, str, str], dict[str, float]] = {}
    for fact, column in FLOWS.items():
        for pair, parts in grouped(fact, pulled.get(fact, ())).items():
            namespace, topology, _, target = pair
            covered = known[fact][pair].covered_s
            for series in parts:
                source = nodes.get((namespace, series.labels.get("pod", "")), "")
                for stay in receivers.get((namespace, topology, target), ()) if source else ():
                    amount = amount_between(series, stay.since_s, stay.until_s)
                    if amount > 0 and covered > 0:
                        cell = sums.setdefault((namespace, topology, source, stay.node), {})
                        cell[column] = cell.get(column, 0.0) + amount / covered
    return [_row(key, cell) for key, cell in sorted(sums.items())]


def _row(key: tuple[str, str, str, str], cell: Mapping[str, float]) -> Row:
    """A row of the table; a flow that was not measured is unknown."""
    names = ("namespace", "topology", "source_node", "target_node")
    rates = {column: cell.get(column, math.nan) for column in FLOWS.values()}
    return {**dict(zip(names, key, strict=True)), **rates}


def amount_between(series: Series, since_s: float, until_s: float) -> float:
    """What was counted while the receiver was there; a rise that spans a change is divided."""
    found = increments(series)
    inside = np.minimum(found.end_s, until_s) - np.maximum(found.start_s, since_s)
    share = np.clip(inside / (found.end_s - found.start_s), 0.0, 1.0)
    return float((found.amount * share).sum())
