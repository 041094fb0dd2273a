"""The papers' experiments before their experiments: Ns-Stream §III and Sgp-Stream §3, case 2.

Ns-Stream's show what a hop and a full worker cost. The constants of the simulator come from two of
them (`experiments.md`, §6): a fixed part of 13.1 ms, one task of 2.33 ms, 1.0 ms to another
process and 1.4 ms to another node. So those two agree by construction, and the others show what
that is worth.
"""

from collections.abc import Sequence
from types import MappingProxyType

import numpy as np

from bench.papers import sgp
from bench.papers.over_time import Run, latency_ms, try_over_time
from bench.papers.setting import Constants, Machine, Setting, Step, Stream
from bench.papers.systems import EVEN, lay_out
from bench.papers.trial import Layout, try_out
from bench.tables import table
from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.simulate.profiles import Profile, ramp

READER, LEFT, RIGHT, COUNT = range(4)
ZIPF = (-2.0, 2.0)
RATES = (
    *(100.0, 1_000.0, 2_000.0, 3_000.0, 4_000.0, 5_000.0),
    *(10_000.0, 20_000.0, 50_000.0, 70_000.0),
)
MINUTE_S = 60.0
RISES = (
    (
        "100 → 1,000, then by 1,000",
        Profile(
            times_s=(0.0, 1800.0, 1801.0, 2100.0, 2101.0, 2400.0, 2401.0, 2700.0, 2701.0),
            rates_per_s=(100.0, 1e3, 2e3, 2e3, 3e3, 3e3, 4e3, 4e3, 5e3),
            is_ramp=True,
        ),
        (15, 30, 35, 40, 45, 50),
    ),
    ("10,000 → 50,000", ramp((10_000, 0), (50_000, 1800)), (1, 15, 30, 50)),
    ("20,000 → 70,000", ramp((20_000, 0), (70_000, 1800)), (1, 15, 30, 50)),
)
"""The rates of Figs. 5 and 6, and the minutes that are told; of the last two no time is stated."""

RHOMBUS = Setting(
    name="COMMCount 1-2-1",
    steps=(
        Step(name="read", tasks=1, cost=1.0),
        Step(name="split", tasks=2, cost=0.01),
        Step(name="count", tasks=1, cost=0.01),
    ),
    streams=(Stream(source="read", target="split"), Stream(source="split", target="count")),
    machines=(Machine(),) * 4,
    constants=Constants(cpu_s=2.33e-3, fixed_s=13.1e-3, transfer=0.0),
)


def before_near_source() -> str:
    """Ns-Stream §III: four small runs, each from its first to its last point."""
    together, apart = [0, 0, 0, 0], [0, 1, 2, 3]
    beside, away = [0, 0, 1, 0], [0, 0, 1, 0]
    rows = [
        ("1 → 4 nodes, 100/s", (_ms(together, together), _ms(apart, apart)), (15.7, 21.3)),
        ("two workers of one node, Zipf −2 → 2", _skewed(together, beside), (19.9, 21.1)),
        ("two nodes, Zipf −2 → 2", _skewed(away, away), (18.6, 20.3)),
        (
            "one worker, 100 → 400/s",
            (_ms(together, together), _ms(together, together, rate_per_s=400.0)),
            (16.1, 46.6),
        ),
    ]
    head = ("§III", "latency here, ms", "rises by", "paper, ms", "rises by")
    return table(head, [(name, *_rise(ours), *_rise(paper)) for name, ours, paper in rows])


def more_and_more() -> str:
    """Sgp-Stream §3, case 2: the tasks stay, the rate rises. Steady states, Even's layout."""
    word_count = sgp.STEADY
    top_n = sgp.TOP_N.with_replicas({"source": 5})
    rows = []
    for rate in RATES:
        found = [try_out(lay_out(EVEN, one, rate), rate) for one in (word_count, top_n)]
        rows.append(
            (
                f"{rate:,.0f}",
                *(f"{one.throughput_per_s:,.0f}" for one in found),
                *(f"{1000 * one.latency_s:.2f}" for one in found),
            )
        )
    return table(("tuples/s", "WordCount 3-1-1", "Top-N 5-1-1-1", "its ms", "its ms"), rows)


def rising() -> str:
    """The same over time: WordCount 3-1-1 under Even, nothing scales and nothing moves."""
    rows = []
    for name, profile, minutes in RISES:
        run = Run(
            name=name,
            setting=sgp.STEADY,
            profile=profile,
            duration_s=MINUTE_S * minutes[-1],
            spans=(),
        )
        trial = try_over_time(run, EVEN, seed=1)
        for minute in minutes:
            end_s = MINUTE_S * minute
            offered, through = (
                trial.mean(word, end_s - MINUTE_S, end_s)
                for word in ("offered_per_s", "throughput_per_s")
            )
            latency = latency_ms(trial, sgp.STEADY, end_s - MINUTE_S, end_s)
            rows.append((name, minute, f"{offered:,.0f}", f"{through:,.0f}", f"{latency:,.2f}"))
    return table(("tuples/s", "minute", "offered", "through", "latency, ms"), rows)


def _skewed(node: Sequence[int], process: Sequence[int]) -> tuple[float, float]:
    """The reader's tuples among the two splits by rank, from mostly here to mostly there."""
    ends = []
    for exponent in ZIPF:
        weights = np.array([1.0, 2.0**exponent])
        ends.append(_ms(node, process, shares=weights / weights.sum()))
    return ends[0], ends[1]


def _ms(
    node: Sequence[int],
    process: Sequence[int],
    *,
    rate_per_s: float = 100.0,
    shares: Floats | None = None,
) -> float:
    layout = Layout(
        setting=RHOMBUS,
        node=np.array(node),
        process=np.array(process),
        shares=MappingProxyType({} if shares is None else {0: shares[None, :]}),
    )
    return 1000 * try_out(layout, rate_per_s).latency_s


def _rise(ends: tuple[float, float]) -> tuple[str, str]:
    low, high = ends
    return f"{low:.1f} → {high:.1f}", f"{high - low:.1f}"
