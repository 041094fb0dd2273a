"""Round trips of the last while, by the node that they went to."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Lock


@dataclass(frozen=True, slots=True, kw_only=True)
class RoundTrip:
    """What is known of the way to one node."""

    node: str
    median_s: float
    p99_s: float


@dataclass(kw_only=True)
class RoundTrips:
    """Keeps what came back. A node that has not answered lately is not in it at all."""

    window_s: float = 60.0
    silent_after_s: float = 20.0
    _seen: dict[str, deque[tuple[float, float]]] = field(default_factory=dict)
    _turn: Lock = field(default_factory=Lock)
    """Answers come in one thread, scrapes in another."""

    def add(self, node: str, rtt_s: float, at_s: float) -> None:
        """Take in one answer."""
        with self._turn:
            self._seen.setdefault(node, deque()).append((at_s, rtt_s))

    def known(self, now_s: float) -> Iterator[RoundTrip]:
        """What is known now, of every node that answers."""
        with self._turn:
            recent = self._recent(now_s)
        for node in sorted(recent):
            ordered = sorted(recent[node])
            yield RoundTrip(
                node=node, median_s=_quantile(ordered, 0.5), p99_s=_quantile(ordered, 0.99)
            )

    def _recent(self, now_s: float) -> dict[str, list[float]]:
        """Forget what is too old, and copy what is not."""
        for node in [one for one, seen in self._seen.items() if self._is_silent(seen, now_s)]:
            del self._seen[node]
        for seen in self._seen.values():
            while now_s - seen[0][0] > self.window_s:
                seen.popleft()
        return {node: [rtt_s for _, rtt_s in seen] for node, seen in self._seen.items()}

    def _is_silent(self, seen: deque[tuple[float, float]], now_s: float) -> bool:
        return now_s - seen[-1][0] > self.silent_after_s


def _quantile(ordered: list[float], share: float) -> float:
    """The smallest value that so large a share does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
