"""Whether anything may sleep now, and what."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.hibernate.packing import packing_of
from thalweg_scheduling.hibernate.search import sleep_most
from thalweg_scheduling.hibernate.sleeping import SleepLimits, SleepSearch
from thalweg_scheduling.model.arrays import Floats, Ints, frozen_ints
from thalweg_scheduling.model.matrices import TaskLoad
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot

DEFAULT_LIMITS = SleepLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Hibernation:
    """The nodes that may sleep, and where everything would run then."""

    asleep: tuple[str, ...] = ()
    node: Ints
    """Shape (tasks,): a node for every task that keeps the sleepers empty."""
    reasons: tuple[Reason, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "node", frozen_ints(self.node))


def decide_asleep(
    snapshot: Snapshot,
    *,
    now_s: float,
    limits: SleepLimits = DEFAULT_LIMITS,
    search: SleepSearch = sleep_most,
) -> Hibernation:
    """Find nodes that nothing needs, if everything is known that this takes."""
    refusal = _refusal(snapshot, now_s)
    if refusal is not None:
        return Hibernation(node=snapshot.placement, reasons=(refusal,))
    packing = packing_of(snapshot)
    sleep = search(packing, limits)
    names = tuple(snapshot.nodes[node] for node in sleep.asleep)
    return Hibernation(
        asleep=names, node=sleep.node, reasons=(_reason(names, sleep.moved(packing)),)
    )


def _refusal(snapshot: Snapshot, now_s: float) -> Reason | None:
    """Unknown is not unused: without good measurements nobody sleeps."""
    if snapshot.unplaced.size:
        return Reason(
            code=ReasonCode.INFEASIBLE,
            message=f"{snapshot.unplaced.size} tasks still look for a node",
        )
    loads, trust = snapshot.loads, snapshot.limits.trust
    if loads is None or loads.observed is None or not _are_known(_needed(snapshot, loads)):
        return Reason(
            code=ReasonCode.METRICS_MISSING, message="what the tasks use is not known of all"
        )
    if not loads.observed.is_fresh(now_s, trust.stale_after_s):
        age_s = now_s - loads.observed.at_s
        return Reason(
            code=ReasonCode.METRICS_STALE, message=f"the tasks' loads are {age_s:.0f} s old"
        )
    if not loads.observed.is_whole(trust.least_coverage):
        return Reason(
            code=ReasonCode.METRICS_PARTIAL, message="too few tasks were measured to free a node"
        )
    return None


def _needed(snapshot: Snapshot, loads: TaskLoad) -> Sequence[Floats]:
    used = {"cpu": loads.cpu_cores, "memory": loads.memory_bytes}
    return [used[name] for name in snapshot.resources if name in used]


def _are_known(values: Sequence[Floats]) -> bool:
    return all(bool(np.all(np.isfinite(array) & (array >= 0))) for array in values)


def _reason(names: tuple[str, ...], moved: int) -> Reason:
    if not names:
        return Reason(code=ReasonCode.NOTHING_TO_DO, message="every node is needed")
    shown = ", ".join(names[:3]) + (" and others" if len(names) > 3 else "")
    return Reason(
        code=ReasonCode.MAY_SLEEP,
        message=f"{len(names)} nodes may sleep ({shown}) once {moved} tasks have moved",
    )
