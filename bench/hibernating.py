"""Nodes left awake, against the least that CP-SAT proves and against two consolidators.

Small clusters: up to 30 nodes, everything may sleep but one node of each domain, so that the search
is what is measured, not the limits. Large ones: 1,000 nodes, against a bound that no packing can
beat (the largest nodes that together hold the sum), and with the limits that the operator has.
Karpenter's and cluster-autoscaler's rules are our re-implementations.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from bench.sleepers import NOW_S, Cluster, large_cluster, small_cluster
from bench.tables import table
from bench.timing import SEEDS, Time, machine, spread, timed
from thalweg_scheduling.hibernate import (
    Packing,
    SleepLimits,
    SleepSearch,
    decide_asleep,
    packing_of,
    sleep_by_prefix,
    sleep_most,
    sleep_underused,
)
from thalweg_scheduling.hibernate.search import most_that_may_sleep

SEARCHES: Mapping[str, SleepSearch] = {
    "ours": sleep_most,
    "Karpenter's prefix": sleep_by_prefix,
    "cluster-autoscaler": sleep_underused,
}
SMALL = 48
NODES = 1_000
VERTICES = (10, 50, 500)
ANY = SleepLimits(max_asleep_share=1.0)
USUAL = SleepLimits()
PROOF_S = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one search made of one cluster."""

    awake: int
    least: int
    """Proven, or a bound."""
    moved: int
    time: Time


def main() -> None:
    """Print the tables."""
    print(machine())
    print()
    print(render_small(run_small(range(SMALL))))
    print()
    for limits, word in ((ANY, "any may sleep"), (USUAL, "at most 30 % asleep")):
        print(f"{NODES:,} nodes, {word}:\n")
        print(render_large(run_large(limits)))
        print()


def run_small(seeds: Iterable[int]) -> dict[str, list[Found]]:
    """Every search on every small cluster of which CP-SAT proves the least."""
    found: dict[str, list[Found]] = {name: [] for name in SEARCHES}
    for seed in seeds:
        cluster = small_cluster(seed)
        least = fewest_awake(packing_of(cluster.snapshot), ANY)
        if least is None:
            continue
        for name, search in SEARCHES.items():
            found[name].append(look(cluster, search, ANY, least))
    return found


def run_large(
    limits: SleepLimits,
    *,
    nodes: int = NODES,
    vertices: Sequence[int] = VERTICES,
    seeds: Sequence[int] = SEEDS,
) -> dict[tuple[str, str], list[Found]]:
    """Every search on large clusters, against the bound."""
    found: dict[tuple[str, str], list[Found]] = {}
    for count in vertices:
        for seed in seeds:
            cluster = large_cluster(nodes, count, seed)
            least = nodes - most_that_may_sleep(packing_of(cluster.snapshot), limits)
            for name, search in SEARCHES.items():
                key = f"{count} vertices", name
                found.setdefault(key, []).append(look(cluster, search, limits, least))
    return found


def look(cluster: Cluster, search: SleepSearch, limits: SleepLimits, least: int) -> Found:
    """Decide as the operator would, and see that nothing is overfull."""
    snapshot = cluster.snapshot
    answer, time = timed(lambda: decide_asleep(snapshot, now_s=NOW_S, limits=limits, search=search))
    used = np.zeros_like(snapshot.capacity)
    np.add.at(used, answer.node, snapshot.demand)
    assert np.all(used <= snapshot.capacity * (1 + 1e-9))
    assert not set(answer.asleep) & {snapshot.nodes[node] for node in answer.node}
    return Found(
        awake=len(snapshot.nodes) - len(answer.asleep),
        least=least,
        moved=int(np.count_nonzero(answer.node != snapshot.placement)),
        time=time,
    )


def fewest_awake(packing: Packing, limits: SleepLimits) -> int | None:
    """The least number of nodes awake, if CP-SAT proves it in time."""
    from ortools.sat.python import cp_model

    scale, nodes, kinds = 10_000, range(packing.nodes), range(len(packing.wanted))
    model = cp_model.CpModel()
    awake = [model.new_bool_var("") for _ in nodes]
    counts = [
        [model.new_int_var(0, int(packing.wanted[k] * packing.allowed[k, n]), "") for n in nodes]
        for k in kinds
    ]
    for k in kinds:
        model.add(sum(counts[k]) == int(packing.wanted[k]))
    for n in nodes:
        for r in range(packing.capacity.shape[1]):
            taken = sum(round(packing.demand[k, r] * scale) * counts[k][n] for k in kinds)
            model.add(taken <= int(packing.capacity[n, r] * scale + 1e-6) * awake[n])
    for domain in np.unique(packing.domain_of):
        inside = np.flatnonzero(packing.domain_of == domain)
        model.add(sum(awake[n] for n in inside) >= min(len(inside), limits.min_awake))
    model.add(sum(awake) >= packing.nodes - limits.most_asleep(packing))
    model.minimize(sum(awake))
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = PROOF_S
    status = solver.solve(model)
    return round(solver.objective_value) if status == cp_model.OPTIMAL else None


def render_small(found: Mapping[str, list[Found]]) -> str:
    """One line a search."""
    rows = []
    for name, each in found.items():
        over = [one.awake - one.least for one in each]
        rows.append(
            [
                name,
                str(len(each)),
                f"{sum(gap == 0 for gap in over)}",
                f"{sum(gap == 1 for gap in over)}",
                f"{sum(gap > 1 for gap in over)}",
                f"+{max(over)}",
                spread([one.moved for one in each]),
                spread([one.time.cpu_s for one in each]),
            ]
        )
    head = ["search", "proven", "= least", "+1", "more", "worst", "tasks moved", "CPU s"]
    return table(head, rows)


def render_large(found: Mapping[tuple[str, str], list[Found]]) -> str:
    """One line a size and search."""
    return table(
        ["cluster", "search", "awake", "bound", "over the bound", "tasks moved", "CPU s", "wall s"],
        [
            [
                size,
                name,
                spread([one.awake for one in each], 4),
                spread([one.least for one in each], 4),
                f"{spread([100 * (one.awake / one.least - 1) for one in each])} %",
                spread([one.moved for one in each], 4),
                spread([one.time.cpu_s for one in each]),
                spread([one.time.wall_s for one in each]),
            ]
            for (size, name), each in found.items()
        ],
    )


if __name__ == "__main__":
    main()
