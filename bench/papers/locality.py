"""Near-source against Storm's load-aware locality: how much leaves the node at equal maximum load.

None of the papers compares with the shuffle that Storm has by default. Both groupings run on the
same layouts; near-source is given as its cap the load of the busiest receiver under Storm's.
Measurements have no noise here: a cap that is met exactly would else be missed by chance.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from bench.papers import md, ns
from bench.papers.grouping import load_aware_local, near_source
from bench.papers.setting import Setting
from bench.papers.systems import EVEN, R_STORM, System, lay_out, strategy
from bench.papers.trial import Layout, try_out
from bench.tables import percent, table
from thalweg_scheduling.model.arrays import Floats

SETTINGS = ((ns.TOPOLOGY_1, 8500.0), (ns.TOPOLOGY_2, 9000.0), (md.WORD_COUNT, 5354.0))
"""With the rate at which Even and shuffle are full."""
PARTS = (0.3, 0.6, 0.9)
EDGE = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Locality:
    """One layout at one rate under both groupings."""

    setting: Setting
    layout: str
    rate_per_s: float
    storm_remote: float
    near_remote: float
    storm_busiest: float
    near_busiest: float


def compare(setting: Setting, system: System, rate_per_s: float, *, seed: int = 1) -> Locality:
    """Both groupings on a system's layout."""
    rng = np.random.default_rng(seed)
    layout = lay_out(system, setting, rate_per_s, seed=seed)
    storm = load_aware_local(layout, rate_per_s, rng, edge=EDGE, noise=0.0)
    cap = busiest(storm, rate_per_s)
    near = near_source(layout, rate_per_s, rng, edge=EDGE, alpha=min(1.0, cap), noise=0.0)
    return Locality(
        setting=setting,
        layout=system.name,
        rate_per_s=rate_per_s,
        storm_remote=remote(storm),
        near_remote=remote(near),
        storm_busiest=cap,
        near_busiest=busiest(near, rate_per_s),
    )


def remote(layout: Layout) -> float:
    """Share of the edge's tuples that leave their node; all senders send alike."""
    snapshot = layout.setting.snapshot()
    edge = snapshot.edges[EDGE]
    senders = layout.node[snapshot.vertex_of == edge.source]
    receivers = layout.node[snapshot.vertex_of == edge.target]
    shares: Floats = layout.shares[EDGE]
    return float(np.where(senders[:, None] != receivers[None, :], shares, 0.0).sum(axis=1).mean())


def busiest(layout: Layout, rate_per_s: float) -> float:
    """Utilisation of the busiest receiver of the edge."""
    snapshot = layout.setting.snapshot()
    mine = snapshot.vertex_of == snapshot.edges[EDGE].target
    return float(try_out(layout, rate_per_s).analysis.utilization[mine].max())


def run(parts: Sequence[float] = PARTS) -> list[Locality]:
    """All settings, on layouts that know nothing of groupings and on ours."""
    return [
        compare(setting, system, part * full)
        for setting, full in SETTINGS
        for system in (EVEN, R_STORM, strategy("Auto"))
        for part in parts
    ]


def told(found: Sequence[Locality]) -> str:
    """One line a run, and the mean."""
    rows = [
        (
            one.setting.name,
            one.layout,
            f"{one.rate_per_s:,.0f}",
            f"{100 * one.storm_remote:.1f} %",
            f"{100 * one.near_remote:.1f} %",
            f"{one.storm_busiest:.2f}",
            f"{one.near_busiest:.2f}",
        )
        for one in found
    ]
    storm = sum(one.storm_remote for one in found)
    near = sum(one.near_remote for one in found)
    head = (
        "topology",
        "layout",
        "tuples/s",
        "Storm remote",
        "near-source remote",
        "Storm's busiest",
        "near-source's",
    )
    return f"{table(head, rows)}\n\nAll runs together: {percent(near / storm - 1)} remote tuples."
