"""Figures to tables: what was measured of tasks, of pairs of tasks, and of nodes."""

import math
from typing import Any

from thalweg_spark.condense.figures import LOAD_FACTS, Figure, Figures

Row = dict[str, Any]


def dependency(known: Figures) -> list[Row]:
    """Traffic from task to task, by Ra-Stream's trimmed mean, and what it has been lately.

    Placement wants the long run; scaling wants rates of the same moments as the loads.
    """
    volume = known.get("bytes", {})
    rows = []
    for key, flow in sorted(known.get("tuples", {}).items()):
        namespace, topology, source, target = key
        rows.append(
            {
                "namespace": namespace,
                "topology": topology,
                "source_task": source,
                "target_task": target,
                "tuples_per_s": flow.trimmed_rate,
                "bytes_per_s": volume[key].trimmed_rate if key in volume else math.nan,
                "recent_tuples_per_s": flow.recent_rate,
                "samples": flow.samples,
            }
        )
    return rows


def task_load(known: Figures) -> list[Row]:
    """What each task did, and what it could do if it were always busy."""
    keys = sorted({key for fact in LOAD_FACTS for key in known.get(fact, {})})
    return [_load_row(key, known) for key in keys]


def _load_row(key: tuple[str, ...], known: Figures) -> Row:
    nothing = Figure(fact="", key=key, samples=0)
    of = {fact: known.get(fact, {}).get(key, nothing) for fact in LOAD_FACTS}
    namespace, topology, vertex, task = key
    processed, busy = of["processed"], of["busy"].rate
    return {
        "namespace": namespace,
        "topology": topology,
        "vertex": vertex,
        "task": task,
        "cpu_cores": of["cpu"].rate,
        "memory_bytes": of["memory"].latest,
        "busy_share": min(1.0, busy) if math.isfinite(busy) else math.nan,
        "backpressured_share": of["backpressured"].rate,
        "wait_s": _ratio(of["wait"].rise, processed.rise),
        "processed_per_s": processed.rate,
        "true_rate_per_s": _ratio(processed.rate, busy),
        "queue_tuples": of["queue"].latest,
        "routes_version": of["routes_version"].latest,
        "samples": sum(one.samples for one in of.values()),
    }


def node_latency(known: Figures) -> list[Row]:
    """One-way seconds between nodes: half of the median round trip."""
    return [
        {
            "source_node": source,
            "target_node": target,
            "latency_s": one.median / 2,
            "samples": one.samples,
        }
        for (source, target), one in sorted(known.get("rtt", {}).items())
    ]


def tuple_latency(known: Figures) -> list[Row]:
    """From source to sink, and from source to acknowledgement, for each topology."""
    sinks, sources = known.get("latency", {}), known.get("complete", {})
    sums = known.get("latency_sum", {})
    rows = []
    for key in sorted(sinks.keys() | sources.keys()):
        nothing = Figure(fact="", key=key, samples=0)
        arrived = sinks.get(key, nothing)
        rows.append(
            {
                "namespace": key[0],
                "topology": key[1],
                "p50_s": arrived.p50,
                "p99_s": arrived.p99,
                "mean_s": _ratio(sums.get(key, nothing).rise, arrived.rise),
                "complete_p50_s": sources.get(key, nothing).p50,
                "throughput_per_s": arrived.rate,
                "samples": arrived.samples,
            }
        )
    return rows


def _ratio(above: float, below: float) -> float:
    return above / below if math.isfinite(below) and below > 0 else math.nan
