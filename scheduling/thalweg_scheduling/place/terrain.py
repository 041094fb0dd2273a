"""A problem as kernels see it: arrays, and the kernels that will work on them.

Kernels are compiled from a certain size on, if numba is installed. Which it is depends on the
problem and the installation alone, never on what was compiled before: the same input gives the same
plan.
"""

from dataclasses import dataclass
from types import ModuleType

import numpy as np
import scipy.sparse as sp

from thalweg_scheduling.kernels import annealing, coarsening, placing
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
from thalweg_scheduling.measure.distance import Distances
from thalweg_scheduling.measure.rates import Rates
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.problem import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Toolbox:
    """The kernels, all compiled or all interpreted."""

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


def terrain_of(problem: Problem, tools: Toolbox) -> Terrain:
    """All arrays of a problem, contiguous and writable."""
    snapshot = problem.snapshot
    kind, allowed = _kinds(snapshot)
    capacity = np.maximum(problem.needs.capacity, 0.0)
    scale = np.maximum(capacity.sum(axis=0) / max(len(capacity), 1), 1e-300)
    home = np.array(snapshot.placement)
    return Terrain(
        graph=graph_of(problem.rates, len(home), problem.far),
        sites=Sites(
            capacity=capacity / scale,
            group_of=np.array(problem.far.group_of, order="C"),
            between=np.array(problem.far.between, order="C"),
            same=np.array(problem.far.same, order="C"),
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


def graph_of(rates: Rates, tasks: int, far: Distances) -> Graph:
    """Both directions of all traffic between different tasks."""
    apart = (rates.source != rates.target) & (rates.per_s > 0)
    per_s, source, target = rates.per_s, rates.source, rates.target
    if not apart.all():
        per_s, source, target = per_s[apart], source[apart], target[apart]
    sent = sp.csr_matrix((per_s, (source, target)), shape=(tasks, tasks))
    got = sent.T.tocsr()
    if far.is_symmetric:
        both = sent + got
        indptr = both.indptr.astype(np.int64)
        return Graph(indptr, indptr[1:].copy(), both.indices.astype(np.int64), both.data)
    # What a task sends comes first in its row, then what it gets.
    indptr = (sent.indptr + got.indptr).astype(np.int64)
    split = indptr[:-1] + np.diff(sent.indptr)
    entries = sp.hstack([sent, got], format="csr")
    other = entries.indices.astype(np.int64) % max(tasks, 1)
    return Graph(indptr, split.astype(np.int64), other, entries.data)


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
