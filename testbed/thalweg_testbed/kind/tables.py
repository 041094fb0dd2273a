"""What the commands print."""

from collections.abc import Sequence
from math import isinf
from statistics import median

from thalweg_testbed.kind.cluster import KindCluster
from thalweg_testbed.latency.measuring import Measured

__all__ = ["latency_table", "node_table"]


def node_table(cluster: KindCluster) -> str:
    """Show every node: what it is called, where it is, how it is."""
    ready = cluster.ready_nodes()
    rows = [("NODE", "SHORT", "DOMAIN", "CONTAINER", "READY", "ADDRESS", "PODS")]
    for node in cluster.nodes:
        state = cluster.engine.state_of(node.name)
        is_ready = "yes" if node.name in ready else "no"
        short = cluster.short_name(node)
        rows.append((node.name, short, node.domain, state, is_ready, node.address, str(node.pods)))
    partitions = [f"{a} | {b}" for a, b in cluster.partitions]
    lines = [_columns(rows), *cluster.links.csv_lines()]
    return "\n".join([*lines, *(f"partition: {text}" for text in partitions)])


def latency_table(measured: Sequence[Measured]) -> str:
    """Show the medians of all domain pairs, one line for each direction and path."""
    rows = [("FROM", "TO", "PATH", "LATENCY", "ROUND TRIP", "ANSWERED")]
    keys = sorted({(one.source_domain, one.target_domain, one.path) for one in measured})
    for key in keys:
        group = [m for m in measured if (m.source_domain, m.target_domain, m.path) == key]
        there, trip = (
            median(values)
            for values in ([m.forward_s for m in group], [m.round_trip_s for m in group])
        )
        answered = f"{sum(m.answered for m in group)}/{sum(m.sent for m in group)}"
        rows.append((*key, _milliseconds(there), _milliseconds(trip), answered))
    return _columns(rows)


def _columns(rows: Sequence[Sequence[str]]) -> str:
    widths = [max(len(row[index]) for row in rows) for index in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _milliseconds(seconds: float) -> str:
    return "–" if isinf(seconds) else f"{seconds * 1e3:.2f} ms"
