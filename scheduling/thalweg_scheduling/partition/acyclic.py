"""Md-Stream's Algorithm 2 (KFM): blocks of little traffic between them, without a circle of blocks.

Random topological orders are cut into blocks; then tasks move between two blocks at a time, the one
that gains most first, as long as no task would send to an earlier block (AcyclicCheck).

As the paper's Algorithm 2 has it, a move must gain, or cost nothing and even out the blocks. Its
text and Fiduccia and Mattheyses also make moves that lose; with `rolls_back` those are made, and
what came after the best moment is taken back. Where the paper leaves a choice:

- a task that was looked at and stays is disabled for this pair of blocks only, since another block
  may suit it better; moved tasks and those locked by them are disabled until all are enabled again;
- no block loses its last task: k blocks were asked for;
- pairs of blocks between which nothing could move are passed over instead of drawn;
- Lmax rounds the mean up to whole tasks of the heaviest kind, which is ⌈·⌉ where all weigh 1.
"""

import heapq
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.partition.dependencies import Dependencies
from thalweg_scheduling.partition.division import Division
from thalweg_scheduling.partition.topological import consecutive_blocks, topological_order


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """How blocks are made and made better."""

    imbalance: float = 0.2
    """χ: how much heavier than the mean a block may be."""
    restarts: int = 10
    """τ: as many orders are tried."""
    rounds: int = 8
    """How often all tasks are enabled again, at most."""
    rolls_back: bool = False
    """Also make moves that lose, and take back what did not pay."""


DEFAULT = Refinement()


def acyclic_blocks(
    graph: Dependencies, blocks: int, rng: np.random.Generator, how: Refinement = DEFAULT
) -> Ints:
    """Shape (tasks,): the block of each, the best of all restarts."""
    if blocks <= 1 or graph.tasks == 0:
        return np.zeros(graph.tasks, dtype=np.int64)
    most = heaviest_allowed(graph, blocks, how.imbalance)
    found: list[tuple[float, float, int]] = []
    divisions: list[Ints] = []
    for restart in range(max(1, how.restarts)):
        first = consecutive_blocks(topological_order(graph, rng), graph.weight, blocks)
        division = Division(graph, first, blocks, most)
        refine(division, how, rng)
        excess = max(0.0, float(division.load.max()) - most)
        found.append((excess, graph.cut(division.block), restart))
        divisions.append(division.block)
    return divisions[min(found)[-1]]


def heaviest_allowed(graph: Dependencies, blocks: int, imbalance: float) -> float:
    """Lmax: what a block may weigh."""
    heaviest = float(graph.weight.max(initial=0.0))
    if heaviest <= 0:
        return 0.0
    mean = float(graph.weight.sum()) / blocks
    return (1 + imbalance) * heaviest * float(np.ceil(mean / heaviest - 1e-9))


def refine(division: Division, how: Refinement, rng: np.random.Generator) -> None:
    """Move tasks until a whole round changes nothing."""
    for _ in range(how.rounds):
        enabled = np.ones(len(division.block), dtype=np.bool_)
        pairs = division.pairs(losing=how.rolls_back)
        moved = False
        for low, high in rng.permutation(pairs).tolist():
            if how.rolls_back:
                moved |= climb_pair(division, (low, high), enabled, rng)
            else:
                moved |= improve_pair(division, (low, high), enabled, rng)
        if not moved:
            return


def improve_pair(
    division: Division, pair: tuple[int, int], enabled: Bools, rng: np.random.Generator
) -> bool:
    """One pass as in Algorithm 2, lines 11 to 29; whether anything moved."""
    queue = _queue(division, pair, enabled, rng)
    moved = False
    while queue:
        loss, _, task = heapq.heappop(queue)
        if not enabled[task] or not division.improves(task, -loss, pair):
            continue
        if division.may_move(task, pair) and division.fits(task, pair):
            for newcomer in division.move(task, pair, enabled):
                if enabled[newcomer]:
                    _push(queue, division, newcomer, pair, rng)
            moved = True
    return moved


def climb_pair(
    division: Division, pair: tuple[int, int], enabled: Bools, rng: np.random.Generator
) -> bool:
    """One pass of Fiduccia and Mattheyses, rolled back to its best moment."""
    waiting = enabled.copy()
    queue = _queue(division, pair, waiting, rng)
    made: list[int] = []
    total = 0.0
    best = (0.0, -division.heavier(pair), 0)
    while queue:
        loss, _, task = heapq.heappop(queue)
        if not waiting[task] or not division.may_move(task, pair):
            continue
        if not division.fits(task, pair):
            continue
        total -= loss
        for newcomer in division.move(task, pair, waiting):
            if waiting[newcomer]:
                _push(queue, division, newcomer, pair, rng)
        made.append(task)
        gained = total if total > division.least_gain else min(total, 0.0)
        best = max(best, (gained, -division.heavier(pair), len(made)), key=lambda each: each[:2])
    for task in reversed(made[best[-1] :]):
        division.move(task, pair, waiting)
    enabled[made[: best[-1]]] = False
    return best[-1] > 0


def _queue(
    division: Division, pair: tuple[int, int], enabled: Bools, rng: np.random.Generator
) -> list[tuple[float, float, int]]:
    """All candidates, those that gain most first; equals by lot."""
    queue: list[tuple[float, float, int]] = []
    for task in division.candidates(pair).tolist():
        if enabled[task]:
            _push(queue, division, task, pair, rng)
    return queue


def _push(
    queue: list[tuple[float, float, int]],
    division: Division,
    task: int,
    pair: tuple[int, int],
    rng: np.random.Generator,
) -> None:
    heapq.heappush(queue, (-division.gain(task, pair), float(rng.random()), task))
