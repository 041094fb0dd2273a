"""How much has changed: Hd-Stream's Eq 4 and 5."""

import numpy as np
import pytest

from thalweg_generators import make_snapshot
from thalweg_scheduling.measure.fluctuation import fluctuation, surroundings_of
from thalweg_scheduling.model.memory import Surroundings

FAR = np.array([[0.0, 3.0], [4.0, 0.0]])


def around(
    seconds: np.ndarray = FAR, tuples_per_s: float = 100.0, nodes: tuple[str, ...] = ("a", "b")
) -> Surroundings:
    return Surroundings(nodes=nodes, seconds=seconds, tuples_per_s=tuples_per_s)


@pytest.mark.parametrize(
    ("now", "change"),
    [
        pytest.param(around(), 0.0, id="nothing"),
        pytest.param(around(np.array([[0.0, 3.0], [5.0, 0.0]])), 0.2, id="1 of a norm of 5"),
        pytest.param(around(tuples_per_s=250.0), 1.5, id="the stream"),
        pytest.param(around(2 * FAR, 130.0), 1.0, id="the network more than the stream"),
        pytest.param(around(tuples_per_s=float("nan")), 0.0, id="the unknown has not changed"),
        pytest.param(around(nodes=("a", "c")), float("inf"), id="another node"),
    ],
)
def test_the_larger_change_counts(now: Surroundings, change: float) -> None:
    assert fluctuation(around(), now) == pytest.approx(change)


def test_out_of_nothing_any_change_is_endless() -> None:
    still = around(np.zeros((2, 2)), 0.0)
    assert fluctuation(still, still) == 0
    assert fluctuation(still, around(np.zeros((2, 2)), 1.0)) == float("inf")


def test_what_is_around_a_topology() -> None:
    snapshot = make_snapshot()
    found = surroundings_of(snapshot)
    assert found.nodes == snapshot.nodes
    assert found.tuples_per_s == pytest.approx(300)
    assert np.array_equal(found.seconds, snapshot.node_cost_s)
