"""Round trips of the last while, by the node that they went to."""

import math
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field


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

    def add(self, node: str, rtt_s: float, at_s: float) -> None:
        """Take in one answer."""
        self._seen.setdefault(node, deque()).append((at_s, rtt_s))

    def known(self, now_s: float) -> Iterator[RoundTrip]:
        """What is known now, of every node that answers."""
        for node in sorted(self._seen):
            seen = self._seen[node]
            if now_s - seen[-1][0] > self.silent_after_s:
                del self._seen[node]
                continue
            while now_s - seen[0][0] > self.window_s:
                seen.popleft()
            ordered = sorted(rtt_s for _, rtt_s in seen)
            yield RoundTrip(
                node=node, median_s=_quantile(ordered, 0.5), p99_s=_quantile(ordered, 0.99)
            )


def _quantile(ordered: list[float], share: float) -> float:
    """The smallest value that so large a share does not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)]
