"""How much of what ought to be measured was, and when it was last."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from thalweg_spark.condense.expectation import Expectation, ExpectedTopology, Key
from thalweg_spark.condense.presence import Presence

Row = dict[str, Any]
_FACT_OF = {"dependency": "tuples", "task_load": "processed"}


def coverage(
    found: Sequence[Presence],
    expectation: Expectation | None,
    *,
    windows_s: dict[str, float],
    at_s: float,
) -> list[Row]:
    """A row for each matrix of each topology; without an expectation the share is unknown."""
    live = _live(found)
    rows = []
    for key, expected in sorted(_topologies(found, expectation).items()):
        for matrix, fact in _FACT_OF.items():
            there = live.get((fact, *key), [])
            share = math.nan if expected is None else _share(matrix, there, expected, at_s)
            rows.append(_row(matrix, key, there, share, windows_s[matrix]))
    rtt = [one for one in found if one.fact == "rtt" and one.is_live]
    share = math.nan if expectation is None else _node_share(rtt, expectation)
    rows.append(_row("node_latency", ("", ""), rtt, share, windows_s["node_latency"]))
    return rows


def _live(found: Iterable[Presence]) -> dict[tuple[str, str, str], list[Presence]]:
    grouped: dict[tuple[str, str, str], list[Presence]] = {}
    for one in found:
        if one.is_live:
            grouped.setdefault((one.fact, one.namespace, one.topology), []).append(one)
    return grouped


def _topologies(
    found: Iterable[Presence], expectation: Expectation | None
) -> dict[Key, ExpectedTopology | None]:
    if expectation is not None:
        return {one.key: one for one in expectation.topologies}
    return {
        (one.namespace, one.topology): None
        for one in found
        if one.fact == "processed" and one.namespace and one.topology
    }


def _share(matrix: str, live: Iterable[Presence], expected: ExpectedTopology, at_s: float) -> float:
    if matrix == "task_load":
        wanted: set[Any] = expected.settled(at_s)
        there: set[Any] = {one.task for one in live}
    else:
        wanted = expected.senders(at_s)
        there = {(one.task, one.to_vertex) for one in live}
    return len(wanted & there) / len(wanted) if wanted else math.nan


def _node_share(live: Iterable[Presence], expectation: Expectation) -> float:
    if not expectation.nodes:
        return math.nan
    there = {one.source_node for one in live}
    return len(there & expectation.nodes) / len(expectation.nodes)


def _row(matrix: str, key: Key, live: Sequence[Presence], share: float, window_s: float) -> Row:
    return {
        "matrix": matrix,
        "namespace": key[0],
        "topology": key[1],
        "window_s": window_s,
        "observed_at_s": max((one.last_s for one in live), default=math.nan),
        "samples": sum(one.samples for one in live),
        "coverage": share,
    }
