"""How much of what ought to be measured was, and when it was last."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

from thalweg_spark.condense.expectation import Expectation, ExpectedTopology, Key
from thalweg_spark.condense.figures import Figures
from thalweg_spark.condense.presence import Presence

Row = dict[str, Any]
_FACTS_OF = {"dependency": ("tuples", "sent"), "task_load": ("processed",)}
"""What tells a matrix; of several facts the first that anybody exports."""
_EVERY_PAIR_UP_TO = 64
"""Nodes; probers of larger clusters ask a sample (thalweg_runtime/prober/choosing.py)."""


def coverage(
    found: Sequence[Presence],
    expectation: Expectation | None,
    *,
    known: Figures,
    windows_s: dict[str, float],
    at_s: float,
) -> list[Row]:
    """A row for each matrix of each topology; without an expectation the share is unknown."""
    live = _live(found)
    rows = []
    for key, expected in sorted(_topologies(found, expectation).items()):
        for matrix, facts in _FACTS_OF.items():
            there = next(filter(None, (live.get((fact, *key)) for fact in facts)), [])
            share = math.nan if expected is None else _share(matrix, there, expected, at_s)
            rows.append(_row(matrix, key, there, share, windows_s[matrix]))
    rtt = [one for one in found if one.fact in ("rtt", "rtt_count") and one.is_live]
    share = math.nan if expectation is None else _node_share(rtt, expectation, known)
    rows.append(_row("node_latency", ("", ""), rtt, share, windows_s["node_latency"]))
    used = [one for one in found if one.fact == "node_cpu" and one.is_live]
    share = math.nan if expectation is None else _told_share(used, expectation)
    rows.append(_row("node_capacity", ("", ""), used, share, windows_s["node_capacity"]))
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


def _share(matrix: str, live: Sequence[Presence], expected: ExpectedTopology, at_s: float) -> float:
    if matrix == "task_load":
        wanted: set[Any] = expected.settled(at_s)
        there: set[Any] = {one.task for one in live}
    else:
        wanted = expected.senders(at_s)
        there = {(one.task, one.to_vertex) for one in live}
        # One that says what it sends but not to whom counts for each of its vertex's edges.
        senders = {one.task for one in live if one.fact == "sent"}
        there |= {pair for pair in wanted if pair[0] in senders}
    return len(wanted & there) / len(wanted) if wanted else math.nan


def _node_share(live: Iterable[Presence], expectation: Expectation, known: Figures) -> float:
    """Of all pairs; in large clusters, and where there is but one node, of the nodes that ask."""
    nodes = expectation.nodes
    if not nodes:
        return math.nan
    names = {address: node for node, address in known.get("node_address", {})}
    there = {(one.source_node, names.get(one.target_node, one.target_node)) for one in live}
    if 1 < len(nodes) <= _EVERY_PAIR_UP_TO:
        wanted = {(source, target) for source in nodes for target in nodes if source != target}
        return len(wanted & there) / len(wanted)
    return len({source for source, _ in there} & nodes) / len(nodes)


def _told_share(live: Iterable[Presence], expectation: Expectation) -> float:
    nodes = expectation.nodes
    return len(nodes & {one.node for one in live}) / len(nodes) if nodes else math.nan


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
