"""Hd-Stream's virtual resource nodes."""

import numpy as np
import pytest

from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.partition.resource_groups import (
    clustered,
    elbow,
    group_sequence,
    grouped_nodes,
    squared_error,
)


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def clusters(*sizes: int, near: float = 0.2, far: float = 2.0, noise: float = 0.0) -> Floats:
    """Nodes of each cluster next to each other."""
    of = np.repeat(np.arange(len(sizes)), sizes)
    seconds = np.where(of[:, None] == of[None, :], near, far)
    seconds = seconds * np.exp(noise * rng(3).standard_normal(seconds.shape))
    np.fill_diagonal(seconds, 0.0)
    return seconds


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ((4, 4, 4), [0] * 4 + [1] * 4 + [2] * 4),
        ((6, 6), [0] * 6 + [1] * 6),
        ((2, 7, 3, 5), [0] * 2 + [1] * 7 + [2] * 3 + [3] * 5),
        ((2, 1), [0, 0, 1]),
        ((12,), [0] * 12),
        ((1,), [0]),
    ],
)
def test_the_elbow_finds_what_is_there(
    sizes: tuple[int, ...], expected: list[int], seed: int
) -> None:
    assert grouped_nodes(clusters(*sizes), 16, rng(seed)).tolist() == expected


def test_noise_does_not_hide_it() -> None:
    groups = grouped_nodes(clusters(4, 4, 4, noise=0.1), 16, rng())
    assert groups.tolist() == [0] * 4 + [1] * 4 + [2] * 4


def test_never_more_groups_than_asked_for() -> None:
    assert grouped_nodes(clusters(3, 3, 3, 3), 2, rng()).max() <= 1
    assert grouped_nodes(np.zeros((0, 0)), 4, rng()).size == 0
    assert grouped_nodes(np.zeros((5, 5)), 4, rng()).tolist() == [0] * 5


def test_every_row_is_in_the_cluster_with_the_nearest_centre() -> None:
    rows = rng().random((40, 3))
    group = clustered(rows, 4, rng())
    centres = np.array([rows[group == each].mean(axis=0) for each in range(4)])
    away = np.linalg.norm(rows[:, None] - centres, axis=2)
    assert np.array_equal(away.argmin(axis=1), group)
    assert squared_error(rows, group) == pytest.approx((away.min(axis=1) ** 2).sum())
    assert squared_error(rows, group) < 0.6 * squared_error(rows, np.zeros(40, dtype=np.int64))


def test_no_bend_is_no_elbow() -> None:
    assert elbow([]) == 0
    assert elbow([0.0, 0.0]) == 0
    assert elbow([5.0, 4.9, 4.8, 4.7]) == 0
    assert elbow([5.0, 1.0, 0.9, 0.8]) == 1


def test_the_sequence_starts_at_the_wealthiest_and_goes_on_to_the_nearest() -> None:
    far = np.array(
        [
            [0.0, 5.0, 1.0, 9.0],
            [5.0, 0.0, 7.0, 3.0],
            [1.0, 7.0, 0.0, 8.0],
            [9.0, 3.0, 8.0, 0.0],
        ]
    )
    group = np.arange(4)
    assert group_sequence(far, group, np.array([9.0, 1.0, 1.0, 1.0])) == [0, 2, 1, 3]
    assert group_sequence(far, group, np.array([1.0, 1.0, 1.0, 9.0])) == [3, 1, 0, 2]
    # Two nodes of 3 together have more than one of 5.
    assert group_sequence(far, np.array([0, 1, 0, 1]), np.array([1.0, 3.0, 4.0, 3.0])) == [1, 0]
