"""The proven optimum of small instances, by CP-SAT over counts of tasks per vertex and node.

Tasks of one vertex are alike, so only how many of them are on each node matters. With c[v, n] of
them, J is a sum of products of counts: of groups of nodes that are equally far from all others, and
of single nodes, where tasks meet on one. Each product is a variable; that they add up over a row to
the row's count times all tasks of the other vertex is told to the solver, which helps its bound.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from thalweg_scheduling.measure.distance import Distances, distances
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.arrays import Floats, Ints
from thalweg_scheduling.model.snapshot import Snapshot

if TYPE_CHECKING:
    from ortools.sat.python.cp_model import CpModel, IntVar, LinearExpr

MILLI = 1000
LARGEST_COEFFICIENT = 10**7


@dataclass(frozen=True, slots=True, kw_only=True)
class Optimum:
    """What is known about the least J."""

    value: float
    """J of the best placement found; infinite where none was."""
    bound: float
    """No placement has a smaller J."""
    seconds: float
    proven: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Model:
    solver_model: "CpModel"
    counts: "list[list[IntVar]]"
    scale: float


def prove(snapshot: Snapshot, *, limit_s: float, workers: int = 2, seed: int = 0) -> Optimum:
    """Look for the least J and a proof of it for at most `limit_s` seconds."""
    from ortools.sat.python import cp_model

    model = _model(snapshot)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit_s
    solver.parameters.num_workers = workers
    solver.parameters.random_seed = seed
    # Coefficients are rounded to seven digits: what is nearer than that is the same.
    solver.parameters.relative_gap_limit = 1e-6
    status = solver.solve(model.solver_model)
    if status not in (cp_model.OPTIMAL, cp_model.FEASIBLE):
        return Optimum(value=np.inf, bound=np.nan, seconds=solver.wall_time, proven=False)
    counts = np.array([[solver.value(count) for count in row] for row in model.counts])
    return Optimum(
        value=objective(snapshot, placement_of(snapshot, counts)),
        bound=solver.best_objective_bound / model.scale,
        seconds=solver.wall_time,
        proven=status == cp_model.OPTIMAL,
    )


def placement_of(snapshot: Snapshot, counts: Ints) -> Ints:
    """Any placement with these counts; they all have the same J."""
    node = np.empty(len(snapshot.tasks), dtype=np.int64)
    for vertex, row in enumerate(counts):
        node[snapshot.vertex_of == vertex] = np.repeat(np.arange(len(row)), row)
    return node


def edge_rates(snapshot: Snapshot) -> dict[tuple[int, int], float]:
    """Tuples/s between any two tasks of two vertices; they must all be the same."""
    assert snapshot.traffic is not None
    traffic, vertex_of = snapshot.traffic, snapshot.vertex_of
    found: dict[tuple[int, int], float] = {}
    for source, target, per_s in zip(
        traffic.sources, traffic.targets, traffic.tuples_per_s, strict=True
    ):
        edge = int(vertex_of[source]), int(vertex_of[target])
        assert abs(found.setdefault(edge, per_s) - per_s) <= 1e-9 * per_s
    return found


def _model(snapshot: Snapshot) -> _Model:
    from ortools.sat.python import cp_model

    model = cp_model.CpModel()
    far = distances(snapshot)
    tasks = [vertex.replicas for vertex in snapshot.vertices]
    nodes, groups = len(snapshot.nodes), len(far.between)
    counts = [
        [model.new_int_var(0, most, f"c{v}_{n}") for n in range(nodes)]
        for v, most in enumerate(tasks)
    ]
    for row, most in zip(counts, tasks, strict=True):
        model.add(sum(row) == most)
    loads = _capacity(model, snapshot, counts)
    _order_twins(model, snapshot, far, loads)
    in_group = [
        [_total(model, row, np.flatnonzero(far.group_of == g), most) for g in range(groups)]
        for row, most in zip(counts, tasks, strict=True)
    ]
    terms = []
    for (a, b), per_s in edge_rates(snapshot).items():
        pair = (tasks[a], tasks[b])
        terms += _between(model, (in_group[a], in_group[b]), pair, per_s * far.between)
        meeting = per_s * (far.same - far.between[far.group_of, far.group_of])
        terms += _meeting(model, (counts[a], counts[b]), pair, meeting)
    scale = LARGEST_COEFFICIENT / max((abs(weight) for weight, _ in terms), default=1.0)
    model.minimize(sum(round(weight * scale) * product for weight, product in terms))
    return _Model(solver_model=model, counts=counts, scale=scale)


def _capacity(
    model: "CpModel", snapshot: Snapshot, counts: "list[list[IntVar]]"
) -> "list[LinearExpr]":
    from ortools.sat.python import cp_model

    first = np.searchsorted(snapshot.vertex_of, np.arange(len(snapshot.vertices)))
    loads = []
    for resource in range(len(snapshot.resources)):
        each = np.round(MILLI * snapshot.demand[first, resource]).astype(int)
        for node in range(len(snapshot.nodes)):
            load = cp_model.LinearExpr.weighted_sum([row[node] for row in counts], each.tolist())
            model.add(load <= int(np.floor(MILLI * snapshot.capacity[node, resource] + 1e-6)))
            loads.append(load)
    return loads[: len(snapshot.nodes)]


def _order_twins(
    model: "CpModel", snapshot: Snapshot, far: Distances, loads: "list[LinearExpr]"
) -> None:
    """Nodes that differ in nothing are filled in order."""
    seen: dict[tuple[object, ...], int] = {}
    for node in range(len(snapshot.nodes)):
        key = (int(far.group_of[node]), float(far.same[node]), *snapshot.capacity[node].tolist())
        if key in seen:
            model.add(loads[node] <= loads[seen[key]])
        seen[key] = node


def _total(model: "CpModel", row: "list[IntVar]", members: Ints, most: int) -> "IntVar":
    if len(members) == 1:
        return row[int(members[0])]
    total = model.new_int_var(0, most, "")
    model.add(total == sum(row[int(node)] for node in members))
    return total


def _between(
    model: "CpModel",
    rows: "tuple[list[IntVar], list[IntVar]]",
    tasks: tuple[int, int],
    weight: Floats,
) -> "list[tuple[float, IntVar]]":
    groups = len(weight)
    product = [
        [_product(model, rows[0][g], rows[1][h], tasks) for h in range(groups)]
        for g in range(groups)
    ]
    for g in range(groups):
        model.add(sum(product[g]) == tasks[1] * rows[0][g])
        model.add(sum(product[h][g] for h in range(groups)) == tasks[0] * rows[1][g])
    return [(weight[g, h], product[g][h]) for g in range(groups) for h in range(groups)]


def _meeting(
    model: "CpModel",
    rows: "tuple[list[IntVar], list[IntVar]]",
    tasks: tuple[int, int],
    weight: Floats,
) -> "list[tuple[float, IntVar]]":
    return [
        (weight[n], _product(model, a, b, tasks))
        for n, (a, b) in enumerate(zip(*rows, strict=True))
        if weight[n] != 0
    ]


def _product(model: "CpModel", a: "IntVar", b: "IntVar", tasks: tuple[int, int]) -> "IntVar":
    product = model.new_int_var(0, tasks[0] * tasks[1], "")
    model.add_multiplication_equality(product, [a, b])
    return product
