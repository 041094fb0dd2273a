"""Why a plan is what it is; the same words appear as reasons of conditions and events."""

from dataclasses import dataclass
from enum import StrEnum


class ReasonCode(StrEnum):
    """One CamelCase word for each thing that can decide a plan."""

    FIRST_PLACEMENT = "FirstPlacement"
    REPLACED = "Replaced"
    MOVED = "Moved"
    ROLLED_BACK = "RolledBack"
    SCALED_UP = "ScaledUp"
    SCALED_DOWN = "ScaledDown"
    REGROUPED = "Regrouped"
    MAY_SLEEP = "MaySleep"
    NOTHING_TO_DO = "NothingToDo"
    WITHIN_TOLERANCE = "WithinTolerance"
    METRICS_MISSING = "MetricsMissing"
    METRICS_STALE = "MetricsStale"
    METRICS_PARTIAL = "MetricsPartial"
    COOLING_DOWN = "CoolingDown"
    STABILISING = "Stabilising"
    AT_LIMIT = "AtLimit"
    INEFFECTIVE = "Ineffective"
    STEP_LIMITED = "StepLimited"
    NOT_PERMITTED = "NotPermitted"
    INFEASIBLE = "Infeasible"
    COMPARED = "Compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reason:
    """A word for machines and a sentence for people."""

    code: ReasonCode
    message: str
