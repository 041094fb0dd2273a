"""Md-Stream (FGCS 2026, §6): constants, fitted to Storm's default alone, and the paper's numbers.

Cluster: 4 domains of 3 nodes of 2 cores, 2 GB, 100 Mbps; 10 ms one way between domains; 2 processes
a node. WordCount 4-8-8 and Top-N 4-8-4-1; CPU of a vertex goes with its tasks.

The input rate is not stated, and throughput differs at a CPU of 36.5 %: sources are held back by
the tuples that are pending, so throughput is pending over latency. `cpu_s` is such that Even's CPU
is 36.5 % at its 2,565 tuples/s; `burst` such that its tuples wait for 18 ms in all; `fixed_s` such
that waiting and processing are 43 ms; pending is 2,565/s times Even's complete latency. Top-N has
WordCount's constants, but for CPU and pending.

The paper's latency has no network in it. In this model, then, placement changes it only by the CPU
that sending costs and by crowding.
"""

from itertools import pairwise

from bench.papers.over_time import Run, Span, component_ms, cpu_percent
from bench.papers.rows import Measure, Row
from bench.papers.setting import Constants, Machine, Setting, Step, Stream
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.simulate.profiles import constant


def _chain(
    name: str, words: tuple[str, ...], tasks: tuple[int, ...], constants: Constants
) -> Setting:
    mean = sum(tasks) / len(tasks)
    return Setting(
        name=name,
        steps=tuple(
            Step(name=word, tasks=number, cost=number / mean)
            for word, number in zip(words, tasks, strict=True)
        ),
        streams=tuple(
            Stream(
                source=source,
                target=target,
                grouping=GroupingType.FIELDS if target == "count" else GroupingType.SHUFFLE,
            )
            for source, target in pairwise(words)
        ),
        machines=tuple(Machine(domain=place // 3) for place in range(12)),
        constants=constants,
    )


WORD_COUNT = _chain(
    "WordCount",
    ("spout", "split", "count"),
    (4, 8, 8),
    Constants(cpu_s=7.1150e-4, burst=11.998, fixed_s=21.585e-3, cross_domain_s=10e-3),
)
TOP_N = _chain(
    "Top-N",
    ("source", "count", "rank", "merge"),
    (4, 8, 4, 1),
    Constants(cpu_s=5.0973e-4, burst=11.998, fixed_s=21.585e-3, cross_domain_s=10e-3),
)
SYSTEMS = ("MdStream", "Even", "R-Storm", "Lc-Stream-like")
RATE = 2565.0


def _row(
    name: str,
    measure: Measure,
    numbers: tuple[float, ...],
    *,
    systems: tuple[str, ...] = SYSTEMS,
    setting: Setting = WORD_COUNT,
    pending: float = 0.0,
) -> Row:
    return Row(
        name=name,
        setting=setting,
        measure=measure,
        rate_per_s=RATE,
        base="Even",
        paper=dict(zip(systems, numbers, strict=False)),
        fitted=("Even",) if numbers else (),
        pending=pending,
    )


_WITHOUT_R_STORM = ("MdStream", "Even", "Lc-Stream-like")

ROWS = (
    _row("Md-1", Measure.WAITING, (12, 18, 16, 14.4)),
    _row("Md-2", Measure.PROCESSING, (13, 25, 21, 14)),
    _row("Md-3", Measure.COMPONENTS, (24, 43, 38, 28)),
    _row("Md-3, with the network", Measure.LATENCY, ()),
    _row(
        "Md-5",
        Measure.PENDING,
        (3589, 2565, 3200),
        systems=_WITHOUT_R_STORM,
        pending=190.87,
    ),
    _row(
        "Md-6",
        Measure.PENDING,
        (3554, 2565, 3198),
        systems=_WITHOUT_R_STORM,
        setting=TOP_N,
        pending=288.57,
    ),
    _row("Md-7", Measure.CPU, (60.5, 36.5, 40.5, 45.5)),
)


RUNS = (
    Run(
        name="Md-4",
        setting=WORD_COUNT,
        profile=constant(RATE),
        duration_s=3600,
        spans=(
            Span(
                name="before elasticity, 5–11 min",
                unit="latency without the network, ms",
                read=component_ms,
                begin_s=300,
                end_s=660,
                paper={"MdStream": 24, "Even": 43, "R-Storm": 38},
            ),
            Span(
                name="after it, 30–60 min",
                unit="latency without the network, ms",
                read=component_ms,
                begin_s=1800,
                end_s=3600,
                paper={"MdStream": 18.5, "Even": 43, "R-Storm": 38},
            ),
            *(
                Span(
                    name=f"Md-7, {name}",
                    unit="CPU of the nodes used, %",
                    read=cpu_percent,
                    begin_s=begin_s,
                    end_s=end_s,
                    paper={"MdStream": number, "Even": 36.5, "R-Storm": 40.5},
                    more_is_better=True,
                )
                for name, begin_s, end_s, number in (
                    ("minute 5", 240, 300, 55),
                    ("minute 10", 540, 600, 55),
                    ("15–60 min", 900, 3600, 60.5),
                )
            ),
        ),
    ),
)
