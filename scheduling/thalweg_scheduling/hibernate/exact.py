"""The proven minimum for small clusters, by the integer solver that scipy brings along.

    minimise   Σ awake(n)
    such that  Σ_n count(k, n) = wanted(k),  Σ_k demand(k) · count(k, n) ≤ capacity(n) · awake(n)

and the limits on sleepers and domains. Counting kinds instead of tasks, and ordering nodes that
are alike, keeps it small; a bound on branching instead of on time keeps it the same everywhere.
"""

import numpy as np

from thalweg_scheduling.hibernate.packing import Filling, Packing
from thalweg_scheduling.hibernate.sleeping import SleepLimits
from thalweg_scheduling.model.arrays import Floats, Ints

MOST_BRANCHES = 200

# Over all nodes less than what one node weighs: it decides between equals only, and an answer
# that is nearer than the rest of one node to the bound has the fewest nodes.
_PREFERENCE = 0.3


def pack_exactly(
    packing: Packing, limits: SleepLimits, *, fewest: int, most: int
) -> Filling | None:
    """Everything on `fewest` to `most` nodes, on as few as possible, or None."""
    from scipy.optimize import Bounds, LinearConstraint, milp

    nodes, kinds = packing.nodes, len(packing.wanted)
    matrix, low, high = _constraints(packing, limits, fewest, most)
    # Nodes that run much now are the better ones to keep.
    running = packing.present().sum(axis=0)
    price = 1 - _PREFERENCE * running / max(1, int(running.sum()))
    answer = milp(
        np.concatenate([price, np.zeros(kinds * nodes)]),
        constraints=LinearConstraint(matrix, low, high),
        integrality=np.ones(nodes * (kinds + 1)),
        bounds=Bounds(0, np.concatenate([np.ones(nodes), _most_on_node(packing).ravel()])),
        options={"node_limit": MOST_BRANCHES, "mip_rel_gap": (0.9 - _PREFERENCE) / nodes},
    )
    if answer.x is None:
        return None
    counts = np.rint(answer.x[nodes:]).astype(np.int64).reshape(kinds, nodes)
    filling = Filling(packing, np.ones(nodes, dtype=np.bool_))
    for kind in range(kinds):
        filling.put(kind, counts[kind])
    # The solver works to a tolerance of its own.
    whole = np.array_equal(counts.sum(axis=1), packing.wanted) and not np.any(filling.free < 0)
    return filling if whole and filling.is_spread() else None


def _most_on_node(packing: Packing) -> Ints:
    empty = Filling(packing, np.ones(packing.nodes, dtype=np.bool_))
    return np.array([empty.room(kind) for kind in range(len(packing.wanted))]).reshape(
        len(packing.wanted), packing.nodes
    )


def _constraints(
    packing: Packing, limits: SleepLimits, fewest: int, most: int
) -> tuple[Floats, Floats, Floats]:
    """Rows over (awake of each node, count of each kind on each node), and their bounds."""
    rows = [
        *_everything_is_packed(packing),
        *_nothing_is_overfull(packing),
        *_enough_are_awake(packing, limits, fewest, most),
        *_alike_in_order(packing, limits),
        *_domains_are_kept(packing),
    ]
    matrix = np.array([row for row, _, _ in rows])
    return matrix, np.array([low for _, low, _ in rows]), np.array([high for _, _, high in rows])


Row = tuple[Floats, float, float]


def _row(packing: Packing) -> tuple[Floats, Floats, Floats]:
    """An empty row, and views of its two parts."""
    nodes, kinds = packing.nodes, len(packing.wanted)
    row = np.zeros(nodes * (kinds + 1))
    return row, row[:nodes], row[nodes:].reshape(kinds, nodes)


def _everything_is_packed(packing: Packing) -> list[Row]:
    rows: list[Row] = []
    for kind, wanted in enumerate(packing.wanted.tolist()):
        row, _, counts = _row(packing)
        counts[kind] = 1
        rows.append((row, wanted, wanted))
    return rows


def _nothing_is_overfull(packing: Packing) -> list[Row]:
    rows: list[Row] = []
    for node, capacity in enumerate(np.maximum(packing.capacity, 0.0)):
        for resource in np.flatnonzero(packing.demand.any(axis=0)):
            row, awake, counts = _row(packing)
            scale = max(float(capacity[resource]), 1e-9)
            awake[node] = -capacity[resource] / scale
            counts[:, node] = packing.demand[:, resource] / scale
            rows.append((row, -np.inf, 0.0))
    return rows


def _enough_are_awake(packing: Packing, limits: SleepLimits, fewest: int, most: int) -> list[Row]:
    row, awake, _ = _row(packing)
    awake[:] = 1
    rows: list[Row] = [(row, float(fewest), float(most))]
    row, awake, _ = _row(packing)
    kept = ~limits.may_sleep(packing)
    awake[kept] = 1
    rows.append((row, float(kept.sum()), np.inf))
    for domain in np.unique(packing.domain_of):
        row, awake, _ = _row(packing)
        inside = packing.domain_of == domain
        awake[inside] = 1
        rows.append((row, min(limits.min_awake, int(inside.sum())), np.inf))
    return rows


def _alike_in_order(packing: Packing, limits: SleepLimits) -> list[Row]:
    """Of nodes that are alike, the earlier ones are awake: one answer instead of many."""
    rows: list[Row] = []
    running, may = packing.present().sum(axis=0), limits.may_sleep(packing)
    last: dict[tuple[bytes, bytes, int, bool], int] = {}
    for node in np.argsort(-running, kind="stable").tolist():
        alike = (*packing.likeness(node), bool(may[node]))
        if alike in last:
            row, awake, _ = _row(packing)
            awake[last[alike]], awake[node] = 1, -1
            rows.append((row, 0.0, np.inf))
        last[alike] = node
    return rows


def _domains_are_kept(packing: Packing) -> list[Row]:
    rows: list[Row] = []
    for group, most in enumerate(packing.most_in_domain.tolist()):
        members = packing.group == group
        if most >= packing.wanted[members].sum():
            continue
        for domain in np.unique(packing.domain_of):
            row, _, counts = _row(packing)
            counts[np.ix_(members, packing.domain_of == domain)] = 1
            rows.append((row, -np.inf, most))
    return rows
