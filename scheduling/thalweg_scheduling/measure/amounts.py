"""What tasks use and nodes have of the resources that the papers weigh: processor, memory, network.

The papers add these up into one number, with a weight for each. A resource that a snapshot does not
know has no part in the sum; its weight goes to the others.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Floats, frozen_floats
from thalweg_scheduling.model.snapshot import Snapshot

CPU, MEMORY, NETWORK = "cpu", "memory", "network"
_WEIGHED = (CPU, MEMORY, NETWORK)
_MEASURED = {CPU: "cpu_cores", MEMORY: "memory_bytes"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Named columns of what is used and what is there, in the resources' own units."""

    words: tuple[str, ...]
    used: Floats
    """Shape (tasks, columns): as measured, or as requested where nothing was measured."""
    there: Floats
    """Shape (nodes, columns)."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "used", frozen_floats(self.used))
        object.__setattr__(self, "there", frozen_floats(self.there))

    def weighted_by(self, weights: Mapping[str, float], unit: Floats) -> tuple[Floats, Floats]:
        """One number for each task and each node: shares of `unit`, weighed and added up."""
        factor = np.array([weights.get(word, 0.0) for word in self.words])
        if factor.sum() <= 0:
            factor = np.ones(len(self.words))
        factor = factor / max(float(factor.sum()), 1e-300)
        factor = np.divide(factor, unit, out=np.zeros_like(factor), where=unit > 0)
        return self.used @ factor, np.maximum(self.there, 0.0) @ factor


def amounts(snapshot: Snapshot) -> Amounts:
    """The columns that the papers know; all that there are where a snapshot has none of them."""
    known = [word for word in _WEIGHED if word in snapshot.resources]
    words = tuple(known) if known else snapshot.resources
    columns = [snapshot.resources.index(word) for word in words]
    used = np.array(snapshot.demand[:, columns])
    for position, word in enumerate(words):
        if snapshot.loads is not None and word in _MEASURED:
            seen = getattr(snapshot.loads, _MEASURED[word])
            is_known = np.isfinite(seen) & (seen >= 0)
            used[:, position] = np.where(is_known, seen, used[:, position])
    return Amounts(words=words, used=used, there=snapshot.capacity[:, columns])
