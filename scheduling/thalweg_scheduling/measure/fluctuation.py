"""How much the network and the stream have changed since tasks were last placed by them.

Hd-Stream's Eq 4 and 5: the Frobenius norm of what changed, over that of what was.
"""

import numpy as np

from thalweg_scheduling.measure.rates import measured_rates
from thalweg_scheduling.model.memory import Surroundings
from thalweg_scheduling.model.snapshot import Snapshot


def surroundings_of(snapshot: Snapshot) -> Surroundings:
    """X, and what flows in all, as they are now."""
    rates = measured_rates(snapshot)
    return Surroundings(
        nodes=snapshot.nodes,
        seconds=snapshot.node_cost_s,
        tuples_per_s=float("nan") if rates is None else float(rates.per_s.sum()),
    )


def fluctuation(before: Surroundings, now: Surroundings) -> float:
    """Δ, of the network or of the stream, whichever changed more.

    A node that came or went is a change of any size. What is not known of the stream on one of the
    two occasions has not changed.
    """
    if before.nodes != now.nodes:
        return float("inf")
    network = _relative(
        float(np.linalg.norm(now.seconds - before.seconds)), float(np.linalg.norm(before.seconds))
    )
    stream = _relative(abs(now.tuples_per_s - before.tuples_per_s), before.tuples_per_s)
    return max(network, 0.0 if np.isnan(stream) else stream)


def _relative(change: float, before: float) -> float:
    if change == 0:
        return 0.0
    return change / before if before != 0 else float("inf")
