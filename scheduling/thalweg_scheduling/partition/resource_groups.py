"""Hd-Stream's virtual resource nodes: nodes that are equally far from everybody, as groups.

K-means over the rows of X, what each node is away from every other; as many groups as the elbow of
the squared errors says. The groups then get an order: the one with most to give first, and after
each the nearest that is left.

Where the paper errs or is silent:

- the elbow is where the curve, from one group on, is furthest below the straight line between its
  ends; a curve without one (all nodes equally far apart) makes one group;
- a start is drawn as k-means++ does, and the best of several is kept: the paper draws one at random
  and hopes;
- of many nodes, so many groups are enough as `most` says.
"""

import numpy as np

from thalweg_scheduling.model.arrays import Floats, Ints

STARTS = 4
ITERATIONS = 50
LEAST_BEND = 0.1
"""An elbow bends the curve by at least this share of its height."""


def grouped_nodes(far_s: Floats, most: int, rng: np.random.Generator) -> Ints:
    """Shape (nodes,): the group of each node, numbered by its first node."""
    nodes = len(far_s)
    largest = float(far_s.max(initial=0.0))
    rows = far_s / largest if largest > 0 else far_s
    found = [np.zeros(nodes, dtype=np.int64)]
    found += [clustered(rows, k, rng) for k in range(2, min(nodes - 1, most) + 1)]
    errors = [squared_error(rows, group) for group in found]
    return _by_first_node(found[elbow(errors)])


def clustered(rows: Floats, k: int, rng: np.random.Generator) -> Ints:
    """K-means: the cluster of each row, the best of some starts (Eq 2)."""
    tries = [_from_one_start(rows, k, rng) for _ in range(STARTS)]
    return min(tries, key=lambda group: squared_error(rows, group))


def squared_error(rows: Floats, group: Ints) -> float:
    """How far rows are from the centres of their clusters (Eq 3)."""
    centres = _centres(rows, group, int(group.max(initial=0)) + 1)
    return float(((rows - centres[group]) ** 2).sum())


def elbow(errors: list[float]) -> int:
    """The place in a falling curve behind which it hardly falls; 0 where there is none.

    >>> elbow([10.0, 5.0, 0.5, 0.4, 0.3])
    2
    >>> elbow([4.0, 3.0, 2.0, 1.0])
    0
    """
    if len(errors) < 2 or errors[0] <= 0:
        return 0
    curve = np.array(errors) / errors[0]
    line = np.linspace(1.0, curve[-1], len(curve))
    if len(curve) == 2:
        # With two points the line is the curve; nothing left of the error is an elbow all the same.
        line[-1] = 1.0
    bend = line - curve
    place = int(np.argmax(bend))
    return place if bend[place] >= LEAST_BEND else 0


def group_sequence(far_s: Floats, group: Ints, wealth: Floats) -> list[int]:
    """Algorithm 1, lines 10 to 22: the wealthiest group, then always the nearest that is left."""
    if group.size == 0:
        return []
    count = int(group.max()) + 1
    member = np.zeros((len(group), count))
    member[np.arange(len(group)), group] = 1.0
    size = member.sum(axis=0)
    between = member.T @ far_s @ member / np.outer(size, size)
    between = (between + between.T) / 2
    sequence = [int(np.argmax(np.bincount(group, wealth, count)))]
    while len(sequence) < count:
        left = [each for each in range(count) if each not in sequence]
        sequence.append(min(left, key=lambda each: (between[sequence[-1], each], each)))
    return sequence


def _from_one_start(rows: Floats, k: int, rng: np.random.Generator) -> Ints:
    centres = _first_centres(rows, k, rng)
    group = np.full(len(rows), -1, dtype=np.int64)
    for _ in range(ITERATIONS):
        nearest = np.argmin(_squares(rows, centres), axis=1)
        if np.array_equal(nearest, group):
            break
        group = nearest
        kept = np.bincount(group, minlength=len(centres)) > 0
        centres = np.where(kept[:, None], _centres(rows, group, len(centres)), centres)
    return group


def _first_centres(rows: Floats, k: int, rng: np.random.Generator) -> Floats:
    """Rows, each the likelier to be drawn the further it is from those that were."""
    chosen = [int(rng.integers(len(rows)))]
    while len(chosen) < k:
        away = _squares(rows, rows[chosen]).min(axis=1)
        total = float(away.sum())
        if total <= 0:
            break
        chosen.append(int(rng.choice(len(rows), p=away / total)))
    first: Floats = rows[chosen]
    return first


def _squares(rows: Floats, centres: Floats) -> Floats:
    """Shape (rows, centres): squared distances."""
    crossed = (rows**2).sum(axis=1)[:, None] - 2 * rows @ centres.T + (centres**2).sum(axis=1)
    squares: Floats = np.maximum(crossed, 0.0)
    return squares


def _centres(rows: Floats, group: Ints, count: int) -> Floats:
    sums = np.zeros((count, rows.shape[1]))
    np.add.at(sums, group, rows)
    mean: Floats = sums / np.maximum(np.bincount(group, minlength=count), 1)[:, None]
    return mean


def _by_first_node(group: Ints) -> Ints:
    """Numbers without gaps, in the order in which groups first appear."""
    _, first, place = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), dtype=np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return rank[place.reshape(-1)]
