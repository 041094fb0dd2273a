"""Sgp-Stream (ESWA 2024, §6): constants, fitted to Storm's RAS alone, and the paper's numbers.

Cluster: 25 nodes of 2 cores, 2 GB, 100 Mbps, as stated; 2 processes a node. WordCount 3-1-1, at
most 16 tasks a bolt. RAS was run without declared requests, so it packs all of it on one node.

Latency: `cpu_s` is such that the split task is busy for .7 of the time at 60,000 tuples/s, as
Fig. 12 has it for RAS; `burst` such that RAS' latency rises from 6.699 to 16.140 ms on the way from
6,000 (it comes out at 512: a Kafka consumer fetches up to 500 records at a time); `fixed_s` is what
is left. Throughput: `cpu_s` such that RAS' limit is 41,814 tuples/s; no constant gives both.
"""

from dataclasses import replace

from bench.papers.over_time import (
    Run,
    Span,
    capacity_of,
    cpu_percent,
    latency_ms,
    throughput,
)
from bench.papers.rows import Measure, Row, Said
from bench.papers.setting import Constants, Machine, Setting, Step, Stream
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.simulate.profiles import step

STEADY = Setting(
    name="WordCount",
    steps=(
        Step(name="spout", tasks=3, cost=0.5, most=3),
        Step(name="split", tasks=1, cost=1.0, most=16),
        Step(name="count", tasks=1, cost=0.8, most=16),
    ),
    streams=(
        Stream(source="spout", target="split"),
        Stream(source="split", target="count", grouping=GroupingType.FIELDS),
    ),
    machines=(Machine(),) * 25,
    constants=Constants(cpu_s=6.0806e-6, burst=512.1, fixed_s=3.0494e-3),
)
TOP_N = replace(
    STEADY,
    name="Top-N",
    steps=(
        Step(name="source", tasks=3, cost=0.5, most=5),
        Step(name="count", tasks=1, cost=1.0, most=16),
        Step(name="rank", tasks=1, cost=0.8, most=16),
        Step(name="merge", tasks=1, cost=0.5, most=1),
    ),
    streams=(
        Stream(source="source", target="count"),
        Stream(source="count", target="rank"),
        Stream(source="rank", target="merge"),
    ),
)
"""Of §3 only; with WordCount's constants."""
FULL = replace(STEADY, constants=replace(STEADY.constants, cpu_s=1.14872e-5))


def _row(
    name: str,
    measure: Measure,
    rate: float,
    numbers: tuple[Said, ...],
    *,
    fitted: bool = True,
    contradicts: str = "",
) -> Row:
    return Row(
        name=name,
        setting=STEADY if measure is Measure.LATENCY else FULL,
        measure=measure,
        rate_per_s=rate,
        base="RAS",
        paper=dict(zip(("SgpStream", "RAS"), numbers, strict=False)),
        fitted=("RAS",) if fitted else (),
        contradicts=contradicts,
    )


ROWS = (
    _row("Sgp-1", Measure.LATENCY, 6_000, (4.927, 6.699)),
    _row("Sgp-3", Measure.LATENCY, 60_000, (10.352, 16.140)),
    _row(
        "Sgp-5",
        Measure.THROUGHPUT,
        10_000,
        (9_289, 7_808),
        fitted=False,
        contradicts="both are called underloaded, so all of it should pass",
    ),
    _row("Sgp-7", Measure.THROUGHPUT, 70_000, (49_880, 41_814)),
    _row("Sgp-8", Measure.CPU, 70_000, ("75 to 85",), fitted=False),
)


_SPLIT = 1

RUNS = (
    Run(
        name="Sgp-2, Sgp-4",
        setting=STEADY,
        profile=step(6_000, (60_000, 1500)),
        duration_s=3600,
        base="RAS",
        spans=(
            Span(
                name="after the step, 30–60 min",
                unit="latency, ms",
                read=latency_ms,
                begin_s=1800,
                end_s=3600,
                paper={},
            ),
            Span(
                name="after adjustment, 52–60 min",
                unit="latency, ms",
                read=latency_ms,
                begin_s=3120,
                end_s=3600,
                paper={"SgpStream": 11.656, "RAS": 18.951},
            ),
            Span(
                name="split before it, 5–25 min",
                unit="capacity",
                read=capacity_of(_SPLIT),
                begin_s=300,
                end_s=1500,
                paper={"SgpStream": ".01 to .2", "RAS": ".01 to .2"},
            ),
            Span(
                name="split at the step, minute 26",
                unit="capacity",
                read=capacity_of(_SPLIT),
                begin_s=1500,
                end_s=1560,
                paper={"SgpStream": 0.35, "RAS": 0.7},
            ),
            Span(
                name="split after it, 30–60 min",
                unit="capacity",
                read=capacity_of(_SPLIT),
                begin_s=1800,
                end_s=3600,
                paper={"SgpStream": ".2 to .4"},
            ),
        ),
    ),
    Run(
        name="Sgp-6",
        setting=FULL,
        profile=step(10_000, (70_000, 1500)),
        duration_s=3600,
        spans=(
            Span(
                name="after the step, 25–60 min",
                unit="throughput, tuples/s",
                read=throughput,
                begin_s=1500,
                end_s=3600,
                paper={"SgpStream": 49_937, "RAS": 44_135},
                more_is_better=True,
            ),
            Span(
                name="Sgp-8, 38–60 min",
                unit="CPU of the nodes used, %",
                read=cpu_percent,
                begin_s=2280,
                end_s=3600,
                paper={"SgpStream": "75 to 85"},
                more_is_better=True,
            ),
        ),
        base="RAS",
    ),
)
