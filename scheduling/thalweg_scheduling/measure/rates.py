"""Who sends how much to whom: as measured, or as assumed where nothing is known.

A first placement has to be made before anything was measured. Assumed rates serve only that; a move
is never justified by them (see `trust`).
"""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from thalweg_scheduling.kernels.layout import Flow
from thalweg_scheduling.model.arrays import Bools, Floats, Ints, frozen_floats, frozen_ints
from thalweg_scheduling.model.graph import Edge, GroupingType
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Rates:
    """Tuples per second from `source[i]` to `target[i]`; every value is finite and at least 0."""

    source: Ints
    target: Ints
    per_s: Floats

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", frozen_ints(self.source))
        object.__setattr__(self, "target", frozen_ints(self.target))
        object.__setattr__(self, "per_s", frozen_floats(self.per_s))


@lru_cache(maxsize=2)
def flow_of(rates: Rates) -> Flow:
    """The same for kernels, which want arrays that may be written."""
    return Flow(np.array(rates.source), np.array(rates.target), np.array(rates.per_s))


def measured_rates(snapshot: Snapshot) -> Rates | None:
    """The measured traffic, or nothing where a part of it is unknown."""
    traffic = snapshot.traffic
    if traffic is None or not _known(traffic.tuples_per_s).all():
        return None
    return Rates(source=traffic.sources, target=traffic.targets, per_s=traffic.tuples_per_s)


def search_rates(snapshot: Snapshot) -> Rates:
    """The measured traffic with its gaps filled, for looking for a placement."""
    before = snapshot.remembered.get("search rates")
    if isinstance(before, Rates):
        return before
    rates = _search_rates(snapshot)
    snapshot.remembered["search rates"] = rates
    return rates


def _search_rates(snapshot: Snapshot) -> Rates:
    traffic = snapshot.traffic
    if traffic is None:
        return _joined([_spread(snapshot, edge, 1.0) for edge in snapshot.edges])
    source, target = traffic.sources, traffic.targets
    per_s = _filled(snapshot, source, target, np.array(traffic.tuples_per_s))
    whole = Rates(source=source, target=target, per_s=per_s)
    silent = _silent_newcomers(snapshot, source, target)
    if not silent.any():
        return whole
    return _joined([whole, *_guesses(snapshot, whole, silent)])


def _known(per_s: Floats) -> Bools:
    known: Bools = np.isfinite(per_s) & (per_s >= 0)
    return known


def _filled(snapshot: Snapshot, source: Ints, target: Ints, per_s: Floats) -> Floats:
    """Unknown entries get the mean of their edge, else of everything, else one tuple a second."""
    known = _known(per_s)
    if known.all():
        return per_s
    vertices = len(snapshot.vertices)
    edge = snapshot.vertex_of[source] * vertices + snapshot.vertex_of[target]
    counts = np.bincount(edge[known], minlength=vertices * vertices)
    sums = np.bincount(edge[known], weights=per_s[known], minlength=vertices * vertices)
    overall = float(per_s[known].mean()) if known.any() else 1.0
    means = np.where(counts > 0, sums / np.maximum(counts, 1), overall)
    filled: Floats = np.where(known, per_s, means[edge])
    return filled


def _silent_newcomers(snapshot: Snapshot, source: Ints, target: Ints) -> Bools:
    """Tasks without a node and without a series, where others of the topology already run."""
    silent: Bools = snapshot.placement == UNPLACED
    if silent.all():
        return np.zeros_like(silent)
    silent[source] = False
    silent[target] = False
    return silent


def _guesses(snapshot: Snapshot, whole: Rates, silent: Bools) -> list[Rates]:
    """What newcomers will send and get if they are like their siblings."""
    found = []
    sender, receiver = snapshot.vertex_of[whole.source], snapshot.vertex_of[whole.target]
    for edge in snapshot.edges:
        mine = (sender == edge.source) & (receiver == edge.target)
        if not mine.any():
            continue
        guess = _spread(snapshot, edge, 1.0)
        new = silent[guess.source] | silent[guess.target]
        mean = float(whole.per_s[mine].mean())
        found.append(
            Rates(
                source=guess.source[new],
                target=guess.target[new],
                per_s=np.full(int(new.sum()), mean),
            )
        )
    return found


def _spread(snapshot: Snapshot, edge: Edge, per_s: float) -> Rates:
    """One edge's traffic over its task pairs, as its grouping would."""
    senders = np.flatnonzero(snapshot.vertex_of == edge.source)
    receivers = np.flatnonzero(snapshot.vertex_of == edge.target)
    if edge.grouping is GroupingType.GLOBAL:
        receivers = receivers[:1]
    if senders.size == 0 or receivers.size == 0:
        return _NONE
    copies = 1 if edge.grouping is GroupingType.BROADCAST else len(receivers)
    return Rates(
        source=np.repeat(senders, len(receivers)),
        target=np.tile(receivers, len(senders)),
        per_s=np.full(len(senders) * len(receivers), per_s / (len(senders) * copies)),
    )


def _joined(parts: list[Rates]) -> Rates:
    if not parts:
        return _NONE
    return Rates(
        source=np.concatenate([part.source for part in parts]),
        target=np.concatenate([part.target for part in parts]),
        per_s=np.concatenate([part.per_s for part in parts]),
    )


_NONE = Rates(
    source=np.zeros(0, dtype=np.int64), target=np.zeros(0, dtype=np.int64), per_s=np.zeros(0)
)
