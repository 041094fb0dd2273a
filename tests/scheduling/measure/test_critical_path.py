"""Who is on the way that takes longest."""

from dataclasses import replace

import numpy as np
import pytest

from thalweg_generators import Cluster, make_snapshot
from thalweg_scheduling.measure.critical_path import critical_vertices, transmission_s
from thalweg_scheduling.model.snapshot import Snapshot


def diamond() -> Snapshot:
    return make_snapshot(
        {"a": 1, "b": 1, "c": 1, "d": 1}, [("a", "b"), ("a", "c"), ("b", "d"), ("c", "d")]
    )


@pytest.mark.parametrize(
    ("vertex_s", "edge_s", "critical"),
    [
        pytest.param([1, 5, 2, 1], [0, 0, 0, 0], "abd", id="the slower branch"),
        pytest.param([1, 2, 2, 1], [0, 0, 0, 0], "abcd", id="both are as slow"),
        pytest.param([1, 5, 2, 1], [0, 4, 0, 0], "acd", id="a way counts like a vertex"),
        pytest.param([1, np.nan, 2, 1], [0, 0, 0, 0], "abcd", id="unknown excludes nobody"),
    ],
)
def test_the_longest_way(vertex_s: list[float], edge_s: list[float], critical: str) -> None:
    found = critical_vertices(diamond(), np.array(vertex_s, float), np.array(edge_s, float))
    assert "".join(np.array(list("abcd"))[found]) == critical


def test_edges_in_any_order_and_several_sources() -> None:
    snapshot = make_snapshot(
        {"end": 1, "slow": 1, "fast": 1, "mid": 1},
        [("mid", "end"), ("fast", "end"), ("slow", "mid")],
    )
    found = critical_vertices(snapshot, np.array([1.0, 3.0, 2.0, 1.0]), np.zeros(3))
    assert found.tolist() == [True, True, False, True]


def test_transmission_is_the_mean_over_tuples() -> None:
    snapshot = make_snapshot(
        {"a": 1, "b": 2}, cluster=Cluster(nodes=4, domains=2), placement=[0, 0, 1]
    )
    classes = snapshot.latency.classes
    half = (classes.same_node_s + classes.cross_domain_s) / 2
    assert transmission_s(snapshot) == pytest.approx([half])
    together = replace(snapshot, process=np.array([0, 0, 2]))
    assert transmission_s(together) == pytest.approx([classes.cross_domain_s / 2])
    nowhere = replace(snapshot, placement=np.array([0, -1, -1]))
    assert transmission_s(nowhere).tolist() == [0.0]
