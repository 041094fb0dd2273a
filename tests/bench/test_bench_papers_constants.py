"""The constants are frozen: they fit each paper's baseline, and are not turned for a strategy."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest

from bench.papers import following, hd, md, ns, over_time, ra, sgp, trial
from bench.papers.setting import Setting
from bench.papers.systems import EVEN, RAS, System, lay_out
from bench.papers.trial import Outcome, try_out
from thalweg_scheduling.strategies.hd_stream import HdParameters
from thalweg_scheduling.strategies.md_stream import MdParameters
from thalweg_scheduling.strategies.ns_stream import NsParameters
from thalweg_scheduling.strategies.ra_stream import RaParameters
from thalweg_scheduling.strategies.sgp_stream import SgpParameters

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

MIB = 2.0**20
USUAL = {
    "fixed_s": 0.0,
    "transfer": 0.9,
    "same_node_s": 0.0010,
    "same_domain_s": 0.0014,
    "cross_domain_s": 0.0014,
    "fan_out": 1.0,
    "burst": 1.0,
    "tuple_bytes": 200.0,
    "process_bytes": 200 * MIB,
    "task_bytes": 50 * MIB,
}
NEAR = {
    "same_node_s": 1e-4,
    "same_domain_s": 2e-4,
    "cross_domain_s": 2e-3,
    "process_bytes": 768 * MIB,
    "task_bytes": 64 * MIB,
}
FAR = {"burst": 11.998, "fixed_s": 21.585e-3, "cross_domain_s": 10e-3}


@pytest.mark.parametrize(
    ("setting", "constants"),
    [
        (ra.WORD_COUNT, {"cpu_s": 3.1746e-4}),
        (ra.SMALL_WORD_COUNT, {"cpu_s": 1.5873e-4, "fixed_s": 1.5072e-3}),
        (ra.DEBS, {"cpu_s": 1.5686e-4, "fixed_s": 6.474e-3}),
        (sgp.STEADY, {"cpu_s": 6.0806e-6, "burst": 512.1, "fixed_s": 3.0494e-3}),
        (sgp.TOP_N, {"cpu_s": 6.0806e-6, "burst": 512.1, "fixed_s": 3.0494e-3}),
        (sgp.FULL, {"cpu_s": 1.14872e-5, "burst": 512.1, "fixed_s": 3.0494e-3}),
        (ns.TOPOLOGY_1, {"cpu_s": 4.4590e-4, "burst": 15.797, "fixed_s": 11.403e-3}),
        (ns.TOPOLOGY_2, {"cpu_s": 4.6784e-4, "burst": 10.860, "fixed_s": 11.319e-3}),
        (hd.YSB, {"cpu_s": 6.3247e-4, **NEAR}),
        (hd.STRAINED, {"cpu_s": 3.14190e-4, **NEAR}),
        (md.WORD_COUNT, {"cpu_s": 7.1150e-4, **FAR}),
        (md.TOP_N, {"cpu_s": 5.0973e-4, **FAR}),
    ],
)
def test_constants_are_what_they_were_when_they_were_fitted(
    setting: Setting, constants: dict[str, float]
) -> None:
    assert asdict(setting.constants) == {**USUAL, **constants}


@pytest.mark.parametrize(
    ("parameters", "values"),
    [
        (HdParameters(), {"most_groups": 16, "tolerated": 0.3, "cpu_weight": 0.5}),
        (
            MdParameters(),
            {
                "cpu_weight": 0.5,
                "margin": 0.7,
                "slots_per_node": 2,
                "refinement": {
                    "imbalance": 0.2,
                    "restarts": 10,
                    "rounds": 8,
                    "rolls_back": False,
                },
                "elasticity": {
                    "most_busy": 0.875,
                    "least_busy": 0.30,
                    "most_latency_s": 0.02,
                    "settling_s": 700.0,
                    "damping": 1.0,
                },
            },
        ),
        (
            NsParameters(),
            {
                "alpha": 0.6,
                "training": {"encoders": 2, "hidden": 64, "steps": 200, "rate": 0.01},
                "imbalance": 0.2,
                "workers_per_node": 2,
                "most_nodes": 64,
            },
        ),
        (
            RaParameters(),
            {
                "cpu_weight": 0.50,
                "memory_weight": 0.35,
                "cut_weight": 0.70,
                "cooling": 0.99,
                "spare_cpu_weight": 0.50,
                "spare_memory_weight": 0.35,
                "underload": 0.60,
                "overload": 0.75,
                "first_heat": 1.0,
                "last_heat": 1e-3,
                "tries_per_task": 10,
                "tasks_per_process": 2,
            },
        ),
        (
            SgpParameters(),
            {
                "cpu_weight": 0.5,
                "slots_per_node": 2,
                "descent": {
                    "most_busy": 0.40,
                    "least_busy": 0.10,
                    "step": 1.0,
                    "cool_time_s": 60.0,
                },
                "weights": {
                    "initial": 10.0,
                    "rise": 1.0,
                    "least": 1.0,
                    "most": 100.0,
                    "band": 0.1,
                },
            },
        ),
    ],
)
def test_parameters_are_what_they_were_when_the_papers_were_run(
    parameters: "DataclassInstance", values: dict[str, object]
) -> None:
    assert asdict(parameters) == values


def test_what_all_runs_have_in_common_is_frozen_too() -> None:
    assert trial.NOISE == 0.03
    assert (over_time.REBALANCE_S, over_time.SWITCH_S, over_time.LOOK_S) == (2.0, 0.1, 30.0)
    assert following.CHANGED == 0.1
    assert over_time.EQ_6 == (0.50, 0.35, 0.15)


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
