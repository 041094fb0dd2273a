"""Ns-Stream (TSC 2025, §VII): constants, fitted to shuffle grouping alone, and the numbers.

Cluster: 13 nodes of 2 cores, 2 GB, 100 Mbps, 2 processes a node. COMMCount read → split → count:
6-16-6 (topology 1) and 8-8-8 (topology 2); near-source on read → split, keys on split → count.
CPU of a vertex goes with its tasks.

`cpu_s` is such that the limit under Even and shuffle is the paper's bottleneck (8,500 and 9,000);
`burst` such that latency grows with the rate as it does there (20.6 to 36.4 ms from 1,000 to 6,000;
+85 %); `fixed_s` is what is left (11.4 and 11.3 ms, near the 13.1 ms of its §III). Then 2,000
tuples/s give 22.4 ms for topology 1, where Fig. 10 has 25.4: that is above the paper's own curve.
"""

from bench.papers.growth import Growth
from bench.papers.over_time import Run, Span, highest_latency_ms, latency_ms
from bench.papers.rows import Measure, Row
from bench.papers.setting import Constants, Machine, Setting, Step, Stream
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.simulate.profiles import bimodal_day

SYSTEMS = ("NsStream", "Even", "R-Storm", "TOP-Storm-like", "SP-Ant-like")
NEAR = 0
"""The edge that near-source is about."""
LOW, PEAK = 1000.0, 7697.0
"""Of the day of Ns-5, tuples/s; the low is ours."""


def _comm_count(name: str, tasks: tuple[int, int, int], constants: Constants) -> Setting:
    mean = sum(tasks) / 3
    read, split, count = (
        Step(name=word, tasks=number, cost=number / mean)
        for word, number in zip(("read", "split", "count"), tasks, strict=True)
    )
    return Setting(
        name=name,
        steps=(read, split, count),
        streams=(
            Stream(source="read", target="split"),
            Stream(source="split", target="count", grouping=GroupingType.FIELDS),
        ),
        machines=(Machine(),) * 13,
        constants=constants,
    )


TOPOLOGY_1 = _comm_count(
    "COMMCount 1", (6, 16, 6), Constants(cpu_s=4.4590e-4, burst=15.797, fixed_s=11.403e-3)
)
TOPOLOGY_2 = _comm_count(
    "COMMCount 2", (8, 8, 8), Constants(cpu_s=4.6784e-4, burst=10.860, fixed_s=11.319e-3)
)


def _row(
    name: str,
    setting: Setting,
    measure: Measure,
    rate: float,
    numbers: tuple[float, ...],
    *,
    fitted: bool = True,
) -> Row:
    return Row(
        name=name,
        setting=setting,
        measure=measure,
        rate_per_s=rate,
        base="Even",
        paper=dict(zip(SYSTEMS, numbers, strict=False)),
        fitted=("Even",) if fitted else (),
    )


def _rates(name: str, setting: Setting) -> tuple[Row, ...]:
    """The rates of Figs. 12 and 13 that the text has no numbers for."""
    return tuple(
        _row(f"{name} {rate}", setting, Measure.LATENCY, rate, (), fitted=False)
        for rate in (1000, 3000, 4000, 5000, 6000)
        if (name, rate) not in (("Ns-3", 1000), ("Ns-3", 6000))
    )


ROWS = (
    _row("Ns-1", TOPOLOGY_1, Measure.LATENCY, 2000, (15.5, 25.4, 23.3, 20.4, 19.6), fitted=False),
    _row("Ns-2", TOPOLOGY_2, Measure.LATENCY, 2000, (13.9, 22.3, 19.5, 15.6, 16.2)),
    _row("Ns-3 1000", TOPOLOGY_1, Measure.LATENCY, 1000, (16.2, 20.6, 19.6, 18.1, 18.7)),
    *_rates("Ns-3", TOPOLOGY_1),
    _row("Ns-3 6000", TOPOLOGY_1, Measure.LATENCY, 6000, (24.2, 36.4, 32.4, 29.5, 28.5)),
    *_rates("Ns-4", TOPOLOGY_2),
    _row(
        "Ns-6 topology 1",
        TOPOLOGY_1,
        Measure.BOTTLENECK,
        6000,
        (12_500, 8_500, 9_000, 10_000, 10_500),
    ),
    _row(
        "Ns-6 topology 2",
        TOPOLOGY_2,
        Measure.BOTTLENECK,
        6000,
        (14_000, 9_000, 10_500, 12_500, 12_000),
    ),
)


def _day(setting: Setting) -> Run:
    """Ns-5: a day with two peaks in an hour. The paper has the higher peak and no low."""
    return Run(
        name=f"Ns-5 {setting.name}",
        setting=setting,
        profile=bimodal_day(LOW, PEAK, day_s=3600),
        duration_s=3600,
        spans=(
            Span(
                name="the whole day",
                unit="latency, ms",
                read=latency_ms,
                begin_s=300,
                end_s=3600,
                paper={"NsStream": 11},
            ),
            Span(
                name="the highest ten seconds",
                unit="latency, ms",
                read=highest_latency_ms,
                begin_s=300,
                end_s=3600,
                paper={"Even": "> 25", "R-Storm": "> 25"},
            ),
        ),
        contradicts="11 ms at the peak, 15.5 at 2,000 tuples/s",
    )


RUNS: tuple[Run, ...] = (_day(TOPOLOGY_1), _day(TOPOLOGY_2))
"""Ns-5 contradicts Ns-1, so it is only reported."""

GROWTHS = tuple(
    Growth(
        name=f"{name}, 1,000 → 6,000 tuples/s",
        low=f"{name} 1000",
        high=f"{name} 6000",
        paper=dict(zip(SYSTEMS, numbers, strict=True)),
    )
    for name, numbers in (
        ("Ns-3", (0.49, 0.76, 0.65, 0.63, 0.52)),
        ("Ns-4", (0.56, 0.85, 0.74, 0.74, 0.70)),
    )
)
