"""The same graph in fewer, larger parts."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.kernels.layout import Graph, Parts
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.place.terrain import Toolbox

_WORTH_IT = 0.95
"""A level that leaves more than this share of the parts is not worth having."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Level:
    """One graph of parts, and how the finer one was drawn together into it."""

    graph: Graph
    parts: Parts
    label: Ints | None
    """Shape (finer parts,): absent on the finest level."""


def coarsened(
    finest: Level, limit: Floats, enough: int, tools: Toolbox, rng: np.random.Generator
) -> list[Level]:
    """The level and ever coarser ones, until there are `enough` or it is not worth it."""
    levels = [finest]
    while len(levels[-1].parts.kind) > enough:
        fine = levels[-1]
        label = np.empty(len(fine.parts.kind), dtype=np.int64)
        order = rng.permutation(len(label))
        count = int(tools.coarsening.cluster(fine.graph, fine.parts, limit, order, label))
        if count > _WORTH_IT * len(label):
            break
        levels.append(joined(fine, label, count, tools))
    return levels


def joined(level: Level, label: Ints, count: int, tools: Toolbox) -> Level:
    """The level with the parts of one label made one; only those that stay keep a home."""
    parts = level.parts
    kind = np.zeros(count, dtype=np.int64)
    kind[label] = parts.kind
    movable = np.ones(count, dtype=np.bool_)
    movable[label] = parts.movable
    home = np.full(count, UNPLACED, dtype=np.int64)
    home[label[~parts.movable]] = parts.home[~parts.movable]
    demand = np.zeros((count, parts.demand.shape[1]))
    for resource in range(demand.shape[1]):
        demand[:, resource] = np.bincount(label, parts.demand[:, resource], count)
    return Level(
        graph=tools.coarsening.contract(level.graph, label, count),
        parts=Parts(demand, kind, movable, home, np.zeros(count)),
        label=label,
    )
