"""Ns-Stream's Algorithm 1: a graph network that learns to divide the very graph it is given.

GAP (Nazi et al. 2019): two graph encoders, three linear layers and a softmax give each task a
probability for each part. The loss (Eq 12) is the normalised cut plus how far the parts are from
the size that they should have. Nothing is trained beforehand: weights are drawn from the seed.

The paper's loss multiplies two matrices of all task pairs. Written out, its cut is
m - Σ_p (Yᵀ E Y)_pp / Γ_p with Γ = Yᵀ d, which takes one product with E and is what is done here.

Where the paper errs or is silent:

- Eq 12 balances numbers of tasks; here parts get their share of what tasks weigh, by capacity;
- d (the paper's X) is what each task exchanges, not with how many: then the cut is normalised;
- features are drawn at random, the paper names none; Adam takes the steps;
- where everybody talks with everybody, the loss is least if all are undecided; so being undecided
  costs something, more so from step to step;
- balance counts as much as the cut: as printed, the square of a thousand tasks drowns it;
- who may not move has a certain part, and draws its partners there.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import scipy  # Its parts are loaded when they are first used, which takes a while.

from thalweg_scheduling.model.arrays import Floats, Ints, frozen_floats, frozen_ints
from thalweg_scheduling.model.snapshot import UNPLACED
from thalweg_scheduling.partition.dependencies import Dependencies

Matrix: TypeAlias = "scipy.sparse.csr_array | Floats"

LINEAR_LAYERS = 3
AFFORDABLE = 1_200_000_000
"""Multiplications with entries of E that a whole training may take."""
DECISIVENESS = 0.5
"""How much it counts for each part, in the end, that tasks are certain; a whole cut counts 1."""
PATIENCE = 40
"""After so many steps that bring nothing it is over."""
DENSE_FROM = 0.08
"""From this share of all pairs on, a full matrix is faster than a sparse one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The network's size and how it learns."""

    encoders: int = 2
    hidden: int = 64
    steps: int = 200
    rate: float = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """What the parts should be like."""

    capacity: Floats
    """Shape (parts,): how much each can hold, in any unit."""
    certain: Ints
    """Shape (tasks,): the part of tasks that may not move, else UNPLACED."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", frozen_floats(self.capacity))
        object.__setattr__(self, "certain", frozen_ints(self.certain))


DEFAULT = Training()


def part_probabilities(
    graph: Dependencies, parts: Parts, rng: np.random.Generator, training: Training = DEFAULT
) -> Floats:
    """Shape (tasks, parts): Y of the best step."""
    count = len(parts.capacity)
    if graph.tasks == 0 or count <= 1:
        return np.ones((graph.tasks, count))
    loss = PartLoss(graph, parts)
    network = _Network(graph, count, rng, training)
    steps = min(training.steps, affordable_steps(graph, count, training.hidden))
    decisiveness = DECISIVENESS * count
    least, best, since = np.inf, np.zeros((graph.tasks, count)), 0
    for step in range(1, steps + 1):
        likely = loss.settled(network.forward())
        value, slope = loss.of(likely)
        since += 1
        final = value + decisiveness * undecided(likely)
        if final < least - 1e-4:
            least, best, since = final, likely, 0
        if since > PATIENCE:
            break
        slope -= 2 * decisiveness * min(1.0, 4 * step / steps) * likely / graph.tasks
        network.learn(likely * (slope - (slope * likely).sum(axis=1, keepdims=True)), step)
    return best


def undecided(likely: Floats) -> float:
    """0 where every task is certain of its part, near 1 where all parts are as likely."""
    return 1 - float((likely * likely).sum()) / len(likely)


def affordable_steps(graph: Dependencies, parts: int, hidden: int) -> int:
    """As many steps as take about a second: with a thousand tasks that all talk, some eighty."""
    entries = min(2.0 * len(graph.strength), DENSE_FROM * graph.tasks**2)
    return max(1, int(AFFORDABLE / (max(1.0, entries) * (2 * hidden + parts))))


class PartLoss:
    """Eq 12 and its slope."""

    def __init__(self, graph: Dependencies, parts: Parts) -> None:
        """Look at the graph once."""
        self._exchanged = _symmetric(graph)
        self._degree = np.asarray(self._exchanged.sum(axis=1)).ravel()
        total = float(graph.weight.sum())
        even = graph.weight if total > 0 else np.ones(graph.tasks)
        self._size = even * (graph.tasks / even.sum())
        share = np.maximum(parts.capacity, 0.0)
        share = share if share.sum() > 0 else np.ones(len(share))
        self._wanted = graph.tasks * share / share.sum()
        # Everything in one part counts about as much as everything cut.
        self._strictness = len(share) / graph.tasks**2
        self._certain = np.flatnonzero(parts.certain != UNPLACED)
        self._part = parts.certain[self._certain]

    def settled(self, likely: Floats) -> Floats:
        """The same where tasks that may not move are certain."""
        likely[self._certain] = 0.0
        likely[self._certain, self._part] = 1.0
        return likely

    def of(self, likely: Floats) -> tuple[float, Floats]:
        """The loss of these probabilities, and how it changes with each of them."""
        volume = np.maximum(self._degree @ likely, 1e-12)
        towards = np.asarray(self._exchanged @ likely)
        inside = (likely * towards).sum(axis=0)
        over = self._size @ likely - self._wanted
        value = len(volume) - float((inside / volume).sum()) + self._strictness * float(over @ over)
        slope = self._degree[:, None] * (inside / volume**2) - 2 * towards / volume
        slope += 2 * self._strictness * self._size[:, None] * over
        return value, slope


@dataclass(slots=True)
class _Adam:
    """One array of parameters and its two running means."""

    value: Floats
    mean: Floats = field(init=False)
    square: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.mean, self.square = np.zeros_like(self.value), np.zeros_like(self.value)

    def learn(self, slope: Floats, rate: float, step: int) -> None:
        self.mean += 0.1 * (slope - self.mean)
        self.square += 0.001 * (slope * slope - self.square)
        scale = rate * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
        self.value -= scale * self.mean / (np.sqrt(self.square) + 1e-8)


class _Network:
    """Encoders, linear layers and a softmax, with what a step back needs."""

    def __init__(
        self, graph: Dependencies, parts: int, rng: np.random.Generator, training: Training
    ) -> None:
        hidden = training.hidden
        self._rate = training.rate
        self._mixed = _mixing(_symmetric(graph))
        # The features never change, so neither does their first mixing.
        self._features = np.asarray(self._mixed @ rng.standard_normal((graph.tasks, hidden)))
        self._encoders = [_drawn(rng, hidden, hidden) for _ in range(training.encoders)]
        widths = [hidden] * LINEAR_LAYERS + [parts]
        self._linear = [_drawn(rng, a, b) for a, b in pairwise(widths)]
        self._bias = [_Adam(np.zeros((1, width))) for width in widths[1:]]
        self._mixings: list[Floats] = []
        self._encoded: list[Floats] = []
        self._inputs: list[Floats] = []

    def forward(self) -> Floats:
        """Steps 4 to 14: encode, feed through, softmax."""
        self._mixings, self._encoded, self._inputs = [self._features], [], []
        for encoder in self._encoders:
            if self._encoded:
                self._mixings.append(np.asarray(self._mixed @ self._encoded[-1]))
            self._encoded.append(np.maximum(self._mixings[-1] @ encoder.value, 0.0))
        fed = self._encoded[-1]
        for layer, bias in zip(self._linear, self._bias, strict=True):
            self._inputs.append(fed)
            fed = fed @ layer.value + bias.value
        grown = np.exp(fed - fed.max(axis=1, keepdims=True))
        likely: Floats = grown / grown.sum(axis=1, keepdims=True)
        return likely

    def learn(self, slope: Floats, step: int) -> None:
        """Step 15: carry the slope back through all layers, each of which takes a step."""
        for depth in range(LINEAR_LAYERS - 1, -1, -1):
            layer = self._linear[depth]
            before = slope @ layer.value.T
            layer.learn(self._inputs[depth].T @ slope, self._rate, step)
            self._bias[depth].learn(slope.sum(axis=0, keepdims=True), self._rate, step)
            slope = before
        for depth in range(len(self._encoders) - 1, -1, -1):
            encoder = self._encoders[depth]
            slope = slope * (self._encoded[depth] > 0)
            before = slope @ encoder.value.T
            encoder.learn(self._mixings[depth].T @ slope, self._rate, step)
            if depth:
                # The mixing is symmetric: there and back are the same.
                slope = np.asarray(self._mixed @ before)


def _drawn(rng: np.random.Generator, width: int, following: int) -> _Adam:
    """Glorot's spread: as large a signal behind a layer as before it."""
    return _Adam(rng.standard_normal((width, following)) * np.sqrt(2 / (width + following)))


def _symmetric(graph: Dependencies) -> Matrix:
    """Shape (tasks, tasks): what two tasks exchange, either way."""
    shape = (graph.tasks, graph.tasks)
    sent = scipy.sparse.csr_array((graph.strength, (graph.source, graph.target)), shape=shape)
    both = scipy.sparse.csr_array(sent + sent.T)
    dense: Floats = both.toarray()
    return dense if both.nnz >= DENSE_FROM * graph.tasks**2 else both


def _mixing(exchanged: Matrix) -> Matrix:
    """Half a task's own features, half its neighbours': (I + D^-½ E D^-½) / 2.

    With less of its own, tasks that all talk with the same others could not be told apart.
    """
    tasks = exchanged.shape[0]
    degree = np.asarray(exchanged.sum(axis=1)).ravel()
    scale = 1 / np.sqrt(np.where(degree > 0, degree, 1.0))
    if isinstance(exchanged, np.ndarray):
        dense: Floats = 0.5 * (np.eye(tasks) + scale[:, None] * exchanged * scale)
        return dense
    scaling = scipy.sparse.dia_array((scale[None, :], [0]), shape=(tasks, tasks))
    own = scipy.sparse.eye_array(tasks, format="csr")
    return scipy.sparse.csr_array(0.5 * (own + scaling @ exchanged @ scaling))
