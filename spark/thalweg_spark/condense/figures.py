"""Figures: all that is worked out of the samples themselves, one for each group of series.

A group is what belongs together: the series of a pair of tasks, of a task, of a node, whichever
pods they came from. Both engines make figures by these functions, numpy one after the other, Spark
in parallel; whatever follows works on figures alone.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg_spark.condense.presence import is_fresh
from thalweg_spark.condense.quantiles import bound_of, histogram_quantile
from thalweg_spark.condense.rates import (
    covered_s,
    mean_rate,
    median,
    rise_of,
    together,
    trimmed_rate,
)
from thalweg_spark.condense.series import Series, since

TOPOLOGY = ("namespace", "topology")
TASK = (*TOPOLOGY, "vertex", "task")
PAIR = (*TOPOLOGY, "task", "to_task")
NODES = ("source_node", "target_node")
_POD = ("namespace", "pod")
LOAD_FACTS = (
    "processed",
    "busy",
    "backpressured",
    "wait",
    "cpu",
    "memory",
    "queue",
    "routes_version",
)
OF_OTHERS: Mapping[str, tuple[str, ...]] = {
    "sent": TASK,
    "busy_share": TASK,
    "thread_share": (*TASK, "thread"),
    "thread_busy": ("namespace", "thread"),
    "backpressured_share": TASK,
    "pod_cpu": _POD,
    "pod_memory": _POD,
    "pod_receive": _POD,
    "pod_transmit": _POD,
    "pod_info": (*_POD, "node"),
    "node_cpu": ("node",),
    "node_memory": ("node",),
    "node_io": ("node", "device"),
    "node_receive": ("node",),
    "node_transmit": ("node",),
    "node_bandwidth": ("node", "device"),
    "node_address": ("node", "address"),
    "rtt_sum": NODES,
    "rtt_count": NODES,
}
"""The facts that Kubernetes and other engines' exporters tell; KEYS has all."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "tuples": PAIR,
    "bytes": PAIR,
    **dict.fromkeys(LOAD_FACTS, TASK),
    "task_info": (*TOPOLOGY, "task"),
    "rtt": NODES,
    "latency": TOPOLOGY,
    "latency_sum": TOPOLOGY,
    "complete": TOPOLOGY,
    **OF_OTHERS,
}
"""What each fact is about: the labels that its series are put together by."""
KEY_LABELS = tuple(dict.fromkeys(label for keys in KEYS.values() for label in keys))
WELCOME = frozenset(fact for fact in KEYS if fact.startswith(("pod_", "node_")))
"""Facts of others' exporters: one that cannot be read is warned of and leaves the rest alone."""
FLOWS = {"tuples": "tuples_per_s", "bytes": "bytes_per_s"}
"""What goes from task to task, and what its rates are called."""
_SENT = (*FLOWS, "sent")
"""What traffic is worked out from."""
LONGEST_RTT_S = 10.0
"""What takes longer is no round trip but a prober that hung, or one that counts in other units."""
_RTTS = ("rtt", "rtt_sum", "rtt_count")
_SHARES = ("busy_share", "backpressured_share", "thread_share", "thread_busy")
_GAUGES = ("memory", "queue", "pod_memory", "node_memory", "node_bandwidth")
_HISTOGRAMS = ("latency", "complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a group of series comes to; NaN where it is not known, or means nothing of its fact."""

    fact: str
    key: tuple[str, ...]
    samples: int
    rate: float = math.nan
    """Rise per second, of a counter; of a histogram, what was observed per second."""
    rise: float = math.nan
    covered_s: float = math.nan
    """How long at least one series was seen to rise, or to stand still."""
    trimmed_rate: float = math.nan
    """Ra-Stream's Eq 1, of a flow."""
    recent_rate: float = math.nan
    """A flow's rate in the window by which tasks are counted."""
    latest: float = math.nan
    """The sum of the newest readings, of a gauge."""
    mean: float = math.nan
    median: float = math.nan
    p50: float = math.nan
    p99: float = math.nan


Figures = Mapping[str, Mapping[tuple[str, ...], Figure]]
"""Figures by the fact they are of, and by what they are about."""


def key_of(fact: str, labels: Mapping[str, str]) -> tuple[str, ...]:
    """The labels that say what a series of a fact is about; empty where it does not say."""
    return tuple(labels.get(label, "") for label in KEYS[fact])


def is_ours(fact: str, labels: Mapping[str, str]) -> bool:
    """Whether a series says all of what it is about."""
    return all(key_of(fact, labels))


def grouped(fact: str, series: Iterable[Series]) -> dict[tuple[str, ...], list[Series]]:
    """Series of a fact by what they are about."""
    found: dict[tuple[str, ...], list[Series]] = {}
    for one in series:
        found.setdefault(key_of(fact, one.labels), []).append(one)
    return found


def figures(pulled: Mapping[str, Sequence[Series]], *, at_s: float, recent_s: float) -> Figures:
    """The figures of all series."""
    return {
        fact: {
            key: figure(fact, key, parts, at_s=at_s, recent_s=recent_s)
            for key, parts in grouped(fact, series).items()
        }
        for fact, series in pulled.items()
    }


def figure(
    fact: str,
    key: tuple[str, ...],
    parts: Sequence[Series],
    *,
    at_s: float,
    recent_s: float,
) -> Figure:
    """What one group comes to by `at_s`, by what kind of fact it is."""
    if fact in _RTTS:
        # How far a silent node was once says nothing of where it is now.
        parts = [one for one in parts if is_fresh(one, at_s)]
    samples = sum(one.times_s.size for one in parts)
    if fact in _HISTOGRAMS:
        numbers = _of_histogram(parts)
    elif fact in _GAUGES:
        numbers = {"latest": latest(parts)}
    elif fact == "routes_version":
        numbers = {"latest": of_newest_pod(parts)}
    elif fact in _SHARES:
        numbers = {"mean": float(sum(one.values.sum() for one in parts)) / samples}
    elif fact == "rtt":
        numbers = {"median": _round_trip_s(parts)}
    else:
        numbers = _of_counter(parts)
        if fact in _SENT:
            recent = mean_rate([since(one, at_s - recent_s) for one in parts])
            numbers |= {"trimmed_rate": trimmed_rate(parts), "recent_rate": recent}
    return Figure(fact=fact, key=key, samples=samples, **numbers)


def _round_trip_s(parts: Sequence[Series]) -> float:
    values = np.concatenate([np.empty(0), *(one.values for one in parts)])
    return median(values[values <= LONGEST_RTT_S])


def _of_counter(parts: Sequence[Series]) -> dict[str, float]:
    found = together(parts)
    rise, covered = rise_of(found), covered_s(found)
    return {
        "rate": rise / covered if covered > 0 else math.nan,
        "rise": rise,
        "covered_s": covered,
    }


def _of_histogram(parts: Sequence[Series]) -> dict[str, float]:
    """Its last bucket has counted all."""
    whole = [one for one in parts if bound_of(one) == math.inf]
    return {
        **_of_counter(whole),
        "p50": histogram_quantile(parts, 0.5),
        "p99": histogram_quantile(parts, 0.99),
    }


def latest(parts: Sequence[Series]) -> float:
    """The sum of the newest readings of a gauge.

    A pod that is gone has left a last reading behind, which does not count.
    """
    return float(sum(one.values[-1] for one in _still_there(parts))) if parts else math.nan


def of_newest_pod(parts: Sequence[Series]) -> float:
    """The newest reading of the pod that does a task's work: of those there, the one made last.

    The operator numbers pods in the order that it makes them, and their names end in the number.
    """
    if not parts:
        return math.nan
    newest = max(_still_there(parts), key=lambda one: (_incarnation(one), float(one.times_s[0])))
    return float(newest.values[-1])


def _incarnation(series: Series) -> int:
    number = series.labels.get("pod", "").rpartition("-")[2]
    return int(number) if number.isdecimal() else -1


def _still_there(parts: Sequence[Series]) -> list[Series]:
    """The series that were scraped as lately as the newest, give or take two scrapes."""
    newest = max(one.last_s for one in parts)
    gaps = np.concatenate([np.diff(one.times_s) for one in parts])
    slack_s = 2 * median(gaps) if gaps.size else 0.0
    return [one for one in parts if newest - one.last_s <= slack_s]
