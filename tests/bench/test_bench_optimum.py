"""CP-SAT's optimum is the least J, checked by trying everything."""

from itertools import product

import numpy as np
import pytest

from bench.catalog import Query, Stage
from bench.instances import Cluster, snapshot_of
from bench.optimum import placement_of, prove
from thalweg_scheduling.measure.needs import needs, overloaded
from thalweg_scheduling.measure.objective import objective
from thalweg_scheduling.model.arrays import Floats
from thalweg_scheduling.model.snapshot import Snapshot

QUERY = Query(
    stages=(
        Stage(name="a", tasks=2, cpu_milli=700, sends_per_s=1000),
        Stage(name="b", tasks=2, cpu_milli=500, sends_per_s=300),
        Stage(name="c", tasks=1, cpu_milli=900),
    ),
    edges=((0, 1), (1, 2), (0, 2)),
)
UNEVEN = np.array(
    [[0.0001, 0.0007, 0.011], [0.0005, 0.0002, 0.004], [0.009, 0.016, 0.0001]], dtype=np.float64
)


def least(snapshot: Snapshot) -> float:
    """The least J of all placements that overload nothing."""
    nodes, tasks = range(len(snapshot.nodes)), len(snapshot.tasks)
    every = (np.array(node) for node in product(nodes, repeat=tasks))
    wanted = needs(snapshot)
    return min(objective(snapshot, n) for n in every if not overloaded(wanted, n).any())


@pytest.mark.parametrize("pairs_s", [None, UNEVEN], ids=["classes", "uneven"])
@pytest.mark.parametrize("cpu_milli", [(1600, 1600, 1600), (1400, 2400, 900)])
def test_the_optimum_is_the_least(cpu_milli: tuple[int, ...], pairs_s: Floats | None) -> None:
    cluster = Cluster(cpu_milli=cpu_milli, domain_of=(0, 0, 1), pairs_s=pairs_s)
    snapshot = snapshot_of(QUERY, cluster)
    found = prove(snapshot, limit_s=60, workers=1)
    assert found.proven
    assert found.value == pytest.approx(least(snapshot))
    assert found.bound == pytest.approx(found.value, rel=1e-4)


def test_what_does_not_fit_has_no_optimum() -> None:
    cluster = Cluster(cpu_milli=(1000, 1000), domain_of=(0, 1))
    assert prove(snapshot_of(QUERY, cluster), limit_s=60, workers=1).value == np.inf


def test_counts_become_a_placement() -> None:
    snapshot = snapshot_of(QUERY, Cluster(cpu_milli=(9000, 9000), domain_of=(0, 1)))
    node = placement_of(snapshot, np.array([[1, 1], [0, 2], [1, 0]]))
    assert node.tolist() == [0, 1, 1, 1, 0]
