"""Which nodes may sleep.

`decide_asleep` is asked by the loop. The searches behind it have one signature: `sleep_most` is
ours; `sleep_by_prefix` does as Karpenter, `sleep_underused` as cluster-autoscaler.
"""

from thalweg_scheduling.hibernate.autoscaler import sleep_underused
from thalweg_scheduling.hibernate.decision import Hibernation, decide_asleep
from thalweg_scheduling.hibernate.karpenter import sleep_by_prefix
from thalweg_scheduling.hibernate.packing import Packing, packing_of
from thalweg_scheduling.hibernate.search import sleep_most
from thalweg_scheduling.hibernate.sleeping import Sleep, SleepLimits, SleepSearch

__all__ = [
    "Hibernation",
    "Packing",
    "Sleep",
    "SleepLimits",
    "SleepSearch",
    "decide_asleep",
    "packing_of",
    "sleep_by_prefix",
    "sleep_most",
    "sleep_underused",
]
