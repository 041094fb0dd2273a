"""CAPS' search finds a plan where there is one, and keeps every worker under its thresholds."""

from itertools import product

import numpy as np
import pytest

from bench.caps_search import Search, Workers, bottleneck, loads, tuned
from bench.catalog import Query, Stage
from thalweg_scheduling.model.arrays import Ints

QUERY = Query(
    stages=(
        Stage(name="a", tasks=2, cpu_milli=300, sends_per_s=50),
        Stage(name="b", tasks=3, cpu_milli=700, sends_per_s=10, state_bytes_per_s=5),
        Stage(name="c", tasks=1, cpu_milli=100),
    ),
    edges=((0, 1), (1, 2)),
)
WORKERS = Workers(query=QUERY, count=3, slots=3)


def every_plan() -> list[Ints]:
    """All counts of vertices on workers that fit into the slots."""
    rows = [
        [row for row in product(range(n + 1), repeat=3) if sum(row) == n]
        for n in WORKERS.tasks.tolist()
    ]
    plans = [np.array(plan) for plan in product(*rows)]
    return [plan for plan in plans if plan.sum(axis=0).max() <= WORKERS.slots]


@pytest.mark.parametrize("order", [None, np.random.default_rng(1)], ids=["fair", "drawn"])
@pytest.mark.parametrize("alpha", [(1, 1, 1), (0.5, 0.5, 0.8), (0.2, 0.1, 0.6), (0.05, 0, 0.3)])
def test_the_search_finds_a_plan_exactly_where_there_is_one(
    alpha: tuple[float, ...], order: np.random.Generator | None
) -> None:
    most = WORKERS.thresholds(np.array(alpha)) + 1e-6
    there_is_one = any((bottleneck(WORKERS, plan) <= most).all() for plan in every_plan())
    plan = Search(WORKERS, np.array(alpha), 60, order).first()
    assert (plan is not None) == there_is_one
    if plan is not None:
        assert plan.sum(axis=1).tolist() == WORKERS.tasks.tolist()
        assert (bottleneck(WORKERS, plan) <= most).all()
        assert plan.sum(axis=0).max() <= WORKERS.slots


def test_tuning_ends_with_a_plan_under_its_own_thresholds() -> None:
    plan, alpha = tuned(WORKERS, repeats=2)
    assert plan.sum(axis=1).tolist() == WORKERS.tasks.tolist()
    assert (bottleneck(WORKERS, plan) <= WORKERS.thresholds(alpha) * 1.000001 + 1e-6).all()


def test_network_counts_what_leaves_the_worker() -> None:
    apart = np.array([[2, 0, 0], [0, 3, 0], [0, 0, 1]])
    together = np.array([[2, 0, 0], [1, 1, 1], [0, 0, 1]])
    assert loads(WORKERS, apart)[0, 2] == 100
    assert loads(WORKERS, together)[0, 2] == pytest.approx(100 * 2 / 3 + 10)
