"""What was measured and what follows from it, as conditions and figures."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from thalweg_operator.improving import Improvement
from thalweg_operator.observe.measured import Measured
from thalweg_operator.report.conditions import Condition
from thalweg_operator.report.figures import per_second, percent, seconds
from thalweg_scheduling.model.limits import Trust
from thalweg_scheduling.model.matrices import Observed
from thalweg_scheduling.model.plan import Plan
from thalweg_scheduling.model.reasons import ReasonCode

_METRICS_CODES = {
    ReasonCode.METRICS_MISSING,
    ReasonCode.METRICS_STALE,
    ReasonCode.METRICS_PARTIAL,
}
_LIMIT_CODES = {ReasonCode.AT_LIMIT, ReasonCode.STEP_LIMITED, ReasonCode.INFEASIBLE}


def metrics_available(
    measured: Measured, trust: Trust, now_s: float, *, trouble: str, has_source: bool
) -> Condition:
    """Whether measurements are good enough to change anything by."""

    def say(reason: str, message: str, *, status: bool | None = False) -> Condition:
        return Condition(kind="MetricsAvailable", status=status, reason=reason, message=message)

    if not has_source:
        text = "the operator's settings name no such metrics source; nothing is measured"
        return say("NoMetricsSource", text, status=None)
    warned = _warned(measured.warnings)
    for word, matrix in (("loads", measured.loads), ("traffic", measured.traffic)):
        observed = None if matrix is None else matrix.observed
        problem = _problem(observed, trust, now_s)
        if problem is not None:
            reason, text = problem
            more = "; ".join(filter(None, (trouble, warned)))
            return say(reason, f"{word}: {text}" + (f" ({more})" if more else ""))
    text = "loads and traffic are measured"
    return say("Fresh", f"{text}; {warned}" if warned else text, status=True)


def _warned(warnings: Sequence[str]) -> str:
    if not warnings:
        return ""
    more = f" and {len(warnings) - 1} more" if len(warnings) > 1 else ""
    return f"the metrics source warned: {warnings[0]}{more}"


def _problem(observed: Observed | None, trust: Trust, now_s: float) -> tuple[str, str] | None:
    if observed is None or not math.isfinite(observed.at_s):
        return "MetricsMissing", "nothing has been measured yet"
    if not observed.is_fresh(now_s, trust.stale_after_s):
        return "MetricsStale", f"the newest sample is {now_s - observed.at_s:.0f} s old"
    if not observed.is_whole(trust.least_coverage):
        share = percent(observed.coverage) or "an unknown share"
        return "MetricsPartial", f"only {share} of the series that ought to be there are"
    return None


def planning_conditions(improvement: Improvement | None) -> tuple[Condition, ...]:
    """Whether tasks are where and as many as they should be, as far as the last decision says."""
    if improvement is None:
        return ()
    plan = improvement.plan
    limited = [reason.message for reason in plan.reasons if reason.code in _LIMIT_CODES]
    scaling = Condition(
        kind="ScalingLimited",
        status=bool(limited),
        reason="Limited" if limited else "WithinLimits",
        message=limited[0] if limited else "nothing limits the number of tasks",
    )
    return (_placement(plan), scaling) if improvement.looked_for_moves else (scaling,)


def _placement(plan: Plan) -> Condition:
    codes = {reason.code for reason in plan.reasons}
    optimal: bool | None = None if codes & _METRICS_CODES else not plan.moves
    first = plan.reasons[0].code if plan.reasons else ReasonCode.NOTHING_TO_DO
    message = "; ".join(reason.message for reason in plan.reasons[:3])
    return Condition(
        kind="PlacementOptimal", status=optimal, reason=str(first), message=message or str(first)
    )


def figures(
    measured: Measured, domain_of_task: Sequence[str], *, awake: int, nodes: int, at: str
) -> dict[str, Any] | None:
    """What the table shows; None before anything was measured."""
    if not math.isfinite(measured.observed_at_s):
        return None
    shown: Mapping[str, str | None] = {
        "at": at,
        "latency": seconds(measured.latency_s),
        "throughput": per_second(measured.throughput_per_s),
        "crossDomain": percent(cross_domain_share(measured, domain_of_task)),
        "awake": f"{awake}/{nodes}",
    }
    return {name: value for name, value in shown.items() if value is not None}


def cross_domain_share(measured: Measured, domain_of_task: Sequence[str]) -> float:
    """The share of tuples that crossed between domains; NaN where traffic is unknown."""
    traffic = measured.traffic
    if traffic is None:
        return math.nan
    domains = np.array(domain_of_task)
    crosses = domains[traffic.sources] != domains[traffic.targets]
    total = float(np.nansum(traffic.tuples_per_s))
    return float(np.nansum(traffic.tuples_per_s[crosses])) / total if total > 0 else math.nan
