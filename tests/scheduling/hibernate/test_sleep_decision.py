"""Unknown is not unused."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_bins import NOW_S, bins
from thalweg_scheduling.hibernate import SleepLimits, decide_asleep, sleep_underused
from thalweg_scheduling.model.matrices import Observed
from thalweg_scheduling.model.reasons import ReasonCode
from thalweg_scheduling.model.snapshot import Snapshot

HALF = SleepLimits(max_asleep_share=0.5)


def spread_out() -> Snapshot:
    return bins([(1, 1)] * 4, [0, 1, 2, 3], [(4, 4)] * 4)


def test_it_names_the_nodes_and_the_moves() -> None:
    hibernation = decide_asleep(spread_out(), now_s=NOW_S, limits=HALF)
    assert len(hibernation.asleep) == 2
    assert [reason.code for reason in hibernation.reasons] == [ReasonCode.MAY_SLEEP]
    assert "once 2 tasks have moved" in hibernation.reasons[0].message
    asleep = {f"n{n}" for n in range(4)} - {f"n{n}" for n in hibernation.node.tolist()}
    assert set(hibernation.asleep) <= asleep


def test_another_search_can_be_asked() -> None:
    hibernation = decide_asleep(spread_out(), now_s=NOW_S, limits=HALF, search=sleep_underused)
    assert len(hibernation.asleep) == 2


def test_every_node_is_needed() -> None:
    full = bins([(4, 4)] * 2, [0, 1], [(4, 4)] * 2)
    hibernation = decide_asleep(full, now_s=NOW_S, limits=HALF)
    assert not hibernation.asleep
    assert hibernation.reasons[0].code is ReasonCode.NOTHING_TO_DO


def seen(*, age_s: float = 1.0, coverage: float = 1.0) -> Observed:
    return Observed(at_s=NOW_S - age_s, window_s=30.0, samples=10, coverage=coverage)


@pytest.mark.parametrize(
    ("observed", "code"),
    [
        (None, ReasonCode.METRICS_MISSING),
        (seen(age_s=46), ReasonCode.METRICS_STALE),
        (seen(age_s=-46), ReasonCode.METRICS_STALE),
        (seen(coverage=0.8), ReasonCode.METRICS_PARTIAL),
        (seen(coverage=float("nan")), ReasonCode.METRICS_PARTIAL),
    ],
)
def test_bad_evidence_puts_nobody_to_sleep(observed: Observed | None, code: ReasonCode) -> None:
    snapshot = spread_out()
    assert snapshot.loads is not None
    doubtful = replace(snapshot, loads=replace(snapshot.loads, observed=observed))
    hibernation = decide_asleep(doubtful, now_s=NOW_S, limits=HALF)
    assert not hibernation.asleep
    assert hibernation.reasons[0].code is code


@pytest.mark.parametrize("value", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("field", ["cpu_cores", "memory_bytes"])
def test_one_unknown_use_keeps_everybody_awake(field: str, value: float) -> None:
    snapshot = spread_out()
    assert snapshot.loads is not None
    used = np.array(getattr(snapshot.loads, field))
    used[2] = value
    loads = replace(snapshot.loads, observed=seen(), **{field: used})
    hibernation = decide_asleep(replace(snapshot, loads=loads), now_s=NOW_S, limits=HALF)
    assert not hibernation.asleep
    assert hibernation.reasons[0].code is ReasonCode.METRICS_MISSING


def test_nobody_sleeps_while_a_task_looks_for_a_node() -> None:
    homeless = bins([(1, 1)] * 2, [0, -1], [(4, 4)] * 4)
    hibernation = decide_asleep(homeless, now_s=NOW_S, limits=HALF)
    assert not hibernation.asleep
    assert hibernation.reasons[0].code is ReasonCode.INFEASIBLE


def test_nothing_measured() -> None:
    hibernation = decide_asleep(replace(spread_out(), loads=None), now_s=NOW_S, limits=HALF)
    assert hibernation.reasons[0].code is ReasonCode.METRICS_MISSING
