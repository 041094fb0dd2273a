"""Why a measurement is not good enough to move by, in words that somebody can act on."""

from dataclasses import replace

import pytest

from thalweg_scheduling.measure.trust import why_not_move
from thalweg_scheduling.model.matrices import Observed
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_streams import NOW_S, Flow, seen, streaming


def measured(observed: Observed | None) -> Snapshot:
    """One sender and one receiver, and how well what passes between them was seen."""
    flows = {"a": Flow(tasks=1), "b": Flow(tasks=1)}
    snapshot = streaming(flows, {("a", "b"): 5.0})
    assert snapshot.traffic is not None
    return replace(
        snapshot,
        traffic=replace(snapshot.traffic, observed=observed),
        latency=replace(snapshot.latency, observed=seen()),
    )


@pytest.mark.parametrize(
    ("observed", "code", "words"),
    [
        (None, ReasonCode.METRICS_MISSING, "traffic was not measured"),
        (seen(age_s=1e4), ReasonCode.METRICS_STALE, "10000 s old"),
        (seen(coverage=0.5), ReasonCode.METRICS_PARTIAL, "covers 50 %"),
        (seen(coverage=float("nan")), ReasonCode.METRICS_PARTIAL, "nobody knows how much"),
    ],
)
def test_what_is_wrong_with_it(observed: Observed | None, code: ReasonCode, words: str) -> None:
    reason = why_not_move(measured(observed), NOW_S)
    assert reason is not None
    assert reason.code is code
    assert words in reason.message


def test_a_good_one_is_trusted() -> None:
    assert why_not_move(measured(seen()), NOW_S) is None
