"""The question that every search answers: which movable task goes where, and what is it worth."""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.measure.distance import Distances, distances
from thalweg_scheduling.measure.needs import Needs, exceeded, needs
from thalweg_scheduling.measure.objective import objective_of
from thalweg_scheduling.measure.rates import Rates, search_rates
from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.spread import Spread, breaks_spread, spread_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A snapshot as searches see it: rates without gaps, and what a move costs."""

    snapshot: Snapshot
    movable: Bools
    rates: Rates
    far: Distances
    needs: Needs
    spread: Spread
    move_cost: float

    def score(self, node: Ints) -> tuple[int, float]:
        """Tasks left without a node, then J and what the moves cost; less is better."""
        homeless = int(np.count_nonzero(node == UNPLACED))
        return homeless, objective_of(self.rates, self.far, node) + self.move_cost * self.moves(
            node
        )

    def moves(self, node: Ints) -> int:
        """How many tasks leave the node that they have."""
        present = self.snapshot.placement
        return int(np.count_nonzero((present != UNPLACED) & (present != node)))

    def is_feasible(self, node: Ints) -> bool:
        """Whether every placed task is where it may be and no node gets more than it has.

        A node that is over-committed by tasks that stay anyway is not held against a placement.
        """
        placed = np.flatnonzero(self.movable & (node != UNPLACED))
        if not self.snapshot.eligible[placed, node[placed]].all():
            return False
        over = exceeded(self.needs, node)
        if over.any() and (over[node[placed]] & (self.needs.demand[placed] > 0)).any():
            return False
        return not breaks_spread(self.snapshot, node, self.movable)


def problem_of(snapshot: Snapshot, movable: Bools) -> Problem:
    """Look at a snapshot as a search does."""
    far = distances(snapshot)
    if snapshot.limits.placement.shared_processes:
        # Whoever meets on a node shares its process.
        same_s = snapshot.latency.classes.same_process_s
        far = far._replace(same=np.full_like(far.same, same_s))
    return Problem(
        snapshot=snapshot,
        movable=movable,
        rates=search_rates(snapshot),
        far=far,
        needs=needs(snapshot),
        spread=spread_of(snapshot),
        move_cost=snapshot.limits.placement.move_cost,
    )
