"""Ways of putting everything into the bins that are awake; each answers a Filling or None."""

from collections.abc import Callable

import numpy as np

from thalweg_scheduling.hibernate.packing import Filling, Packing
from thalweg_scheduling.model.arrays import Bools, Floats, Ints

Packer = Callable[[Packing, Bools, Ints], Filling | None]
"""From a packing, the nodes that are awake, and the order in which to use them."""


def by_total(packing: Packing) -> Ints:
    """Kinds by what they take of everything, the largest first."""
    return np.argsort(-(packing.demand @ packing.scarcity()), kind="stable")


def by_largest(packing: Packing) -> Ints:
    """Kinds by what they take of the resource that they take most of."""
    return np.argsort(-np.max(packing.demand * _unit(packing), axis=1, initial=0), kind="stable")


def by_choice(packing: Packing) -> Ints:
    """Kinds that can go to few nodes first, then by what they take."""
    choice = packing.allowed.sum(axis=1)
    return np.lexsort((-(packing.demand @ packing.scarcity()), choice))


ORDERS = (by_total, by_largest, by_choice)


def first_fit(order_of_kinds: Callable[[Packing], Ints]) -> Packer:
    """Each kind into the first nodes that have room."""

    def pack(packing: Packing, awake: Bools, nodes: Ints) -> Filling | None:
        filling = Filling(packing, awake)
        for kind in order_of_kinds(packing).tolist():
            if not _place_all(filling, kind, nodes):
                return None
        return filling

    return pack


def best_fit(order_of_kinds: Callable[[Packing], Ints]) -> Packer:
    """Each kind into the nodes that are fullest already."""

    def pack(packing: Packing, awake: Bools, nodes: Ints) -> Filling | None:
        filling = Filling(packing, awake)
        for kind in order_of_kinds(packing).tolist():
            left = filling.free[nodes] @ filling.worth
            if not _place_all(filling, kind, nodes[np.argsort(left, kind="stable")]):
                return None
        return filling

    return pack


def best_match(
    packing: Packing, awake: Bools, nodes: Ints, begun: Filling | None = None
) -> Filling | None:
    """Node by node, always the kind that takes most of what the node has most of.

    The dot product of demand and what is left (Panigrahy et al. 2011): it keeps what is left of
    several resources in proportion, which filling by size does not. `begun` is filled up.
    """
    filling = begun or Filling(packing, awake)
    worth = filling.worth * packing.demand
    left = packing.wanted - filling.counts.sum(axis=1)
    for node in nodes[awake[nodes]].tolist():
        if not left.any():
            break
        suits = packing.allowed[:, node]
        while True:
            fits = suits & (left > 0) & np.all(packing.demand <= filling.free[node], axis=1)
            if not fits.any():
                break
            match = np.where(fits, worth @ np.maximum(filling.free[node], 0.0), -1.0)
            kind = int(np.argmax(match))
            filling.counts[kind, node] += 1
            filling.free[node] -= packing.demand[kind]
            left[kind] -= 1
    return filling if not left.any() else None


def _place_all(filling: Filling, kind: int, nodes: Ints) -> bool:
    need = int(filling.packing.wanted[kind])
    for _ in range(min(need, filling.unreached(kind))):
        elsewhere = nodes[~filling.has_reached(kind)[nodes]]
        need -= int(filling.fill(kind, 1, elsewhere).sum())
    return need == int(filling.fill(kind, need, nodes).sum())


def _unit(packing: Packing) -> Floats:
    unit: Floats = 1 / np.maximum(packing.capacity.mean(axis=0), 1e-300)
    return unit
