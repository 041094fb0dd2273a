"""Ra-Stream (FGCS 2025, §6): constants, fitted to Even alone, and the paper's numbers.

Cluster: 14 nodes of 2 cores, 2 GB, 100 Mbps, at most 2 processes of 2 tasks each. As stated.

WordCount's tasks are doubled to 4-6-6-4, since 10 tasks cannot occupy the 14 nodes that the paper
starts from. DEBS is 2-3-3-3-2-2-2. CPU of a vertex goes with its tasks, so that all tasks are
equally busy. `cpu_s` is such that Even's limit is the paper's 9,000 and 7,500 tuples/s; `fixed_s`
such that Even's latency is 20.01 ms for DEBS. For WordCount nothing fixed is left to fit: with the
hops that Ns-Stream's figures give, Even has 11.6 ms where the paper measured 11.57. Beside it
WordCount has the 2-3-3-2 tasks that the paper draws, with both constants fitted.
"""

from dataclasses import replace

from bench.papers.growth import Growth
from bench.papers.over_time import (
    Run,
    Span,
    cpu_percent,
    nodes,
    resources_percent,
    resources_spread,
)
from bench.papers.rows import Measure, Row, Said
from bench.papers.setting import Constants, Machine, Setting, Step, Stream
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.simulate.profiles import step

_KEYED = GroupingType.FIELDS
_NODES = (Machine(),) * 14

WORD_COUNT = Setting(
    name="WordCount",
    steps=(
        Step(name="read", tasks=4, cost=0.8),
        Step(name="split", tasks=6, cost=1.2),
        Step(name="count", tasks=6, cost=1.2),
        Step(name="output", tasks=4, cost=0.8),
    ),
    streams=(
        Stream(source="read", target="split"),
        Stream(source="split", target="count", grouping=_KEYED, fans_out=True),
        Stream(source="count", target="output"),
    ),
    machines=_NODES,
    constants=Constants(cpu_s=3.1746e-4),
    tasks_per_process=2,
)
SMALL_WORD_COUNT = replace(
    WORD_COUNT,
    name="WordCount 2-3-3-2",
    steps=tuple(replace(each, tasks=each.tasks // 2) for each in WORD_COUNT.steps),
    constants=Constants(cpu_s=1.5873e-4, fixed_s=1.5072e-3),
)
DEBS = Setting(
    name="DEBS",
    steps=(
        Step(name="source", tasks=2, cost=0.8),
        Step(name="filter", tasks=3, cost=1.2),
        Step(name="detect", tasks=3, cost=1.2),
        Step(name="aggregate", tasks=3, cost=1.2),
        Step(name="store", tasks=2, cost=0.8),
        Step(name="anomaly", tasks=2, cost=0.8),
        Step(name="alert", tasks=2, cost=0.8),
    ),
    streams=(
        Stream(source="source", target="filter"),
        Stream(source="filter", target="detect"),
        Stream(source="detect", target="aggregate", grouping=_KEYED),
        Stream(source="aggregate", target="store"),
        Stream(source="filter", target="anomaly"),
        Stream(source="anomaly", target="alert"),
    ),
    machines=_NODES,
    constants=Constants(cpu_s=1.5686e-4, fixed_s=6.474e-3),
    tasks_per_process=2,
)


def _row(
    name: str, setting: Setting, measure: Measure, numbers: tuple[Said, ...], rate: float = 3000
) -> Row:
    systems = ("RaStream", "SP-Ant-like", "Even")
    return Row(
        name=name,
        setting=setting,
        measure=measure,
        rate_per_s=rate,
        base="Even",
        paper=dict(zip(systems, numbers, strict=False)),
        fitted=() if measure is Measure.NODES or not numbers else ("Even",),
        # Figs. 11 and 12 have no numbers in the text; Ra-Stream is lowest throughout.
        ranks=() if numbers else ("RaStream", "Even"),
    )


ROWS = (
    _row("Ra-1", WORD_COUNT, Measure.LATENCY, (5.26, 7.81, 11.57)),
    _row("Ra-1, 2-3-3-2", SMALL_WORD_COUNT, Measure.LATENCY, (5.26, 7.81, 11.57)),
    _row("Ra-2", DEBS, Measure.LATENCY, (10.61, 15.80, 20.01)),
    *(
        _row(f"Ra-3 {setting.name} {rate}", setting, Measure.LATENCY, (), rate)
        for setting in (WORD_COUNT, DEBS)
        for rate in (1000, 2000, 4000, 5000)
    ),
    _row("Ra-4 WordCount", WORD_COUNT, Measure.BOTTLENECK, (14_500, 11_500, 9_000)),
    _row("Ra-4, 2-3-3-2", SMALL_WORD_COUNT, Measure.BOTTLENECK, (14_500, 11_500, 9_000)),
    _row("Ra-4 DEBS", DEBS, Measure.BOTTLENECK, (12_000, 9_500, 7_500)),
    _row("Ra-5 WordCount", WORD_COUNT, Measure.NODES, (7, "more", 14)),
    _row("Ra-5 DEBS", DEBS, Measure.NODES, (8, "more", 14)),
)


GROWTHS = tuple(
    Growth(
        name=f"Ra-3 {setting.name}, 1,000 → 5,000 tuples/s",
        low=f"Ra-3 {setting.name} 1000",
        high=f"Ra-3 {setting.name} 5000",
        ranks=("RaStream", "Even"),
    )
    for setting in (WORD_COUNT, DEBS)
)


def _run(setting: Setting, used: tuple[float, ...]) -> Run:
    """Ra-6 and Ra-7; nodes are read before the rate changes again."""
    looks = ((45, 60), (180, 210), (255, 270), (315, 330))
    return Run(
        name=f"Ra-6 {setting.name}",
        setting=setting,
        profile=step(1800, (3000, 60), (4500, 210), (2700, 270), (2000, 330)),
        duration_s=390,
        spans=(
            *(
                Span(
                    name=f"{begin}–{end} s",
                    unit="nodes",
                    read=nodes,
                    begin_s=begin,
                    end_s=end,
                    paper={"RaStream": number, "Even": 14},
                )
                for (begin, end), number in zip(looks, used, strict=True)
            ),
            *(
                Span(
                    name="Ra-7, 60–390 s",
                    unit=unit,
                    read=read,
                    begin_s=60,
                    end_s=390,
                    paper={},
                    more_is_better=more,
                    # Figs. 17 and 18 have no numbers in the text: higher, and more stable.
                    ranks=("RaStream", "Even"),
                )
                for unit, read, more in (
                    ("resources by Eq 6, %", resources_percent, True),
                    ("their spread, points", resources_spread, False),
                    ("CPU alone, %", cpu_percent, True),
                )
            ),
        ),
    )


RUNS = (_run(WORD_COUNT, (5, 7, 10, 7)), _run(DEBS, (7, 8, 11, 8)))
