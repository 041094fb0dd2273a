"""cluster-autoscaler's scale-down, as a baseline.

A node is a candidate when less than half of it is requested, by the resource of which most is.
Empty ones go at once; of the others the emptiest whose tasks all fit elsewhere goes, one at a time,
until none is left. (Its waiting times are the operator's, not the search's.)
"""

import numpy as np

from thalweg_scheduling.hibernate.evacuation import evacuate
from thalweg_scheduling.hibernate.packing import Packing, filled_as_it_is
from thalweg_scheduling.hibernate.sleeping import Sleep, SleepLimits

THRESHOLD = 0.5


def sleep_underused(packing: Packing, limits: SleepLimits) -> Sleep:
    """Say which nodes cluster-autoscaler would remove."""
    filling = filled_as_it_is(packing)
    if filling is None:
        return Sleep.nobody(packing)
    gate = limits.gate(packing)
    asleep: list[int] = []
    shrinks = True
    while shrinks:
        shrinks = False
        load = filling.load()
        for node in np.argsort(load, kind="stable").tolist():
            if load[node] >= THRESHOLD:
                break
            if filling.awake[node] and gate.lets(node) and evacuate(filling, [node]):
                gate.pass_through(node)
                asleep.append(node)
                shrinks = True
                if load[node] > 0:
                    break
    return Sleep(asleep=np.array(asleep, dtype=np.int64), node=packing.assigned(filling.counts))
