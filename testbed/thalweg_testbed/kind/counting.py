"""What Prometheus has counted of one topology's run, and whether that agrees with itself."""

from collections.abc import Mapping
from typing import Any

from thalweg_testbed.kind.monitoring import Prometheus

__all__ = ["Counted", "is_within"]

_LONGEST_RUN = "20m"
_FEW = 1.0
"""Of a handful of tuples one may be on its way."""


class Counted:
    """The counters of all pods that a topology had, those that are gone included."""

    def __init__(self, prometheus: Prometheus, namespace: str, spec: Mapping[str, Any]) -> None:
        self._prometheus = prometheus
        self._namespace = namespace
        self._senders: dict[str, set[str]] = {one["name"]: set() for one in spec["vertices"]}
        for edge in spec["edges"]:
            self._senders[edge["to"]].add(edge["from"])

    @property
    def sources(self) -> set[str]:
        """Vertices to which nobody sends."""
        return {vertex for vertex, senders in self._senders.items() if not senders}

    @property
    def sinks(self) -> set[str]:
        """Vertices that send to nobody."""
        return self._senders.keys() - set().union(*self._senders.values())

    def all(self, name: str, **labels: str) -> float:
        """The sum of a counter."""
        return sum(float(one["value"][1]) for one in self.series(name, **labels))

    def processed(self, vertex: str) -> float:
        """How many tuples the tasks of a vertex have processed."""
        return self.all("thalweg_processed_total", vertex=vertex)

    def rate(self, name: str, window_s: int, **labels: str) -> float:
        """How fast a counter has risen lately, all its series together, a second."""
        return self._number(self._rate(name, window_s, labels))

    def mean(self, total: str, count: str, window_s: int) -> float:
        """What one of those that were counted lately had of a total, both at one moment."""
        return self._number(
            f"{self._rate(total, window_s, {})} / {self._rate(count, window_s, {})}"
        )

    def _rate(self, name: str, window_s: int, labels: Mapping[str, str]) -> str:
        return f"sum(rate({name}{{{self._selector(labels)}}}[{window_s}s]))"

    def _number(self, expression: str) -> float:
        found = self._prometheus.query(expression)
        return float(found[0]["value"][1]) if found else 0.0

    def edge_rates(self, window_s: int) -> dict[tuple[str, str], float]:
        """What has flowed on each edge lately, in tuples a second, as the senders counted it."""
        return {
            (source, vertex): self.rate(
                "thalweg_tuples_total", window_s, vertex=source, to_vertex=vertex
            )
            for vertex, senders in self._senders.items()
            for source in senders
        }

    def still(self) -> set[str]:
        """Vertices through which nothing has flowed."""
        return {vertex for vertex in self._senders if not self.processed(vertex)}

    def differences(self, within: float) -> list[str]:
        """Where what was sent is not what came, or the sinks saw no latency of what came.

        What was sent again may have come twice, and is not counted as sent twice.
        """
        rows: list[tuple[str, float, float, float]] = []
        for vertex, senders in self._senders.items():
            came = self.processed(vertex)
            if senders:
                sent = self.all("thalweg_tuples_total", to_vertex=vertex)
                again = sum(self.all("thalweg_resent_tuples_total", vertex=one) for one in senders)
                rows.append((f"to {vertex}", came, sent, again))
            if vertex in self.sinks:
                seen = self.all("thalweg_latency_seconds_count", vertex=vertex)
                rows.append((f"latencies at {vertex}", seen, came, 0.0))
        return [
            f"{what}: {found:g} of {expected:g}, {repeated:g} sent again"
            for what, found, expected, repeated in rows
            if not is_within(found, expected, within, more=repeated)
        ]

    def series(self, name: str, **labels: str) -> list[dict[str, Any]]:
        """All series of a counter, each at the last that was scraped of it."""
        selector = self._selector(labels)
        return self._prometheus.query(f"max_over_time({name}{{{selector}}}[{_LONGEST_RUN}])")

    def _selector(self, labels: Mapping[str, str]) -> str:
        chosen = {"namespace": self._namespace, **labels}
        return ",".join(f'{key}="{value}"' for key, value in chosen.items())


def is_within(found: float, expected: float, within: float, *, more: float = 0.0) -> bool:
    """Whether it is as expected, or up to so many more.

    >>> is_within(98, 100, 0.02), is_within(97, 100, 0.02), is_within(150, 100, 0.02, more=50)
    (True, False, True)
    """
    slack = max(_FEW, within * expected)
    return expected - slack <= found <= expected + slack + more
