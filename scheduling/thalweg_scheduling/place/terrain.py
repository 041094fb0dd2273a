"""A problem as kernels see it: arrays, and the kernels that will work on them.

Kernels are compiled from a certain size on, if numba is installed. Which it is depends on the
problem and the installation alone, never on what was compiled before: the same input gives the same
plan.
"""

from dataclasses import dataclass
from types import ModuleType

import numpy as np

from thalweg_scheduling.kernels import annealing, coarsening, placing, vectorised
from thalweg_scheduling.kernels.compiling import compiled
from thalweg_scheduling.kernels.layout import (
    Desk,
    Graph,
    Members,
    Parts,
    Scene,
    Sites,
    Standing,
)
from thalweg_scheduling.measure.distance import ways_of
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.neighbours import graph_of
from thalweg_scheduling.place.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The kernels: compiled, interpreted, or stand-ins for them."""

    placing: ModuleType
    annealing: ModuleType
    coarsening: ModuleType


@dataclass(frozen=True, slots=True, kw_only=True)
class Terrain:
    """What is placed, where it can go, and with which tools."""

    graph: Graph
    sites: Sites
    parts: Parts
    tools: Toolbox

    @property
    def scene(self) -> Scene:
        """The arrays alone, for kernels."""
        return Scene(graph=self.graph, sites=self.sites, parts=self.parts)


def interpreted_tools() -> Toolbox:
    """The kernels as they are written."""
    return Toolbox(placing=placing, annealing=annealing, coarsening=coarsening)


def compiled_tools() -> Toolbox:
    """The kernels as machine code, made when they are first used and kept on disk."""
    return Toolbox(
        placing=compiled(placing),
        annealing=compiled(annealing),
        coarsening=compiled(coarsening),
    )


def vectorised_tools() -> Toolbox:
    """Stand-ins by numpy, for large problems where there is no compiler."""
    return Toolbox(placing=vectorised, annealing=annealing, coarsening=vectorised)


def terrain_of(problem: Problem, tools: Toolbox) -> Terrain:
    """All arrays of a problem, contiguous and writable."""
    snapshot = problem.snapshot
    kind, allowed = _kinds(snapshot)
    capacity = np.maximum(problem.needs.capacity, 0.0)
    scale = np.maximum(capacity.sum(axis=0) / max(len(capacity), 1), 1e-300)
    home = np.array(snapshot.placement)
    graph = graph_of(problem.rates, len(home))
    ways = ways_of(problem.far)
    return Terrain(
        graph=_undirected(graph) if problem.far.is_symmetric else graph,
        sites=Sites(
            capacity=capacity / scale,
            group_of=ways.group_of,
            between=ways.between,
            same=ways.same,
            allowed=allowed,
        ),
        parts=Parts(
            demand=problem.needs.demand / scale,
            kind=kind,
            movable=np.array(problem.movable),
            home=home,
            price=np.full(len(home), problem.move_cost),
        ),
        tools=tools,
    )


def _undirected(graph: Graph) -> Graph:
    """There and back are equally far: all that a task exchanges counts as sent."""
    return graph._replace(split=graph.indptr[1:].copy())


def stand(sites: Sites, parts: Parts, site: Ints) -> Standing:
    """A placement, and what it leaves free."""
    free = sites.capacity.copy()
    placed = np.flatnonzero(site != UNPLACED)
    for resource in range(free.shape[1]):
        free[:, resource] -= np.bincount(
            site[placed], weights=parts.demand[placed, resource], minlength=len(free)
        )
    return Standing(site=np.array(site), free=free)


def desk_for(sites: Sites) -> Desk:
    """Empty scratch space."""
    count, groups = len(sites.group_of), len(sites.between)
    return Desk(
        at=np.zeros(count),
        sent=np.zeros(groups),
        got=np.zeros(groups),
        base=np.zeros(groups),
        sites=np.zeros(count, dtype=np.int64),
        groups=np.zeros(groups, dtype=np.int64),
        counts=np.zeros(2, dtype=np.int64),
    )


def members_for(sites: Sites, parts: Parts) -> Members:
    """Empty lists of who is where."""
    count = len(sites.group_of)
    return Members(
        first=np.full(count, -1, dtype=np.int64),
        after=np.full(len(parts.kind), -1, dtype=np.int64),
        before=np.full(len(parts.kind), -1, dtype=np.int64),
        number=np.zeros(count, dtype=np.int64),
    )


def _kinds(snapshot: Snapshot) -> tuple[Ints, Bools]:
    """Tasks that may go to the same nodes are of one kind."""
    eligible, tasks = snapshot.eligible, len(snapshot.placement)
    if tasks == 0 or eligible.strides[0] == 0:
        # One row that stands for all, as a broadcast makes it: a table of a hundred thousand
        # tasks is not looked at row by row.
        return np.zeros(tasks, dtype=np.int64), np.array(eligible[:1], dtype=np.bool_)
    if np.array_equal(eligible, np.broadcast_to(eligible[0], eligible.shape)):
        return np.zeros(tasks, dtype=np.int64), np.array(eligible[:1])
    packed = np.packbits(eligible, axis=1)
    rows, kind = np.unique(packed, axis=0, return_inverse=True)
    allowed = np.unpackbits(rows, axis=1, count=eligible.shape[1]).astype(np.bool_)
    return kind.reshape(-1).astype(np.int64), allowed
