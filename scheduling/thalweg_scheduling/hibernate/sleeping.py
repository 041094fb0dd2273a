"""Which nodes sleep, what may be asked of that, and the one signature of the searches."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from thalweg_scheduling.hibernate.packing import Packing
from thalweg_scheduling.model.arrays import Bools, Ints, frozen_ints


@dataclass(frozen=True, slots=True, kw_only=True)
class SleepLimits:
    """How many nodes may sleep, and which."""

    min_awake: int = 1
    """At least this many nodes of each domain stay awake."""
    max_asleep_share: float = 0.3
    candidates: tuple[bool, ...] | None = None
    """Which nodes may sleep at all; all of them where absent."""

    def may_sleep(self, packing: Packing) -> Bools:
        """Shape (nodes,): the candidates."""
        if self.candidates is None:
            return np.ones(packing.nodes, dtype=np.bool_)
        return np.array(self.candidates, dtype=np.bool_)

    def most_asleep(self, packing: Packing) -> int:
        """How many may sleep at the same time."""
        return int(np.floor(self.max_asleep_share * packing.nodes + 1e-9))

    def awake_anyhow(self, packing: Packing, order: Ints) -> Bools:
        """Shape (nodes,): who stays awake; for the sake of a domain, the first of `order`."""
        kept = ~self.may_sleep(packing)
        missing = self.min_awake - np.bincount(packing.domain_of[kept], minlength=packing.nodes)
        for node in order.tolist():
            domain = packing.domain_of[node]
            if not kept[node] and missing[domain] > 0:
                kept[node] = True
                missing[domain] -= 1
        return kept

    def gate(self, packing: Packing) -> "Gate":
        """A gate through which nodes go to sleep one by one."""
        return Gate(packing, self)

    def thinned(self, packing: Packing, idle: Ints) -> Ints:
        """As many of the idle nodes, in their order, as may sleep."""
        return np.array(self.gate(packing).leaving(idle), dtype=np.int64)


class Gate:
    """Counts who sleeps, and lets nobody through whom the limits keep awake."""

    def __init__(self, packing: Packing, limits: SleepLimits) -> None:
        """Start with everybody awake."""
        self._domain_of = packing.domain_of
        self._may = limits.may_sleep(packing)
        self._left = limits.most_asleep(packing)
        self._spare = np.bincount(packing.domain_of, minlength=1) - limits.min_awake

    def lets(self, node: int) -> bool:
        """Whether one more node, this one, may sleep."""
        return bool(self._may[node] and self._left > 0 and self._spare[self._domain_of[node]] > 0)

    def pass_through(self, node: int) -> None:
        """Count it as asleep."""
        self._left -= 1
        self._spare[self._domain_of[node]] -= 1

    def leaving(self, nodes: Ints) -> list[int]:
        """As many of the nodes, in their order, as could still sleep all at once."""
        left, spare = self._left, np.array(self._spare)
        chosen: list[int] = []
        for node in nodes.tolist():
            domain = self._domain_of[node]
            if self._may[node] and len(chosen) < left and spare[domain] > 0:
                spare[domain] -= 1
                chosen.append(node)
        return chosen


@dataclass(frozen=True, slots=True, kw_only=True)
class Sleep:
    """The nodes that may sleep, and a place on the others for every task."""

    asleep: Ints
    """Positions of nodes, ascending."""
    node: Ints
    """Shape (tasks,)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "asleep", frozen_ints(np.sort(self.asleep)))
        object.__setattr__(self, "node", frozen_ints(self.node))

    def moved(self, packing: Packing) -> int:
        """How many tasks have to leave their node for it."""
        return int(np.count_nonzero(self.node != packing.placement))

    @staticmethod
    def nobody(packing: Packing) -> "Sleep":
        """Everything stays as it is."""
        return Sleep(asleep=np.zeros(0, dtype=np.int64), node=packing.placement)


class SleepSearch(Protocol):
    """The one signature of the searches."""

    def __call__(self, packing: Packing, limits: SleepLimits) -> Sleep: ...
