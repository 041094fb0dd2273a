"""Blocks under change, with what each move between two of them would gain at hand."""

import numpy as np
import scipy  # Its parts are loaded when they are first used, which takes a while.

from thalweg_scheduling.model.arrays import Bools, Floats, Ints
from thalweg_scheduling.partition.dependencies import Dependencies


class Division:
    """A division into ordered blocks such that nobody sends to an earlier block.

    A pair of blocks is named (low, high); a task of either can only move to the other.
    """

    def __init__(self, graph: Dependencies, block: Ints, blocks: int, most: float) -> None:
        """Count who exchanges how much with which block; `most` is what a block may weigh."""
        self.block = np.array(block)
        self.load = np.bincount(block, weights=graph.weight, minlength=blocks)
        self._members = np.bincount(block, minlength=blocks)
        self.least_gain = 1e-12 * max(float(graph.strength.sum()), 1e-300)
        """Less is a rounding error."""
        self._weight, self._most = graph.weight, most * (1 + 1e-9)
        shape = (graph.tasks, graph.tasks)
        # Ones are kept beside strengths: an edge of strength 0 orders blocks too.
        self._sent_to = scipy.sparse.csr_array(
            (graph.strength, (graph.source, graph.target)), shape
        )
        self._got_from = scipy.sparse.csr_array(
            (graph.strength, (graph.target, graph.source)), shape
        )
        self._out = np.zeros((graph.tasks, blocks))
        self._in = np.zeros((graph.tasks, blocks))
        self._sends = np.zeros((graph.tasks, blocks), dtype=np.int64)
        self._gets = np.zeros((graph.tasks, blocks), dtype=np.int64)
        np.add.at(self._out, (graph.source, block[graph.target]), graph.strength)
        np.add.at(self._in, (graph.target, block[graph.source]), graph.strength)
        np.add.at(self._sends, (graph.source, block[graph.target]), 1)
        np.add.at(self._gets, (graph.target, block[graph.source]), 1)

    def may_move(self, task: int, pair: tuple[int, int]) -> bool:
        """AcyclicCheck: whether nobody would send to an earlier block."""
        low, high = pair
        if self.block[task] == low:
            return not self._sends[task, :high].any()
        return not self._gets[task, low + 1 :].any()

    def candidates(self, pair: tuple[int, int]) -> Ints:
        """The tasks of both blocks that pass AcyclicCheck, in order."""
        low, high = pair
        lower, upper = np.flatnonzero(self.block == low), np.flatnonzero(self.block == high)
        lower = lower[~self._sends[lower, :high].any(axis=1)]
        upper = upper[~self._gets[upper, low + 1 :].any(axis=1)]
        return np.concatenate([lower, upper])

    def gain(self, task: int, pair: tuple[int, int]) -> float:
        """Eq 15: by how much less would flow between blocks."""
        low, high = pair
        forward = float(self._out[task, high] - self._in[task, low])
        return forward if self.block[task] == low else -forward

    def fits(self, task: int, pair: tuple[int, int]) -> bool:
        """Whether the other block stays within what it may weigh, and this one keeps a task."""
        here = self.block[task]
        there = pair[1] if here == pair[0] else pair[0]
        enough = self.load[there] + self._weight[task] <= self._most
        return bool(enough and self._members[here] > 1)

    def improves(self, task: int, gain: float, pair: tuple[int, int]) -> bool:
        """Line 17: it gains, or costs nothing and makes the heavier block lighter."""
        if abs(gain) > self.least_gain:
            return gain > 0
        here = self.block[task]
        there = pair[1] if here == pair[0] else pair[0]
        return bool(self.load[there] + self._weight[task] < self.load[here] * (1 - 1e-9))

    def heavier(self, pair: tuple[int, int]) -> float:
        """What the heavier of the two weighs."""
        return float(self.load[list(pair)].max())

    def move(self, task: int, pair: tuple[int, int], enabled: Bools) -> list[int]:
        """Move the task over, lock it and its neighbours there; whom that may have enabled."""
        low, high = pair
        here = int(self.block[task])
        there = high if here == low else low
        receivers, sent = self._row(self._sent_to, task)
        senders, got = self._row(self._got_from, task)
        self.block[task] = there
        self.load[here] -= self._weight[task]
        self.load[there] += self._weight[task]
        self._members[here] -= 1
        self._members[there] += 1
        self._out[senders, here] -= got
        self._out[senders, there] += got
        self._sends[senders, here] -= 1
        self._sends[senders, there] += 1
        self._in[receivers, here] -= sent
        self._in[receivers, there] += sent
        self._gets[receivers, here] -= 1
        self._gets[receivers, there] += 1
        onward, behind = (receivers, senders) if here == low else (senders, receivers)
        enabled[task] = False
        enabled[onward[self.block[onward] == there]] = False
        left = behind[self.block[behind] == here]
        return [int(each) for each in left if self.may_move(int(each), pair)]

    def pairs(self, *, losing: bool) -> Ints:
        """Shape (pairs, 2): the pairs of blocks between which a task could move with profit.

        With `losing`, those that exchange anything and between which a task could move at all.
        """
        tasks, blocks = self._out.shape
        rows, column = np.arange(tasks), np.arange(blocks)[None, :]
        here = self.block[:, None]
        forward, backward = column > here, column < here
        may = np.where(forward, column <= self._first(self._sends, blocks)[:, None], backward)
        may &= np.where(backward, column >= self._last(self._gets)[:, None], forward)
        may &= self.load[None, :] + self._weight[:, None] <= self._most
        may &= self._members[here] > 1
        into = self._in[rows, self.block][:, None]
        out = self._out[rows, self.block][:, None]
        gain = np.where(forward, self._out - into, self._in - out)
        evens = self.load[None, :] + self._weight[:, None] < self.load[here] * (1 - 1e-9)
        profit = (gain > self.least_gain) | ((np.abs(gain) <= self.least_gain) & evens)
        if losing:
            profit |= self._exchanging()[self.block]
        task, other = np.nonzero(may & profit)
        own = self.block[task]
        found = np.stack([np.minimum(own, other), np.maximum(own, other)], axis=1)
        return np.unique(found, axis=0)

    def _exchanging(self) -> Bools:
        """Shape (blocks, blocks): which blocks have anything to do with each other."""
        between = np.zeros((self._out.shape[1], self._out.shape[1]))
        np.add.at(between, self.block, self._sends + self._gets)
        exchanging: Bools = between > 0
        return exchanging

    @staticmethod
    def _row(matrix: "scipy.sparse.csr_array", task: int) -> tuple[Ints, Floats]:
        own = slice(matrix.indptr[task], matrix.indptr[task + 1])
        return matrix.indices[own], matrix.data[own]

    @staticmethod
    def _first(counts: Ints, blocks: int) -> Ints:
        some = counts > 0
        return np.where(some.any(axis=1), some.argmax(axis=1), blocks - 1)

    @staticmethod
    def _last(counts: Ints) -> Ints:
        some = counts > 0
        return np.where(some.any(axis=1), some.shape[1] - 1 - some[:, ::-1].argmax(axis=1), 0)
