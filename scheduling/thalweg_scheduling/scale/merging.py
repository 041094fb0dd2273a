"""As few nodes as the load needs: subgraphs that ask for little are merged, tasks of those that ask
for too much go elsewhere.

A subgraph should ask for a share of a node between two thresholds. Taken from the smallest on, one
that asks for less is merged with the fullest that still fits; where none does, it gets tasks from
the fullest that can spare them, or is dealt out if the others have room. One that asks for more
gives tasks away, those first that have least to do with the rest of it. The number of subgraphs
left is the number of nodes needed.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.place.neighbours import Neighbours

_ROUNDING = 1e-9

Fits = Callable[[Ints], bool]
"""Whether some node can take all of these tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Between which shares of a node a subgraph is left as it is."""

    under: float
    over: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Subgraphs:
    """What is to be regrouped."""

    of: Ints
    """Shape (tasks,): the subgraph of each task, from 0 to `most` − 1; some may be empty."""
    most: int
    load: Floats
    """Shape (tasks,): the share of a node that each task asks for."""
    movable: Bools
    """Shape (tasks,): which tasks may be taken out of their subgraph."""


def merged_and_relieved(
    subgraphs: Subgraphs, thresholds: Thresholds, near: Neighbours, fits: Fits
) -> Ints:
    """The subgraph of each task afterwards."""
    return _Regrouping(subgraphs, thresholds, near, fits).run()


class _Regrouping:
    """Subgraphs that are still looked at, and those that are done."""

    def __init__(
        self, subgraphs: Subgraphs, thresholds: Thresholds, near: Neighbours, fits: Fits
    ) -> None:
        self._of = np.array(subgraphs.of)
        self._task_load, self._movable = subgraphs.load, subgraphs.movable
        self._thresholds, self._near, self._fits = thresholds, near, fits
        self._load = np.bincount(self._of, subgraphs.load, minlength=subgraphs.most)
        sizes = np.bincount(self._of, minlength=subgraphs.most)
        self._waiting = [int(each) for each in np.flatnonzero(sizes)]
        self._spare = [int(each) for each in np.flatnonzero(sizes == 0)]
        self._done: list[int] = []

    def run(self) -> Ints:
        while self._waiting:
            smallest = min(self._waiting, key=lambda each: (self._load[each], each))
            self._waiting.remove(smallest)
            if self._load[smallest] < self._thresholds.under - _ROUNDING:
                self._enlarge(smallest)
            else:
                self._relieve(smallest)
                self._done.append(smallest)
        return self._of

    def _enlarge(self, target: int) -> None:
        partner = self._partner(target)
        if partner is None:
            if self._fill(target) or not self._dissolve(target):
                self._done.append(target)
            return
        members = self._members(partner)
        self._of[members] = target
        self._load[target] += self._load[partner]
        self._load[partner] = 0.0
        (self._waiting if partner in self._waiting else self._done).remove(partner)
        self._spare.append(partner)
        # Put back: it is looked at again, and merged again while there is little in it.
        self._waiting.append(target)

    def _partner(self, target: int) -> int | None:
        """The fullest that fits, of those that wait before those that are done."""
        for others in (self._waiting, self._done):
            for other in self._fullest_first(others, target):
                both = self._load[other] + self._load[target]
                if both > self._thresholds.over + _ROUNDING:
                    continue
                if self._fits(np.flatnonzero((self._of == other) | (self._of == target))):
                    return other
        return None

    def _fill(self, target: int) -> bool:
        """Take tasks from those that can spare them, if that makes the target full enough."""
        of, load = self._of.copy(), self._load.copy()
        while self._load[target] < self._thresholds.under - _ROUNDING:
            if not any(self._give(donor, target) for donor in self._others(target)):
                # Half of it would only tear apart what was together.
                self._of, self._load = of, load
                return False
        return True

    def _dissolve(self, target: int) -> bool:
        """Give all tasks to those that have room for one more, if all of them are taken."""
        of, load = self._of.copy(), self._load.copy()
        for task in self._members(target):
            others = self._others(target) if self._movable[task] else []
            if not any(self._hand_over(int(task), other) for other in others):
                self._of, self._load = of, load
                return False
        self._spare.append(target)
        return True

    def _others(self, target: int) -> list[int]:
        others = [each for each in (*self._waiting, *self._done) if each != target]
        return self._fullest_first(others, target)

    def _give(self, donor: int, target: int) -> bool:
        """Move the task that the donor will miss least, if both are the better for it."""
        for task in self._loosest_first(donor):
            load = self._task_load[task]
            if self._load[donor] - load < self._thresholds.under - _ROUNDING:
                continue
            if self._hand_over(task, target):
                return True
        return False

    def _relieve(self, target: int) -> None:
        """Give tasks away until there is no more than enough, or nobody takes any."""
        while self._load[target] > self._thresholds.over + _ROUNDING:
            if not any(self._give_away(target, task) for task in self._loosest_first(target)):
                return

    def _give_away(self, source: int, task: int) -> bool:
        if self._task_load[task] <= 0:
            return False
        if any(self._hand_over(task, other) for other in self._others(source)):
            return True
        if not self._spare or len(self._members(source)) < 2:
            return False
        fresh = min(self._spare)
        self._spare.remove(fresh)
        self._move(task, fresh)
        self._waiting.append(fresh)
        return True

    def _hand_over(self, task: int, target: int) -> bool:
        """Move the task if the target has room for it."""
        if self._load[target] + self._task_load[task] > self._thresholds.over + _ROUNDING:
            return False
        if not self._fits(np.append(self._members(target), task)):
            return False
        self._move(task, target)
        return True

    def _move(self, task: int, target: int) -> None:
        load = self._task_load[task]
        self._load[self._of[task]] -= load
        self._load[target] += load
        self._of[task] = target

    def _members(self, subgraph: int) -> Ints:
        return np.flatnonzero(self._of == subgraph)

    def _fullest_first(self, others: list[int], target: int) -> list[int]:
        """Of equally full ones, the one that exchanges most with the target."""
        talk = np.zeros(len(self._load))
        for task in self._members(target):
            there = self._of[self._near.of(int(task))]
            talk += np.bincount(there, self._near.exchanged(int(task)), minlength=len(talk))
        load = np.round(self._load, 9)
        return sorted(others, key=lambda each: (-load[each], -talk[each], each))

    def _loosest_first(self, subgraph: int) -> list[int]:
        """The tasks that may be taken out, by what they exchange with the others of it."""
        inside = {}
        for task in self._members(subgraph):
            if self._movable[task]:
                same = self._of[self._near.of(int(task))] == subgraph
                inside[int(task)] = float(self._near.exchanged(int(task))[same].sum())
        return sorted(inside, key=lambda task: (inside[task], task))
