"""How much of what ought to be measured was, and when it was last."""

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from thalweg_spark.condense.expectation import Expectation, ExpectedTopology
from thalweg_spark.condense.series import Series
from thalweg_spark.condense.tables import Grouper, Pulled, samples_of

Row = dict[str, Any]
_STALE_SCRAPES = 3
_LEAST_SLACK_S = 5.0


def coverage(
    pulled: Pulled,
    grouper: Grouper,
    expectation: Expectation | None,
    *,
    windows_s: dict[str, float],
    at_s: float,
) -> list[Row]:
    """A row for each matrix of each topology; without an expectation the share is unknown."""
    topologies = _topologies(pulled, grouper, expectation)
    rows = []
    for key, expected in sorted(topologies.items()):
        for matrix, fact in (("dependency", "tuples"), ("task_load", "processed")):
            series = [
                one
                for one in grouper.by(pulled.get(fact, ()), "namespace", "topology").get(key, [])
                if _is_live(one, at_s)
            ]
            share = (
                math.nan if expected is None else _share(matrix, series, grouper, expected, at_s)
            )
            rows.append(_row(matrix, key, series, share, windows_s[matrix]))
    rtt = [one for one in pulled.get("rtt", ()) if _is_live(one, at_s)]
    share = math.nan if expectation is None else _node_share(rtt, grouper, expectation)
    rows.append(_row("node_latency", ("", ""), rtt, share, windows_s["node_latency"]))
    return rows


def _topologies(
    pulled: Pulled, grouper: Grouper, expectation: Expectation | None
) -> dict[tuple[str, str], ExpectedTopology | None]:
    if expectation is not None:
        return {one.key: one for one in expectation.topologies}
    found = grouper.by(pulled.get("processed", ()), "namespace", "topology")
    return {(key[0], key[1]): None for key in found}


def _is_live(series: Series, at_s: float) -> bool:
    """Whether the series was still scraped at the end of the window, and twice at least."""
    if series.times_s.size < 2:
        return False
    scrape_s = float(np.median(np.diff(series.times_s)))
    return at_s - series.last_s <= max(_LEAST_SLACK_S, _STALE_SCRAPES * scrape_s)


def _share(
    matrix: str,
    series: Sequence[Series],
    grouper: Grouper,
    expected: ExpectedTopology,
    at_s: float,
) -> float:
    if matrix == "task_load":
        wanted: set[Any] = expected.settled(at_s)
        there: set[Any] = {key[0] for key in grouper.by(series, "task")}
    else:
        wanted = expected.senders(at_s)
        there = {(key[0], key[1]) for key in grouper.by(series, "task", "to_vertex")}
    return len(wanted & there) / len(wanted) if wanted else math.nan


def _node_share(series: Sequence[Series], grouper: Grouper, expectation: Expectation) -> float:
    if not expectation.nodes:
        return math.nan
    there = {key[0] for key in grouper.by(series, "source_node")}
    return len(there & expectation.nodes) / len(expectation.nodes)


def _row(
    matrix: str, key: tuple[str, str], series: Iterable[Series], share: float, window_s: float
) -> Row:
    series = list(series)
    return {
        "matrix": matrix,
        "namespace": key[0],
        "topology": key[1],
        "window_s": window_s,
        "observed_at_s": max((one.last_s for one in series), default=math.nan),
        "samples": samples_of(series),
        "coverage": share,
    }
