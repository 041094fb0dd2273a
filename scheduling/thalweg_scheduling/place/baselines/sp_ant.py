"""SP-Ant-like: tasks that talk most are packed together, ants look for places for the others.

After the description of SP-Ant (Expert Systems with Applications 191, 2022) in the papers that
compare with it: a bin packing of the pairs with much traffic, then an ant colony for the tasks
with little. An ant puts the tasks down in turn; a node attracts it by the trail that earlier ants
left and by the traffic with what is there already. Only traffic counts, wherever there is room.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.model.snapshot import UNPLACED, Snapshot
from thalweg_scheduling.place.dealing import deal
from thalweg_scheduling.place.neighbours import Neighbours
from thalweg_scheduling.place.problem import Problem, problem_of
from thalweg_scheduling.place.proposal import Proposal
from thalweg_scheduling.place.room import Room

ANTS = 6
ROUNDS = 6
EVAPORATION = 0.3
MUCH = 0.5
"""Tasks with at least this share of the busiest task's traffic are packed, not left to ants."""


def place_like_sp_ant(snapshot: Snapshot, *, movable: Bools, rng: np.random.Generator) -> Proposal:
    """Pack, then let the ants walk; the best walk counts."""
    problem = problem_of(snapshot, movable)
    colony = _Colony(problem, rng)
    best = colony.walk()
    for _ in range(ROUNDS if colony.walkers else 0):
        leader = min((colony.walk() for _ in range(ANTS)), key=lambda walk: _worth(problem, walk))
        if _worth(problem, leader) < _worth(problem, best):
            best = leader
        colony.mark(best.node)
    return best


class _Colony:
    """The trails of earlier ants, and who goes where by them."""

    def __init__(self, problem: Problem, rng: np.random.Generator) -> None:
        tasks = len(problem.movable)
        talk = np.bincount(problem.rates.source, problem.rates.per_s, tasks)
        talk += np.bincount(problem.rates.target, problem.rates.per_s, tasks)
        self._problem, self._rng = problem, rng
        self._near = Neighbours(problem)
        self._order = _pair_by_pair(problem)
        self.walkers = set(np.flatnonzero(talk < MUCH * talk.max(initial=0.0)).tolist())
        self._trail = np.ones((tasks, len(problem.snapshot.nodes)))

    def walk(self) -> Proposal:
        """Put all tasks down, those of the busiest pairs first."""
        return deal(self._problem.snapshot, self._problem.movable, self._order, self._choose)

    def mark(self, node: Ints) -> None:
        """Let all trails fade and make that of a placement stronger."""
        self._trail *= 1 - EVAPORATION
        placed = np.flatnonzero(node != UNPLACED)
        self._trail[placed, node[placed]] += 1.0

    def _choose(self, task: int, fitting: Ints, node: Ints, room: Room) -> int:
        pull = self._pull(task, node)[fitting]
        if task not in self.walkers:
            # The fullest of equals, as a packing does.
            return int(np.lexsort((fitting, -room.tasks_on[fitting], -pull))[0])
        chance = self._trail[task, fitting] * (0.1 + pull)
        return int(self._rng.choice(len(fitting), p=chance / chance.sum()))

    def _pull(self, task: int, node: Ints) -> Floats:
        """Shape (nodes,): the share of the task's traffic that would stay on each node."""
        there, per_s = node[self._near.of(task)], self._near.exchanged(task)
        known = there != UNPLACED
        stays = np.bincount(there[known], per_s[known], minlength=self._trail.shape[1])
        shares: Floats = stays / max(float(per_s.sum()), 1e-300)
        return shares


def _pair_by_pair(problem: Problem) -> list[int]:
    """The tasks, those of the busiest pairs first, and each beside its partner."""
    rates = problem.rates
    busiest = np.lexsort((rates.target, rates.source, -rates.per_s))
    ends = np.stack([rates.source[busiest], rates.target[busiest]], axis=1).ravel()
    return list(dict.fromkeys([*ends.tolist(), *range(len(problem.movable))]))


def _worth(problem: Problem, walk: Proposal) -> tuple[int, float]:
    """Fewer without a node first, then the least J."""
    return len(walk.missing), problem.score(walk.node)[1]
