"""CAPS (EuroSys 2025), re-implemented from its description: a search under load thresholds.

Workers are alike and have slots. No worker may exceed L + α(U - L) in compute, state or network,
where L is the mean load (0 for network) and U the sum of the largest task costs that fill a worker.
Vertices are placed in order of compute cost; for each, all ways to spread its tasks over workers
are tried, workers in the same state counting as one, and a way is left as soon as a worker exceeds
a threshold. α is tuned: the least that succeeds in each dimension while the others are at a
ceiling, then all of them larger by a fifth until there is a plan.

Where the description leaves the order open we try even spreads first, which finds plans sooner.
Each search is repeated up to 15 times, as its authors do, the order drawn by lot after the first
time; a search that finds a plan is not repeated. With one repeat it is faster than described.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from bench.catalog import Query
from thalweg_scheduling.model.arrays import Bools, Floats, Ints

COMPUTE, STATE, NETWORK = range(3)
CEILINGS = (0.07, 0.07, 0.5)
GRAIN = 0.01
PROBE_S = 0.5
"""Of CPU, so that a busy machine gives no search less."""
REPEATS = 15
JITTER = 1.5
"""By how many tasks the order of a repeated search differs from that of the first."""
GROWTH = 1.2


@dataclass(frozen=True, kw_only=True)
class Workers:
    """A query on equal workers."""

    query: Query
    count: int
    slots: int

    @cached_property
    def tasks(self) -> Ints:
        """Shape (vertices,)."""
        return np.array([stage.tasks for stage in self.query.stages])

    @cached_property
    def cost(self) -> Floats:
        """Shape (vertices, 3): what one task costs in each dimension."""
        rows = [
            (stage.cpu_milli, stage.state_bytes_per_s, stage.sends_per_s)
            for stage in self.query.stages
        ]
        return np.array(rows, dtype=np.float64)

    @cached_property
    def lowest(self) -> Floats:
        """Shape (3,): L."""
        mean = (self.tasks[:, None] * self.cost).sum(axis=0) / self.count
        mean[NETWORK] = 0.0
        return np.asarray(mean)

    @cached_property
    def highest(self) -> Floats:
        """Shape (3,): U."""
        every = np.sort(np.repeat(self.cost, self.tasks, axis=0), axis=0)
        return np.asarray(every[-self.slots :].sum(axis=0))

    def thresholds(self, alpha: Floats) -> Floats:
        """Shape (3,): what no worker may exceed."""
        return self.lowest + alpha * (self.highest - self.lowest)


def loads(workers: Workers, counts: Ints) -> Floats:
    """Shape (workers, 3) of counts of shape (vertices, workers)."""
    found: Floats = counts.T @ workers.cost
    found[:, NETWORK] = 0.0
    for a, b in workers.query.edges:
        away = 1 - counts[b] / workers.tasks[b]
        found[:, NETWORK] += workers.cost[a, NETWORK] * counts[a] * away
    return found


def bottleneck(workers: Workers, counts: Ints) -> Floats:
    """Shape (3,): the most loaded worker in each dimension."""
    return np.asarray(loads(workers, counts).max(axis=0))


class Search:
    """One depth-first search under given thresholds."""

    def __init__(
        self, workers: Workers, alpha: Floats, limit_s: float, rng: np.random.Generator | None
    ) -> None:
        self._workers = workers
        self._rng = rng
        # The last digit of a sum must not decide.
        self._most = workers.thresholds(alpha) * (1 + 1e-9) + 1e-9
        self._deadline_s = time.process_time() + limit_s
        compute = workers.cost[:, COMPUTE]
        self._order = sorted(range(len(compute)), key=lambda vertex: -compute[vertex])
        self._counts = np.zeros((len(compute), workers.count), dtype=np.int64)
        self._load = np.zeros((workers.count, 3))
        self._left = np.full(workers.count, workers.slots)

    def first(self) -> Ints | None:
        """The first plan, or nothing if there is none or the time is over."""
        return self._counts.copy() if self._place(0) else None

    def _place(self, depth: int) -> bool:
        if depth == len(self._order):
            return True
        vertex = self._order[depth]
        before = self._load.copy(), self._left.copy()
        for spread in self._spreads(depth, vertex):
            self._counts[vertex] = spread
            self._left = before[1] - spread
            self._load = before[0] + self._added(depth, vertex, spread)
            if self._place(depth + 1):
                return True
        self._counts[vertex] = 0
        self._load, self._left = before
        return False

    def _added(self, depth: int, vertex: int, spread: Ints) -> Floats:
        """Shape (workers, 3): what a spread of the vertex adds to each worker."""
        added = spread[:, None] * self._workers.cost[vertex]
        added[:, NETWORK] = 0.0
        placed = self._order[:depth]
        for a, b in self._workers.query.edges:
            if vertex in (a, b) and (a in placed or b in placed):
                sender = spread if vertex == a else self._counts[a]
                receiver = spread if vertex == b else self._counts[b]
                away = 1 - receiver / self._workers.tasks[b]
                added[:, NETWORK] += self._workers.cost[a, NETWORK] * sender * away
        return np.asarray(added)

    def _spreads(self, depth: int, vertex: int) -> Iterator[Ints]:
        """Ways to spread the vertex's tasks over workers, by the numbers that each may get."""
        tasks = int(self._workers.tasks[vertex])
        fits = self._fits(depth, vertex, tasks)
        state_of, states = self._states()
        members = [np.flatnonzero(state_of == state) for state in range(states)]
        allowed = [np.flatnonzero(fits[:, group[0]]).tolist() for group in members]
        if all(allowed):
            yield from _Dealing(members, allowed, self._rng).deal(tasks, self._deadline_s)

    def _fits(self, depth: int, vertex: int, tasks: int) -> Bools:
        """Shape (counts, workers): whether so many tasks keep the worker under all thresholds."""
        most = min(tasks, self._workers.slots)
        fits = np.zeros((most + 1, self._workers.count), dtype=np.bool_)
        for count in range(most + 1):
            spread = np.full(self._workers.count, count)
            load = self._load + self._added(depth, vertex, spread)
            fits[count] = (load <= self._most).all(axis=1) & (count <= self._left)
        return fits

    def _states(self) -> tuple[Ints, int]:
        """Workers that hold the same tasks are in the same state."""
        _, state_of = np.unique(self._counts.T, axis=0, return_inverse=True)
        state_of = np.asarray(state_of).reshape(-1)
        return state_of, int(state_of.max()) + 1


class _Dealing:
    """Deals tasks worker by worker; within a state counts never fall, so none is tried twice."""

    def __init__(
        self, members: list[Ints], allowed: list[list[int]], rng: np.random.Generator | None
    ) -> None:
        self._rng = rng
        self._state = [state for state, group in enumerate(members) for _ in group]
        self._worker = np.concatenate(members)
        self._allowed = allowed
        self._peers_after = [len(group) - 1 - n for group in members for n in range(len(group))]
        most = [allowed[state][-1] for state in self._state]
        least = [allowed[state][0] for state in self._state]
        self._most_after: list[int] = [*np.cumsum(most[::-1])[::-1].tolist(), 0]
        self._least_after: list[int] = [*np.cumsum(least[::-1])[::-1].tolist(), 0]

    def deal(self, tasks: int, deadline_s: float) -> Iterator[Ints]:
        """All ways, one at a time, until the time is over."""
        dealt = np.zeros(len(self._state), dtype=np.int64)
        left = [tasks]
        choices = [self._choices(0, tasks, 0)]
        while choices and time.process_time() < deadline_s:
            count = next(choices[-1], None)
            if count is None:
                choices.pop()
                left.pop()
                continue
            position = len(choices) - 1
            dealt[position] = count
            if position + 1 == len(dealt):
                yield self._by_worker(dealt)
                continue
            same = self._state[position + 1] == self._state[position]
            left.append(left[-1] - count)
            choices.append(self._choices(position + 1, left[-1], count if same else 0))

    def _choices(self, position: int, left: int, least: int) -> Iterator[int]:
        """Counts for one worker with which the rest can still be dealt, the fair share first."""
        fair = left / (len(self._state) - position)
        if self._rng is not None:
            fair += JITTER * float(self._rng.uniform(-1, 1))
        fitting = [
            count
            for count in self._allowed[self._state[position]]
            if count >= least and self._can_follow(position, left - count, count)
        ]
        return iter(sorted(fitting, key=lambda count: abs(count - fair)))

    def _can_follow(self, position: int, left: int, count: int) -> bool:
        peers = self._peers_after[position]
        others = position + 1 + peers
        return peers * count + self._least_after[others] <= left <= self._most_after[position + 1]

    def _by_worker(self, dealt: Ints) -> Ints:
        spread = np.empty_like(dealt)
        spread[self._worker] = dealt
        return spread


def tuned(workers: Workers, repeats: int = REPEATS) -> tuple[Ints, Floats]:
    """A plan by auto-tuned thresholds, and the α that it took."""
    tuning = _Tuning(workers, repeats)
    ceiling = np.array(CEILINGS)
    while tuning.plan(ceiling) is None:
        ceiling = ceiling * GROWTH
    alpha = np.array([tuning.least(ceiling, dimension) for dimension in range(3)])
    plan = tuning.plan(alpha)
    while plan is None:
        alpha = np.maximum(alpha, GRAIN) * GROWTH
        plan = tuning.plan(alpha)
    return plan, alpha


class _Tuning:
    """Searches under one threshold after the other, each a number of times."""

    def __init__(self, workers: Workers, repeats: int) -> None:
        self._workers = workers
        self._orders = [None, *(np.random.default_rng(seed) for seed in range(1, repeats))]

    def plan(self, alpha: Floats) -> Ints | None:
        """The first plan that any repeat finds in time."""
        for order in self._orders:
            found = Search(self._workers, alpha, PROBE_S, order).first()
            if found is not None:
                return found
        return None

    def least(self, ceiling: Floats, dimension: int) -> float:
        """The least α of one dimension with which a plan is found in time, to a hundredth."""
        low, high = 0.0, float(ceiling[dimension])
        while high - low > GRAIN:
            middle = (low + high) / 2
            alpha = ceiling.copy()
            alpha[dimension] = middle
            if self.plan(alpha) is None:
                low = middle
            else:
                high = middle
        return high
