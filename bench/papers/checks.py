"""Small experiments of the papers that are no contests: what scaling and spreading do alone.

Sgp-Stream §3: with 3-1-1 tasks, who places them hardly matters; more tasks for the busy bolt do, up
to a point. Md-Stream, Tables 4 and 5: its two thresholds hardly matter; §3.2: three nodes of three
domains are slower than three of one.
"""

from dataclasses import replace
from functools import partial

from bench.papers import md, sgp
from bench.papers.setting import Machine
from bench.papers.systems import EVEN, R_STORM, RAS, SP_ANT, System, lay_out, strategy
from bench.papers.trial import try_out
from bench.tables import table
from thalweg_scheduling.scale.parallelism_update import Elasticity, update_parallelism

CASE_1 = ((sgp.STEADY, 6_000.0), (sgp.STEADY, 25_000.0), (sgp.TOP_N, 25_000.0))
"""At the first rate of §6, and where the busy bolt has the capacity of §3, .25 to .3."""
REPLICAS = (1, 2, 3, 4, 6, 8)
MOST_BUSY = (0.80, 0.825, 0.85, 0.875, 0.90, 0.925, 0.95)
LEAST_BUSY = (0.25, 0.275, 0.30, 0.325, 0.35, 0.375, 0.40)
PAPER_MOST = (437.94, 435.73, 436.58, 438.08, 435.65, 432.82, 425.63)
PAPER_LEAST = (426.26, 423.50, 434.73, 427.67, 433.40, 431.28, 428.72)
ORL_MAX, ORL_MIN = 0.875, 0.325
"""How busy the busiest task is under Even where the thresholds are told apart."""
LATENCY_WEIGHT = 1000.0
"""∂ of f = √(∂·T/L), tuples/s and ms; it follows from the paper's own tables."""


def placed_by_anyone() -> str:
    """Sgp-Stream §3, case 1: four schedulers, the tasks fixed."""
    rows = []
    for setting, rate in CASE_1:
        for system in (EVEN, RAS, R_STORM, SP_ANT):
            found = try_out(lay_out(system, setting, rate), rate)
            busy = float(found.analysis.utilization[3])
            rows.append(
                (
                    setting.name,
                    f"{rate:,.0f}",
                    system.name,
                    str(found.nodes),
                    f"{1000 * found.latency_s:.2f}",
                    f"{busy:.3f}",
                )
            )
    head = ("3 sources, 1 task a bolt", "tuples/s", "scheduler", "nodes", "latency, ms", "capacity")
    return table(head, rows)


def more_tasks() -> str:
    """Sgp-Stream, Figs. 7 and 8: a fixed rate and ever more tasks of the busy bolt."""
    rows = []
    for replicas in REPLICAS:
        setting = sgp.STEADY.with_replicas({"split": replicas})
        found = try_out(lay_out(EVEN, setting, 60_000.0), 60_000.0)
        busy = float(found.analysis.utilization[3 : 3 + replicas].mean())
        rows.append(
            (
                str(replicas),
                f"{busy:.3f}",
                f"{1000 * found.latency_s:.2f}",
                f"{100 * found.cpu:.1f}",
            )
        )
    head = ("tasks of split at 60,000 tuples/s", "capacity", "latency, ms", "CPU of the nodes, %")
    return table(head, rows)


def thresholds() -> str:
    """Md-Stream, Tables 4 and 5, each where its threshold matters."""
    # What comes of it does not depend on when it begins.
    usual = Elasticity(settling_s=0.0)
    high, low = rate_with(ORL_MAX), rate_with(ORL_MIN)
    rows = [
        (f"Orl_max {value:g}", *_worth(replace(usual, most_busy=value), high), f"{paper}")
        for value, paper in zip(MOST_BUSY, PAPER_MOST, strict=True)
    ] + [
        (f"Orl_min {value:g}", *_worth(replace(usual, least_busy=value), low), f"{paper}")
        for value, paper in zip(LEAST_BUSY, PAPER_LEAST, strict=True)
    ]
    head = ("threshold", "tuples/s", "tasks in the end", "f = √(1000·T/L) here", "paper")
    return table(head, rows)


def rate_with(busiest: float) -> float:
    """The rate at which the busiest task of WordCount is so busy under Even."""
    low, high = 0.0, try_out(lay_out(EVEN, md.WORD_COUNT, md.RATE), md.RATE).limit_per_s
    for _ in range(40):
        middle = (low + high) / 2
        found = try_out(lay_out(EVEN, md.WORD_COUNT, middle), middle)
        is_less = float(found.analysis.utilization.max()) < busiest
        low, high = (middle, high) if is_less else (low, middle)
    return low


def near_and_far() -> str:
    """Md-Stream §3.2: Even on three nodes of one domain, and on one node of each of three."""
    rows = []
    for share in (0.3, 0.5, 0.7):
        numbers = []
        for domains in ((0, 0, 0), (0, 1, 2)):
            machines = tuple(Machine(domain=domain) for domain in domains)
            setting = replace(md.WORD_COUNT, machines=machines)
            limit = try_out(lay_out(EVEN, setting, 1.0), 1.0).limit_per_s
            found = try_out(lay_out(EVEN, setting, share * limit), share * limit)
            numbers.append(f"{1000 * found.latency_s:.1f}")
        rows.append((f"{100 * share:.0f} %", *numbers))
    return table(("of what they can carry", "Y(1,3): latency, ms", "Y(3,1): latency, ms"), rows)


def _worth(how: Elasticity, rate_per_s: float) -> tuple[str, str, str]:
    """The f of WordCount once Md-Stream, with these thresholds, has stopped scaling."""
    usual = strategy("MdStream", scales=True)
    system: System = replace(usual, scale=partial(update_parallelism, how=how))
    layout = lay_out(system, md.WORD_COUNT, rate_per_s)
    found = try_out(layout, rate_per_s)
    tasks = "-".join(str(layout.setting.tasks_of(step)) for step in layout.setting.steps)
    worth = (LATENCY_WEIGHT * found.throughput_per_s / (1000 * found.component_s)) ** 0.5
    return f"{rate_per_s:,.0f}", tasks, f"{worth:.1f}"
