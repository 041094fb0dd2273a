"""Series to tables: what was measured of tasks, of pairs of tasks, and of nodes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from thalweg_spark.condense.figures import latest
from thalweg_spark.condense.quantiles import bound_of, histogram_quantile
from thalweg_spark.condense.rates import mean_rate, together, trimmed_rate
from thalweg_spark.condense.series import Series, since

Row = dict[str, Any]
Pulled = Mapping[str, Sequence[Series]]
"""Series by the fact they give."""


def grouped(series: Iterable[Series], *labels: str) -> dict[tuple[str, ...], list[Series]]:
    """Series by the values of some labels; those without one of them are not ours."""
    found: dict[tuple[str, ...], list[Series]] = {}
    for one in series:
        key = tuple(one.labels.get(label, "") for label in labels)
        if all(key):
            found.setdefault(key, []).append(one)
    return found


def samples_of(parts: Iterable[Series]) -> int:
    """How many samples a figure rests on."""
    return sum(one.times_s.size for one in parts)


def dependency(pulled: Pulled, *, recent_since_s: float) -> list[Row]:
    """Traffic from task to task, by Ra-Stream's trimmed mean, and what it has been lately.

    Placement wants the long run; scaling wants rates of the same moments as the loads.
    """
    facts = ("namespace", "topology", "task", "to_task")
    volume = grouped(pulled.get("bytes", ()), *facts)
    rows = []
    for key, parts in sorted(grouped(pulled.get("tuples", ()), *facts).items()):
        namespace, topology, source, target = key
        rows.append(
            {
                "namespace": namespace,
                "topology": topology,
                "source_task": source,
                "target_task": target,
                "tuples_per_s": trimmed_rate(parts),
                "bytes_per_s": trimmed_rate(volume.get(key, ())),
                "recent_tuples_per_s": mean_rate([since(one, recent_since_s) for one in parts]),
                "samples": samples_of(parts),
            }
        )
    return rows


LOAD_FACTS = (
    *("processed", "busy", "backpressured", "wait", "cpu"),
    *("memory", "queue"),
)


def task_load(pulled: Pulled) -> list[Row]:
    """What each task did, and what it could do if it were always busy."""
    facts = ("namespace", "topology", "vertex", "task")
    groups = {fact: grouped(pulled.get(fact, ()), *facts) for fact in LOAD_FACTS}
    keys = sorted({key for group in groups.values() for key in group})
    return [_load_row(key, {fact: groups[fact].get(key, []) for fact in groups}) for key in keys]


def _load_row(key: tuple[str, ...], parts: Mapping[str, list[Series]]) -> Row:
    namespace, topology, vertex, task = key
    processed, busy = mean_rate(parts["processed"]), mean_rate(parts["busy"])
    return {
        "namespace": namespace,
        "topology": topology,
        "vertex": vertex,
        "task": task,
        "cpu_cores": mean_rate(parts["cpu"]),
        "memory_bytes": latest(parts["memory"]),
        "busy_share": min(1.0, busy) if math.isfinite(busy) else math.nan,
        "backpressured_share": mean_rate(parts["backpressured"]),
        "wait_s": _ratio(_rise(parts["wait"]), _rise(parts["processed"])),
        "processed_per_s": processed,
        "true_rate_per_s": _ratio(processed, busy),
        "queue_tuples": latest(parts["queue"]),
        "samples": samples_of(series for each in parts.values() for series in each),
    }


def node_latency(pulled: Pulled) -> list[Row]:
    """One-way seconds between nodes: half of the median round trip."""
    pairs = grouped(pulled.get("rtt", ()), "source_node", "target_node")
    return [
        {
            "source_node": source,
            "target_node": target,
            "latency_s": float(np.median(np.concatenate([one.values for one in parts]))) / 2,
            "samples": samples_of(parts),
        }
        for (source, target), parts in sorted(pairs.items())
    ]


def tuple_latency(pulled: Pulled) -> list[Row]:
    """From source to sink, and from source to acknowledgement, for each topology."""
    facts = ("namespace", "topology")
    sinks = grouped(pulled.get("latency", ()), *facts)
    sums = grouped(pulled.get("latency_sum", ()), *facts)
    sources = grouped(pulled.get("complete", ()), *facts)
    rows = []
    for key in sorted(sinks.keys() | sources.keys()):
        arrived, acknowledged = sinks.get(key, []), sources.get(key, [])
        whole = [one for one in arrived if bound_of(one) == math.inf]
        rows.append(
            {
                "namespace": key[0],
                "topology": key[1],
                "p50_s": histogram_quantile(arrived, 0.5),
                "p99_s": histogram_quantile(arrived, 0.99),
                "mean_s": _ratio(_rise(sums.get(key, ())), _rise(whole)),
                "complete_p50_s": histogram_quantile(acknowledged, 0.5),
                "throughput_per_s": mean_rate(whole),
                "samples": samples_of(arrived),
            }
        )
    return rows


def _rise(parts: Sequence[Series]) -> float:
    found = together(parts)
    return float(found.amount.sum()) if found.amount.size else math.nan


def _ratio(above: float, below: float) -> float:
    return above / below if math.isfinite(below) and below > 0 else math.nan
