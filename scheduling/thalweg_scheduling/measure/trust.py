"""Whether measurements are good enough to move a task by. Unknown is never zero."""

import numpy as np

from thalweg_scheduling.model.limits import Trust
from thalweg_scheduling.model.matrices import Observed
from thalweg_scheduling.model.reasons import Reason, ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot


def why_not_move(snapshot: Snapshot, now_s: float) -> Reason | None:
    """The first thing that makes traffic or latency unfit to move by, or nothing."""
    trust = snapshot.limits.trust
    traffic = snapshot.traffic
    if traffic is None:
        return _missing("no traffic between tasks was measured")
    return (
        _why_not_observed("traffic", traffic.observed, trust, now_s)
        or _why_not_rates(snapshot)
        or _why_not_observed("node latency", snapshot.latency.observed, trust, now_s)
        or _why_not_latency(snapshot)
    )


def _why_not_observed(
    word: str, observed: Observed | None, trust: Trust, now_s: float
) -> Reason | None:
    if observed is None:
        return _missing(f"{word} was not measured")
    if not observed.is_fresh(now_s, trust.stale_after_s):
        return Reason(
            code=ReasonCode.METRICS_STALE,
            message=f"{word} is {now_s - observed.at_s:.0f} s old; at most "
            f"{trust.stale_after_s:.0f} s are trusted",
        )
    if np.isnan(observed.coverage):
        return _partial(f"nobody knows how much of the {word} that ought to be there is there")
    if not observed.is_whole(trust.least_coverage):
        return _partial(
            f"{word} covers {100 * observed.coverage:.0f} % of what ought to be there; at least "
            f"{100 * trust.least_coverage:.0f} % are needed"
        )
    return None


def _why_not_rates(snapshot: Snapshot) -> Reason | None:
    if snapshot.traffic is None:
        return None
    per_s = snapshot.traffic.tuples_per_s
    unknown = int(np.count_nonzero(~(np.isfinite(per_s) & (per_s >= 0))))
    if unknown:
        return _partial(f"{unknown} of {len(per_s)} rates between tasks are unknown")
    return None


def _why_not_latency(snapshot: Snapshot) -> Reason | None:
    pairs = snapshot.latency.pairs_s
    if pairs is None:
        return None
    unknown = ~(np.isfinite(pairs) & (pairs >= 0))
    # Nobody probes a node from itself; its class stands in.
    np.fill_diagonal(unknown, val=False)
    if unknown.any():
        source, target = (int(node) for node in np.argwhere(unknown)[0])
        return _partial(
            f"the latency of {np.count_nonzero(unknown)} node pairs is unknown, among them "
            f"{snapshot.nodes[source]} to {snapshot.nodes[target]}"
        )
    return None


def _missing(message: str) -> Reason:
    return Reason(code=ReasonCode.METRICS_MISSING, message=message)


def _partial(message: str) -> Reason:
    return Reason(code=ReasonCode.METRICS_PARTIAL, message=message)
