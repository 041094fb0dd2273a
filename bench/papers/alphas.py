"""Ns-7 and Ns-8: what α, the share of its time that a near task may be busy, does.

A small α sends tuples away that could stay, a large one crowds the near tasks. The layout is Ns-
Stream's own, the same for every α. Latency is at 3,000 tuples/s. For the bottleneck the rate rises
until it is what the tasks can take; shares follow the rate on the way, as they would.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from bench.papers import ns
from bench.papers.grouping import near_source
from bench.papers.running import FITTED, GRID, SEEDS
from bench.papers.setting import Setting
from bench.papers.systems import lay_out, strategy
from bench.papers.trial import Layout, try_out
from bench.tables import table

ALPHAS = (0.1, 0.2, 0.3, 0.35, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
LATENCY_RATE = 3000.0
SETTINGS = (ns.TOPOLOGY_1, ns.TOPOLOGY_2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """One topology under one α."""

    alpha: float
    setting: Setting
    latency_ms: float
    bottleneck_per_s: float


def run(
    alphas: Sequence[float] = ALPHAS,
    settings: Sequence[Setting] = SETTINGS,
    seeds: Sequence[int] = SEEDS,
) -> list[Reached]:
    """Every α on both topologies; the median of the seeds."""
    found = []
    for setting in settings:
        layouts = [lay_out(strategy("NsStream"), setting, LATENCY_RATE, seed=one) for one in seeds]
        found += [
            Reached(
                alpha=alpha,
                setting=setting,
                latency_ms=median(_latency_ms(one, alpha) for one in layouts),
                bottleneck_per_s=median(_bottleneck_per_s(one, alpha) for one in layouts),
            )
            for alpha in alphas
        ]
    return found


def told(found: Sequence[Reached]) -> str:
    """A line for each α, both topologies beside each other."""
    alphas = list(dict.fromkeys(one.alpha for one in found))
    names = list(dict.fromkeys(one.setting.name for one in found))
    by = {(one.alpha, one.setting.name): one for one in found}
    rows = [
        (
            f"{alpha:g}",
            *(f"{by[alpha, name].latency_ms:.2f}" for name in names),
            *(f"{by[alpha, name].bottleneck_per_s:,.0f}" for name in names),
        )
        for alpha in alphas
    ]
    head = (
        "α",
        *(f"{name}: ms at {LATENCY_RATE:,.0f}/s" for name in names),
        *(f"{name}: bottleneck, tuples/s" for name in names),
    )
    return table(head, rows)


def _latency_ms(layout: Layout, alpha: float) -> float:
    grouped = near_source(layout, LATENCY_RATE, np.random.default_rng(1), alpha=alpha)
    return 1000 * try_out(grouped, LATENCY_RATE).latency_s


def _bottleneck_per_s(layout: Layout, alpha: float) -> float:
    """Step by step, as the paper raised it: the last rate that all tasks can take."""
    passes = partial(_passes, layout, alpha)
    rate = GRID
    while passes(rate + GRID):
        rate += GRID
    return rate


def _passes(layout: Layout, alpha: float, rate_per_s: float) -> bool:
    grouped = near_source(layout, rate_per_s, np.random.default_rng(1), alpha=alpha)
    return try_out(grouped, rate_per_s).limit_per_s * (1 + FITTED) >= rate_per_s
