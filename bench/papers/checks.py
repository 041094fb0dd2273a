"""Small experiments of the papers that are no contests: what scaling and spreading do alone.

Sgp-Stream §3: with 3-1-1 tasks, who places them hardly matters; more tasks for the busy bolt do, up
to a point. Md-Stream, Tables 4 and 5: its two thresholds hardly matter; §3.2: three nodes of three
domains are slower than three of one.
"""

from dataclasses import replace
from functools import partial

from bench.papers import md, sgp
from bench.papers.rows import Measure, Row
from bench.papers.running import value_of
from bench.papers.setting import Machine, Setting
from bench.papers.systems import EVEN, R_STORM, RAS, SP_ANT, System, lay_out, strategy
from bench.papers.trial import try_out
from bench.tables import table
from thalweg_scheduling.scale.parallelism_update import Elasticity, update_parallelism

SGP_RATE = 6_000.0
REPLICAS = (1, 2, 3, 4, 6, 8)
MOST_BUSY = (0.80, 0.825, 0.85, 0.875, 0.90, 0.925, 0.95)
LEAST_BUSY = (0.25, 0.275, 0.30, 0.325, 0.35, 0.375, 0.40)
PAPER_MOST = (437.94, 435.73, 436.58, 438.08, 435.65, 432.82, 425.63)
PAPER_LEAST = (426.26, 423.50, 434.73, 427.67, 433.40, 431.28, 428.72)
LATENCY_WEIGHT = 1000.0
"""∂ of f = √(∂·T/L), tuples/s and ms; it follows from the paper's own tables."""


def placed_by_anyone() -> str:
    """Sgp-Stream §3, case 1: four schedulers, the tasks fixed."""
    rows = []
    for system in (EVEN, RAS, R_STORM, SP_ANT):
        layout = lay_out(system, sgp.STEADY, SGP_RATE)
        found = try_out(layout, SGP_RATE)
        busy = float(found.analysis.utilization[3])
        rows.append((system.name, str(found.nodes), f"{1000 * found.latency_s:.2f}", f"{busy:.3f}"))
    return table(("scheduler, 3-1-1 at 6,000 tuples/s", "nodes", "latency, ms", "split"), rows)


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
    """Md-Stream, Tables 4 and 5."""
    usual = Elasticity()
    rows = [
        (f"Orl_max {value:g}", f"{_worth(replace(usual, most_busy=value)):.1f}", f"{paper}")
        for value, paper in zip(MOST_BUSY, PAPER_MOST, strict=True)
    ] + [
        (f"Orl_min {value:g}", f"{_worth(replace(usual, least_busy=value)):.1f}", f"{paper}")
        for value, paper in zip(LEAST_BUSY, PAPER_LEAST, strict=True)
    ]
    return table(("threshold", "f = √(1000·T/L) here", "paper"), rows)


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


def _worth(how: Elasticity) -> float:
    """The f of WordCount once Md-Stream, with these thresholds, has stopped scaling."""
    usual = strategy("MdStream", scales=True)
    system: System = replace(usual, scale=partial(update_parallelism, how=how))
    layout = lay_out(system, md.WORD_COUNT, md.RATE)
    pending = next(row.pending for row in md.ROWS if row.name == "Md-5")
    through = value_of(_row(layout.setting, pending), layout)
    latency_ms = 1000 * try_out(layout, md.RATE).component_s
    return float((LATENCY_WEIGHT * through / latency_ms) ** 0.5)


def _row(setting: Setting, pending: float) -> Row:
    return Row(
        name="f",
        setting=setting,
        measure=Measure.PENDING,
        rate_per_s=md.RATE,
        base="Even",
        paper={},
        pending=pending,
    )
