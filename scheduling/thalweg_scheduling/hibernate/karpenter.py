"""Karpenter's consolidation, as a baseline.

Nodes are sorted by what disrupting them costs (the tasks on them); of at most a hundred of them
the longest prefix that can go at once is found by halving, each probe a simulation in which their
tasks, largest first, go to the first of the other nodes that has room. When no prefix of two or
more can go, nodes are tried one by one. Both are repeated until nothing changes, as its loop does.
What it can do and we leave out: replacing nodes by cheaper ones.
"""

import numpy as np

from thalweg_scheduling.hibernate.evacuation import evacuate, longest_prefix
from thalweg_scheduling.hibernate.packing import Filling, Packing, filled_as_it_is
from thalweg_scheduling.hibernate.sleeping import Gate, Sleep, SleepLimits

MOST_CANDIDATES = 100


def sleep_by_prefix(packing: Packing, limits: SleepLimits) -> Sleep:
    """Say what Karpenter would consolidate."""
    filling = filled_as_it_is(packing)
    if filling is None:
        return Sleep.nobody(packing)
    gate = limits.gate(packing)
    asleep: list[int] = []
    while True:
        candidates = _candidates(filling, gate)
        gone = longest_prefix(filling, candidates, least=2, tightly=False)
        gone = gone or _first_single(filling, candidates)
        if not gone:
            break
        for node in gone:
            gate.pass_through(node)
        asleep += gone
    return Sleep(asleep=np.array(asleep, dtype=np.int64), node=packing.assigned(filling.counts))


def _candidates(filling: Filling, gate: Gate) -> list[int]:
    """Those that may go together, the cheapest to disrupt first."""
    tasks = filling.counts.sum(axis=0)
    order = np.argsort(tasks, kind="stable")
    return gate.leaving(order[filling.awake[order]])[:MOST_CANDIDATES]


def _first_single(filling: Filling, candidates: list[int]) -> list[int]:
    return next(([node] for node in candidates if evacuate(filling, [node], tightly=False)), [])
