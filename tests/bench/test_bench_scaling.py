"""The benchmarks of scaling, sleeping and predicting run, on sizes that take no time."""

import numpy as np
import pytest

from bench import hibernating, scaling, simulating, starting
from bench.flowing import Program, Stream
from bench.sleepers import large_cluster, small_cluster
from bench.streams import Size
from thalweg_scheduling.hibernate import packing_of
from thalweg_scheduling.model.limits import Limits

CHAIN = Program(
    edges=((0, 1), (1, 2)), selectivity=(2.0, 0.5), true_rate_per_s=np.array([100.0, 100.0, 50.0])
)


def test_a_program_multiplies_rates_along_its_edges() -> None:
    assert CHAIN.gain.tolist() == [1.0, 2.0, 1.0]
    assert CHAIN.fewest(70.0, 0.7).tolist() == [1, 2, 2]


def test_what_does_not_get_through_waits() -> None:
    stream = Stream(CHAIN, np.array([1, 1, 1]), noise=0.0, rng=np.random.default_rng(1))
    stream.run(80.0, 10.0)
    assert stream.waiting == pytest.approx(300.0)  # the second vertex lets 50/s of the source by
    stream.scale({"v1": 4, "v2": 4})
    stream.run(80.0, 10.0)
    assert stream.waiting == pytest.approx(100.0)
    loads = stream.snapshot(0.0, Limits(), None).loads
    assert loads is not None
    assert loads.processed_per_s[0] == pytest.approx(100.0)


def test_our_scaler_is_right_at_once_where_the_step_allows() -> None:
    runs = scaling.run(programs=1, seeds=(1,))
    ours = [run for (name, step), found in runs.items() for run in found if name == "DS2, ours"]
    assert all(run.enough is not None and run.enough <= 3 for run in ours)
    assert "DS2, ours" in scaling.render(runs)


def test_sleepers_are_counted_against_the_proven_least() -> None:
    found = hibernating.run_small([1])
    assert [one.awake - one.least for one in found["ours"]] == [0]
    assert "Karpenter" in hibernating.render_small(found)


def test_large_clusters_are_counted_against_a_bound() -> None:
    found = hibernating.run_large(hibernating.ANY, nodes=40, vertices=(5,), seeds=(1,))
    assert all(one.awake >= one.least for each in found.values() for one in each)
    assert "5 vertices" in hibernating.render_large(found)


def test_clusters_are_the_same_from_the_same_seed() -> None:
    one, other = small_cluster(3).snapshot, small_cluster(3).snapshot
    assert np.array_equal(one.placement, other.placement)
    assert packing_of(large_cluster(20, 4, 1).snapshot).wanted.sum() > 0


def test_predictions_are_known() -> None:
    found = simulating.run([Size(tasks=100, nodes=10, domains=2)], seeds=(1,))
    assert all(np.isfinite(one.latency_s) and one.latency_s > 0 for one in found)
    assert "one topology" in simulating.render(found)


def test_coming_back_once_is_no_oscillation_and_turning_again_is() -> None:
    history = [np.array(each) for each in ([1, 1], [4, 4], [3, 4], [3, 5], [4, 5], [3, 5])]
    assert scaling._turns(history).tolist() == [3, 0]


@pytest.mark.slow
def test_calls_of_the_command_are_timed() -> None:
    lines = starting.run(runs=1).splitlines()
    assert len(lines) == 2 + len(starting.CALLS)
