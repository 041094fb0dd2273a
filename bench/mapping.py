"""Large topologies against graph partitioners: J beside what it overloads, and the time.

Ours includes everything from the snapshot on; the partitioners' graphs are made ready outside of
the time. A call is cold when it is the first of its process: once with nothing compiled before,
once with what an earlier process left on disk.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from bench.peers import (
    Undirected,
    Violations,
    metis_two_level,
    mtkahypar_mapping,
    undirected,
    violations,
)
from bench.streams import Size, many_topologies, one_topology
from bench.tables import table
from bench.timing import SEEDS, Time, machine, spread, timed
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.model.snapshot import Snapshot
from thalweg_scheduling.strategies import STRATEGIES

Maker = Callable[[Size, int], Snapshot]
Ready = Callable[[], Ints]
Planner = Callable[[Snapshot, Undirected, int], Ready]
"""Makes everything ready; calling what it returns is timed."""

MAKERS: Mapping[str, Maker] = {"many": many_topologies, "one": one_topology}
COLD = """
import json, sys
from bench.mapping import MAKERS, auto
from bench.streams import Size
from bench.timing import timed
tasks, nodes, domains, seed = map(int, sys.argv[2:])
snapshot = MAKERS[sys.argv[1]](Size(tasks=tasks, nodes=nodes, domains=domains), seed)
first, second = (timed(auto(snapshot, None, seed)) for _ in range(2))
print(json.dumps([first[1].wall_s, second[1].wall_s]))
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a planner made of one seed's instance."""

    value: float
    over: Violations
    time: Time


@dataclass(frozen=True, slots=True, kw_only=True)
class Contest:
    """One size, and who is compared on it; the first peer is the one that ratios refer to."""

    title: str
    family: str
    size: Size
    peers: tuple[str, ...]


def auto(snapshot: Snapshot, graph: Undirected | None, seed: int) -> Ready:  # noqa: ARG001
    """Our own, from the snapshot on."""
    everyone = np.ones(len(snapshot.tasks), dtype=np.bool_)

    def work() -> Ints:
        rng = np.random.default_rng(seed)
        return STRATEGIES["Auto"].place(snapshot, movable=everyone, rng=rng).node

    return work


def metis(snapshot: Snapshot, graph: Undirected, seed: int) -> Ready:
    """METIS for domains, then for nodes."""
    return partial(metis_two_level, snapshot, graph, seed)


def metis_refined(snapshot: Snapshot, graph: Undirected, seed: int) -> Ready:
    """The same, with our refinement on J after it."""
    from bench.refinement import refined

    return lambda: refined(snapshot, metis_two_level(snapshot, graph, seed))


PLANNERS: Mapping[str, Planner] = {
    "Auto": auto,
    "METIS, two levels": metis,
    "METIS + refinement": metis_refined,
    "Mt-KaHyPar map": mtkahypar_mapping,
}
CONTESTS = (
    Contest(
        title="many topologies",
        family="many",
        size=Size(tasks=1_000, nodes=100, domains=4),
        peers=("Mt-KaHyPar map", "METIS, two levels", "METIS + refinement"),
    ),
    Contest(
        title="many topologies",
        family="many",
        size=Size(tasks=10_000, nodes=1_000, domains=8),
        peers=("METIS, two levels", "METIS + refinement"),
    ),
    Contest(
        title="one giant topology",
        family="one",
        size=Size(tasks=100_000, nodes=2_000, domains=16),
        peers=("METIS + refinement", "METIS, two levels"),
    ),
)


def play(contest: Contest, seeds: Sequence[int]) -> dict[str, list[Result]]:
    """Everybody on every seed's instance, once to get warm and once for the clock."""
    results: dict[str, list[Result]] = {name: [] for name in ("Auto", *contest.peers)}
    for seed in seeds:
        snapshot = MAKERS[contest.family](contest.size, seed)
        graph = undirected(snapshot)
        for name, found in results.items():
            if not found and name != "Mt-KaHyPar map":
                PLANNERS[name](snapshot, graph, seed)()
            node, time = timed(PLANNERS[name](snapshot, graph, seed))
            found.append(
                Result(value=objective(snapshot, node), over=violations(snapshot, node), time=time)
            )
    return results


def told(contest: Contest, results: Mapping[str, Sequence[Result]]) -> str:
    """The contest as a table."""
    first = results[contest.peers[0]]
    rows = []
    for name, found in results.items():
        ratios = [one.value / other.value for one, other in zip(found, first, strict=True)]
        speed = [other.time.cpu_s / one.time.cpu_s for one, other in zip(found, first, strict=True)]
        rows.append(
            (
                name,
                spread([one.value for one in found]),
                spread(ratios),
                max((one.over for one in found), key=lambda over: (over.nodes, over.worst)),
                spread([one.time.wall_s for one in found]),
                spread([one.time.cpu_s for one in found]),
                spread(speed),
            )
        )
    head = (
        "planner",
        "J",
        f"J ÷ {contest.peers[0]}",
        "overloaded nodes (fullest)",
        "wall s",
        "CPU s",
        "times faster (CPU)",
    )
    return f"**{contest.size.label}, {contest.title}**\n\n{table(head, rows)}"


def cold(contest: Contest, seed: int, *, without_numba: bool = False) -> list[tuple[str, str, str]]:
    """First and second call in fresh processes."""
    rows = []
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        if without_numba:
            # A module of that name set to None is one that cannot be imported.
            begin = "import sys; sys.modules['numba'] = None\n"
            rows.append(("without numba", *_cold_run(contest, seed, begin + COLD, environment)))
        else:
            words = ("nothing compiled yet", "compiled by an earlier process")
            rows += [(word, *_cold_run(contest, seed, COLD, environment)) for word in words]
    return rows


def _cold_run(
    contest: Contest, seed: int, code: str, environment: Mapping[str, str]
) -> tuple[str, str]:
    size = contest.size
    words = [contest.family, *(str(n) for n in (size.tasks, size.nodes, size.domains, seed))]
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        env=dict(environment),
        capture_output=True,
        text=True,
        check=True,
    )
    first, second = json.loads(done.stdout)
    return f"{first:.3g}", f"{second:.3g}"


def main() -> None:
    """All contests, five seeds, least / median / most; then cold calls and those without numba."""
    print(machine())
    for contest in CONTESTS:
        print(f"\n{told(contest, play(contest, SEEDS))}", flush=True)
    rows = [(contest.size.label, *row) for contest in CONTESTS for row in cold(contest, SEEDS[0])]
    rows += [
        (CONTESTS[1].size.label, *row) for row in cold(CONTESTS[1], SEEDS[0], without_numba=True)
    ]
    print(f"\n{table(('Auto', 'process', 'first call, wall s', 'second call, wall s'), rows)}")
