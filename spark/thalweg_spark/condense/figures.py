"""Figures of facts that tables are completed by: of pods, of nodes, of other engines' tasks.

Both engines give these small rows; completing.py makes the tables of them.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from thalweg_spark.condense.rates import mean_rate, together
from thalweg_spark.condense.series import Series

_TASK = ("namespace", "topology", "vertex", "task")
_POD = ("namespace", "pod")
_PAIR = ("source_node", "target_node")
FIGURE_KEYS: Mapping[str, tuple[str, ...]] = {
    "sent": _TASK,
    "busy_share": _TASK,
    "backpressured_share": _TASK,
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
    "rtt_sum": _PAIR,
    "rtt_count": _PAIR,
}
"""What each fact is about: the labels that its series are put together by."""
KEY_LABELS = tuple(dict.fromkeys(label for keys in FIGURE_KEYS.values() for label in keys))
WELCOME = frozenset(fact for fact in FIGURE_KEYS if fact.startswith(("pod_", "node_")))
"""Facts of others' exporters: one that cannot be read is warned of and leaves the rest alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """What a group of series comes to; NaN where it is not known."""

    fact: str
    key: tuple[str, ...]
    rate: float
    """Rise per second, of a counter."""
    rise: float
    latest: float
    """The sum of the newest readings, of a gauge."""
    mean: float
    samples: int


def figures(pulled: Mapping[str, Sequence[Series]]) -> list[Figure]:
    """The figures of all facts that have any."""
    found = []
    for fact, labels in FIGURE_KEYS.items():
        groups: dict[tuple[str, ...], list[Series]] = {}
        for one in pulled.get(fact, ()):
            key = tuple(one.labels.get(label, "") for label in labels)
            if all(key):
                groups.setdefault(key, []).append(one)
        found += [_figure(fact, key, parts) for key, parts in sorted(groups.items())]
    return found


def _figure(fact: str, key: tuple[str, ...], parts: Sequence[Series]) -> Figure:
    amounts = together(parts).amount
    values = np.concatenate([one.values for one in parts])
    return Figure(
        fact=fact,
        key=key,
        rate=mean_rate(parts),
        rise=float(amounts.sum()) if amounts.size else math.nan,
        latest=latest(parts),
        mean=float(values.sum() / values.size),
        samples=int(values.size),
    )


def latest(parts: Sequence[Series]) -> float:
    """The sum of the newest readings of a gauge.

    A pod that is gone has left a last reading behind: only what is as new as the newest counts,
    give or take two scrapes.
    """
    if not parts:
        return math.nan
    newest = max(one.last_s for one in parts)
    gaps = np.concatenate([np.diff(one.times_s) for one in parts])
    slack_s = 2 * float(np.median(gaps)) if gaps.size else 0.0
    return float(sum(one.values[-1] for one in parts if newest - one.last_s <= slack_s))
