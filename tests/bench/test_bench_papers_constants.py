"""The constants are frozen: they fit each paper's baseline, and are not turned for a strategy."""

import pytest

from bench.papers import hd, md, ns, ra, sgp
from bench.papers.setting import Setting
from bench.papers.systems import EVEN, RAS, System, lay_out
from bench.papers.trial import Outcome, try_out


def outcome(system: System, setting: Setting, rate_per_s: float) -> Outcome:
    return try_out(lay_out(system, setting, rate_per_s), rate_per_s)


@pytest.mark.parametrize(
    ("system", "setting", "rate", "latency_ms"),
    [
        (EVEN, ra.WORD_COUNT, 3000, 11.57),
        (EVEN, ra.SMALL_WORD_COUNT, 3000, 11.57),
        (EVEN, ra.DEBS, 3000, 20.01),
        (RAS, sgp.STEADY, 6_000, 6.699),
        (RAS, sgp.STEADY, 60_000, 16.140),
        (EVEN, ns.TOPOLOGY_1, 1000, 20.6),
        (EVEN, ns.TOPOLOGY_1, 6000, 36.4),
        (EVEN, ns.TOPOLOGY_2, 2000, 22.3),
        (EVEN, hd.STRAINED, 3000, 241.0),
    ],
)
def test_the_baseline_has_the_papers_latency(
    system: System, setting: Setting, rate: float, latency_ms: float
) -> None:
    assert 1000 * outcome(system, setting, rate).latency_s == pytest.approx(latency_ms, rel=0.01)


@pytest.mark.parametrize(
    ("system", "setting", "limit"),
    [
        (EVEN, ra.WORD_COUNT, 9_000),
        (EVEN, ra.SMALL_WORD_COUNT, 9_000),
        (EVEN, ra.DEBS, 7_500),
        (RAS, sgp.FULL, 41_814),
        (EVEN, ns.TOPOLOGY_1, 8_500),
        (EVEN, ns.TOPOLOGY_2, 9_000),
    ],
)
def test_the_baseline_has_the_papers_limit(system: System, setting: Setting, limit: float) -> None:
    assert outcome(system, setting, 100).limit_per_s == pytest.approx(limit, rel=0.001)


def test_the_baseline_has_the_papers_utilization() -> None:
    even = outcome(EVEN, hd.YSB, 1000)
    assert (even.cpu + even.memory) / 2 == pytest.approx(0.4345, rel=0.001)
    busy = outcome(RAS, sgp.STEADY, 60_000).analysis.utilization
    assert busy[3] == pytest.approx(0.7, rel=0.001)
    for setting, pending in ((md.WORD_COUNT, 190.87), (md.TOP_N, 288.57)):
        even = outcome(EVEN, setting, md.RATE)
        assert even.cpu == pytest.approx(0.365, rel=0.001)
        assert even.latency_s * md.RATE == pytest.approx(pending, rel=0.001)
    waits = outcome(EVEN, md.WORD_COUNT, md.RATE)
    assert 1000 * waits.component_s == pytest.approx(43.0, rel=0.001)
    assert 1000 * waits.waiting_s == pytest.approx(18.0, rel=0.001)
