"""The best placement of a small topology, found and proven by branch and bound.

Tasks that can stand in for each other are one class, of which only the numbers on each node matter:
they are put down in the order of the nodes. Nodes that can stand in for each other are opened in
order. What is left is searched depth first; a branch is left as soon as what is placed, plus the
least that the rest must cost, is no better than the best known.

The least that the rest must cost: each class spread over the nodes where it is cheapest beside what
is placed, as far as they have room; and for two classes that are both still to come, each task of
the one with as many of the other as could possibly be near it.

The search is given a number of steps, not a time, so that it ends at the same point everywhere.
"""

from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Ints
from thalweg_scheduling.place.dense import Dense
from thalweg_scheduling.place.kin import Branch, Kin, kin_of, least_between, rooms_for
from thalweg_scheduling.place.problem import Problem

_SLACK = 1e-9
"""A branch must promise more than this share to be entered; less is rounding."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What the search came to."""

    node: Ints | None
    """Something better than what was known, if there is."""
    proven: bool
    """Whether nothing is better still."""


def prove(problem: Problem, dense: Dense, known: float, steps: int) -> Verdict:
    """Look for a placement that is worth less than `known`; `steps` bounds the work."""
    if steps == 0 or problem.spread.binds or dense.ghost.any():
        return Verdict(node=None, proven=False)
    kin = kin_of(problem, dense)
    search = _Search(kin, known, steps)
    search.descend(0, kin.begun)
    node = None
    if search.best is not None:
        node = np.array(problem.snapshot.placement)
        node[kin.tasks] = search.best
    return Verdict(node=node, proven=search.steps_left >= 0)


class _Search:
    """The tree, walked depth first."""

    def __init__(self, kin: Kin, known: float, steps: int) -> None:
        self._kin = kin
        self._site = np.zeros(len(kin.tasks), dtype=np.int64)
        # What the classes from each one on must cost among themselves.
        among = least_between(kin)
        classes = len(kin.sizes)
        self._rest = [float(among[own + 1 :, own + 1 :].sum()) for own in range(classes)]
        self.best: Ints | None = None
        self._limit = known
        self.steps_left = steps

    def descend(self, depth: int, branch: Branch) -> None:
        """Place the task at this depth in every way that may still be better."""
        if depth == len(self._site):
            if branch.value < self._limit * (1 - _SLACK):
                self._limit, self.best = branch.value, self._site.copy()
            return
        own = int(self._kin.class_of[depth])
        for node in self._candidates(own, branch):
            self.steps_left -= 1
            if self.steps_left < 0:
                return
            self._site[depth] = node
            further = self._placed(own, node, branch)
            least = further.value + self._least(own, further) + self._rest[own]
            if least < self._limit * (1 - _SLACK):
                self.descend(depth + 1, further)

    def _candidates(self, own: int, branch: Branch) -> list[int]:
        """Nodes with room, the cheapest first; of those that are alike and empty, the first."""
        kin = self._kin
        demand = kin.demand[own]
        room = ((demand <= branch.free) | (demand == 0)).all(axis=1)
        seen: set[int] = set()
        chosen = []
        for node in np.flatnonzero(room & kin.allowed[own]).tolist():
            if node < branch.floor:
                continue
            if branch.held[node] == 0:
                if int(kin.twin[node]) in seen:
                    continue
                seen.add(int(kin.twin[node]))
            chosen.append(node)
        return sorted(chosen, key=lambda node: (float(branch.costs[own, node]), node))

    def _placed(self, own: int, node: int, branch: Branch) -> Branch:
        """The branch with one more task."""
        kin = self._kin
        there, back = kin.seconds[node], kin.seconds[:, node]
        costs = branch.costs + np.outer(kin.rate[own], there) + np.outer(kin.rate[:, own], back)
        free, held, left = branch.free.copy(), branch.held.copy(), branch.left.copy()
        free[node] -= kin.demand[own]
        held[node] += 1
        left[own] -= 1
        return Branch(
            value=branch.value + float(branch.costs[own, node]),
            costs=costs,
            free=free,
            held=held,
            left=left,
            floor=node if left[own] else 0,
        )

    def _least(self, own: int, branch: Branch) -> float:
        """What the tasks to come cost beside the placed ones, each class where it is cheapest."""
        kin = self._kin
        coming = np.flatnonzero(branch.left)
        if coming.size == 0:
            return 0.0
        room = np.where(kin.allowed[coming], rooms_for(branch.free, kin.demand[coming]), 0.0)
        if branch.left[own]:
            room[coming == own, : branch.floor] = 0.0
        costs = branch.costs[coming]
        order = np.argsort(costs, axis=1, kind="stable")
        room = np.take_along_axis(room, order, axis=1)
        wanted = branch.left[coming][:, None]
        taken = np.clip(wanted - (np.cumsum(room, axis=1) - room), 0.0, room)
        if np.any(taken.sum(axis=1) < wanted[:, 0]):
            return float("inf")
        return float(np.sum(taken * np.take_along_axis(costs, order, axis=1)))
