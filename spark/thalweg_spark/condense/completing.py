"""Tables completed by what others measure: Kubernetes of pods and nodes, other engines of tasks.

Works on rows, so both engines use it. What Thalweg's own series say goes first; where they say
nothing and nobody else does either, the cell stays unknown.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thalweg_spark.condense.expectation import Expectation
from thalweg_spark.condense.figures import LONGEST_RTT_S, Figure, Figures
from thalweg_spark.condense.places import Seen

Row = dict[str, Any]
_LOADS = (
    *("cpu_cores", "memory_bytes", "io_bytes_per_s", "busy_share", "backpressured_share"),
    *("wait_s", "processed_per_s", "true_rate_per_s", "queue_tuples"),
    "routes_version",
)


def completed_loads(rows: Sequence[Row], known: Figures, found: Iterable[Seen]) -> list[Row]:
    """Loads with the shares of other engines' gauges, and with what pods used."""
    loads = {(row["namespace"], row["topology"], row["vertex"], row["task"]): row for row in rows}
    known = {**known, "busy_share": {**_by_thread(known), **known.get("busy_share", {})}}
    for fact in ("sent", "busy_share", "backpressured_share"):
        for key in known.get(fact, {}):
            loads.setdefault(_task(key), _blank(_task(key)))
    pods = _pods_of_one_task(found)
    return [
        _completed(row, key, known, pods.get((key[0], key[1], key[3]), ()))
        for key, row in sorted(loads.items())
    ]


def _task(key: tuple[str, ...]) -> tuple[str, str, str, str]:
    namespace, topology, vertex, task = key
    return namespace, topology, vertex, task


def _by_thread(known: Figures) -> dict[tuple[str, ...], Figure]:
    """Busy shares of tasks that take turns on threads: a task's part of what its thread works.

    A task that changed threads is counted on each for as long as it was seen there.
    """
    found: dict[tuple[str, ...], list[tuple[float, int]]] = {}
    for (namespace, topology, vertex, task, thread), part in known.get("thread_share", {}).items():
        whole = known.get("thread_busy", {}).get((namespace, thread))
        if whole is not None:
            seen = found.setdefault((namespace, topology, vertex, task), [])
            seen.append((part.mean * whole.mean, part.samples))
    return {
        key: Figure(
            fact="busy_share",
            key=key,
            samples=sum(samples for _, samples in seen),
            mean=sum(share * samples for share, samples in seen)
            / sum(samples for _, samples in seen),
        )
        for key, seen in found.items()
    }


def _blank(key: tuple[str, str, str, str]) -> Row:
    names = dict(zip(("namespace", "topology", "vertex", "task"), key, strict=True))
    return {**names, **dict.fromkeys(_LOADS, math.nan), "samples": 0}


def _completed(
    row: Row, key: tuple[str, str, str, str], known: Figures, pods: Sequence[tuple[str, str]]
) -> Row:
    full: Row = {**_blank(key), **row}
    for share in ("busy_share", "backpressured_share"):
        figure = known.get(share, {}).get(key)
        if figure is not None and math.isnan(full[share]):
            full[share] = _share(figure.mean)
            full["samples"] += figure.samples
    if math.isnan(full["true_rate_per_s"]) and full["busy_share"] > 0:
        full["true_rate_per_s"] = full["processed_per_s"] / full["busy_share"]
    used = {
        "cpu_cores": _sum(known, "pod_cpu", "rate", pods),
        "memory_bytes": _sum(known, "pod_memory", "latest", pods),
        "io_bytes_per_s": _sum(known, "pod_receive", "rate", pods)
        + _sum(known, "pod_transmit", "rate", pods),
    }
    for column, value in used.items():
        if math.isnan(full[column]):
            full[column] = value
    return full


def _pods_of_one_task(
    found: Iterable[Seen],
) -> dict[tuple[str, str, str], tuple[tuple[str, str], ...]]:
    """The newest pod of each task, unless it has others too: nobody can say whose a use was."""
    tasks: dict[tuple[str, str], set[tuple[str, str, str]]] = {}
    newest: dict[tuple[str, str, str], Seen] = {}
    for one in found:
        if not one.pod:
            continue
        task = (one.namespace, one.topology, one.task)
        tasks.setdefault((one.namespace, one.pod), set()).add(task)
        before = newest.get(task)
        if before is None or (one.last_s, one.pod) > (before.last_s, before.pod):
            newest[task] = one
    return {
        task: ((one.namespace, one.pod),)
        for task, one in newest.items()
        if len(tasks[one.namespace, one.pod]) == 1
    }


def _sum(known: Figures, fact: str, column: str, pods: Sequence[tuple[str, str]]) -> float:
    values = [getattr(known[fact][pod], column) for pod in pods if pod in known.get(fact, {})]
    return float(sum(values)) if values else math.nan


def completed_latency(rows: Sequence[Row], known: Figures) -> list[Row]:
    """Latencies with those that come as a sum and a count, targets by their node's name."""
    names = {address: node for node, address in known.get("node_address", {})}
    pairs = {(row["source_node"], row["target_node"]): row for row in rows}
    for key, total in known.get("rtt_sum", {}).items():
        count = known.get("rtt_count", {}).get(key)
        source, target = (names.get(end, end) for end in key)
        measured = pairs.get((source, target))
        if measured is not None and not math.isnan(measured["latency_s"]):
            continue
        if count is not None and 0 <= total.rise <= LONGEST_RTT_S * count.rise > 0:
            pairs[source, target] = {
                "source_node": source,
                "target_node": target,
                "latency_s": total.rise / count.rise / 2,
                "samples": count.samples,
            }
    return [pairs[pair] for pair in sorted(pairs)]


def _share(value: float) -> float:
    """At most 1; NaN stays NaN."""
    return 1.0 if value > 1 else value


def estimated_traffic(
    rows: Sequence[Row], known: Figures, loads: Sequence[Row], expectation: Expectation | None
) -> list[Row]:
    """Traffic of engines that say what a task sends but not to whom.

    What a task sends is divided among the tasks of the vertices it has edges to, by what each of
    them receives. Only for topologies of which no pair was measured.
    """
    measured = {(row["namespace"], row["topology"]) for row in rows}
    added = []
    for topology in () if expectation is None else expectation.topologies:
        if topology.key in measured:
            continue
        ours = [row for row in loads if (row["namespace"], row["topology"]) == topology.key]
        for (namespace, name, vertex, task), figure in known.get("sent", {}).items():
            if (namespace, name) != topology.key:
                continue
            targets = {target for source, target in topology.edges if source == vertex}
            takers = [row for row in ours if row["vertex"] in targets]
            added += _divided(figure, task, takers)
    return sorted([*rows, *added], key=_pair)


def _divided(sent: Figure, task: str, takers: Sequence[Row]) -> list[Row]:
    taken = np.array([row["processed_per_s"] for row in takers])
    known = taken[np.isfinite(taken)]
    if known.size == taken.size and not known.sum() > 0:
        return []
    # One of which nothing is known is taken to receive what the others do on average: it must not
    # make theirs unknown, and what it gets must not be counted as theirs.
    shares = taken / (known.mean() * taken.size if known.sum() > 0 else math.nan)
    return [
        {
            "namespace": row["namespace"],
            "topology": row["topology"],
            "source_task": task,
            "target_task": row["task"],
            "tuples_per_s": sent.trimmed_rate * share,
            "bytes_per_s": math.nan,
            "recent_tuples_per_s": sent.recent_rate * share,
            "samples": sent.samples,
        }
        for row, share in zip(takers, map(float, shares), strict=True)
    ]


def _pair(row: Row) -> tuple[str, str, str, str]:
    return row["namespace"], row["topology"], row["source_task"], row["target_task"]
