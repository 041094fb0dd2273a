"""Which series were there, and until when: what coverage is counted from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from thalweg_spark.condense.rates import median
from thalweg_spark.condense.series import Series

PRESENCE_FACTS = ("tuples", "sent", "processed", "rtt", "rtt_count", "node_cpu")
"""A matrix is as complete as the series of these facts are."""
PRESENCE_LABELS = (
    *("namespace", "topology", "task", "to_vertex"),
    *("source_node", "target_node", "node"),
)
STALE_SCRAPES = 3
LEAST_SLACK_S = 5.0
_USUAL_SCRAPE_S = 15.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Series of one fact that agree in the labels that coverage looks at."""

    fact: str
    namespace: str = ""
    topology: str = ""
    task: str = ""
    to_vertex: str = ""
    source_node: str = ""
    target_node: str = ""
    node: str = ""
    is_live: bool
    """Whether they were still scraped at the end of the window, and twice at least."""
    last_s: float
    samples: int


def presences(pulled: Mapping[str, Iterable[Series]], *, at_s: float) -> list[Presence]:
    """One for each series."""
    return [
        Presence(
            fact=fact,
            is_live=is_live(one, at_s),
            last_s=one.last_s,
            samples=one.times_s.size,
            **{label: one.labels.get(label, "") for label in PRESENCE_LABELS},
        )
        for fact in PRESENCE_FACTS
        for one in pulled.get(fact, ())
    ]


def is_live(series: Series, at_s: float) -> bool:
    """Whether it was scraped twice at least, and still was at the end of the window."""
    return series.times_s.size > 1 and is_fresh(series, at_s)


def is_fresh(series: Series, at_s: float) -> bool:
    """Whether its newest sample is a few scrapes old at most."""
    several = series.times_s.size > 1
    scrape_s = median(np.diff(series.times_s)) if several else _USUAL_SCRAPE_S
    return at_s - series.last_s <= max(LEAST_SLACK_S, STALE_SCRAPES * scrape_s)
