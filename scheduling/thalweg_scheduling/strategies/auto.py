"""Auto: the least J + move cost that any of our searches or the other strategies finds.

Staying put is one of the candidates, wherever it overloads nothing. No candidate that overloads a
node is taken. The papers' strategies are no candidates: on 71 instances of up to 1,000 tasks none
was ever better than our own search (`python -m bench papers portfolio`).
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.greedy import largest_first, place_greedily
from thalweg_scheduling.place.large import place_large
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.proposal import Placer, Proposal
from thalweg_scheduling.place.proposing import proposed
from thalweg_scheduling.place.small import place_few
from thalweg_scheduling.strategies.even import place_evenly
from thalweg_scheduling.strategies.resource_aware import place_resource_aware

OTHERS: dict[str, Placer] = {"Even": place_evenly, "ResourceAware": place_resource_aware}
OTHERS_UP_TO_TASKS = 200
"""Beyond, they take longer than our own search and have never won."""
STAYING = "staying put"
OWN = "our own search"
PROVEN = "our own search, proven best"


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One placement that Auto compared, and what it is worth."""

    name: str
    node: Ints
    homeless: int
    value: float
    """J + move cost."""


def place_auto(snapshot: Snapshot, *, movable: Bools, rng: np.random.Generator) -> Proposal:
    """The best candidate; the earlier one where two are worth the same."""
    problem = problem_of(snapshot, movable)
    candidates = portfolio(problem, rng)
    best = min(candidates, key=lambda each: (each.homeless, each.value))
    notes = tuple(f"{each.name}: J {each.value:.6g}" for each in candidates)
    return proposed(snapshot, best.node, (f"taken: {best.name}", *notes))


def portfolio(problem: Problem, rng: np.random.Generator) -> list[Candidate]:
    """All candidates that overload nothing, staying put first."""
    snapshot, movable = problem.snapshot, problem.movable
    found = []
    if np.any(snapshot.placement != UNPLACED):
        found.append((STAYING, np.array(snapshot.placement)))
    own = place_few(problem, rng)
    if own is not None:
        found.append((PROVEN if own.proven else OWN, own.node))
    else:
        found += [(OWN, node) for node in place_large(problem, rng)]
    if len(movable) <= OTHERS_UP_TO_TASKS:
        found += [
            (name, place(snapshot, movable=movable, rng=rng).node) for name, place in OTHERS.items()
        ]
    feasible = [_candidate(problem, *each) for each in found if problem.is_feasible(each[1])]
    if feasible:
        return feasible
    first_fit, _ = place_greedily(problem, largest_first(problem))
    return [_candidate(problem, "first fit", first_fit)]


def _candidate(problem: Problem, name: str, node: Ints) -> Candidate:
    homeless, value = problem.score(node)
    return Candidate(name=name, node=node, homeless=homeless, value=value)
