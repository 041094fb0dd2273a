"""The ledger counts what every pod has reserved, bound or on its way."""

from thalweg_operator.observe.ledger import Ledger, node_of
from thalweg_operator_worlds import pod


def test_bound_planned_retiring_and_leaving_pods_take_room() -> None:
    ledger = Ledger(
        [
            pod(0, on="n1", requests={"cpu": 1.0, "gpu": 1.0}),
            pod(1, on=None, planned="n1", requests={"cpu": 2.0}),
            pod(2, on="n1", retired_at_s=0, requests={"cpu": 4.0}),
            pod(3, on="n1", deleting=True, requests={"cpu": 8.0}),
            pod(4, on="n2", planned="n1", requests={"cpu": 16.0}),
            pod(5, on=None, requests={"cpu": 32.0}),
        ]
    )
    assert ledger.reserved("n1", "cpu") == 15.0
    assert ledger.reserved("n2", "cpu") == 16.0
    assert ledger.reserved("n1", "gpu") == 1.0


def test_what_nobody_reserved_is_free() -> None:
    assert Ledger([]).reserved("n1", "cpu") == 0.0
    assert Ledger([pod(0)]).reserved("n1", "gpu") == 0.0


def test_pods_can_be_left_out() -> None:
    mine = pod(0, requests={"cpu": 1.5})
    ledger = Ledger([mine, pod(1, requests={"cpu": 1.0})])
    assert ledger.reserved("n1", "cpu", [mine]) == 1.0
    assert ledger.reserved("n1", "gpu", [mine]) == 0.0


def test_what_one_topology_takes_is_gone_for_the_next() -> None:
    ledger = Ledger([])
    ledger.reserve("n1", {"cpu": 1.0})
    ledger.reserve("n1", {"cpu": 0.5, "pods": 1.0})
    assert ledger.reserved("n1", "cpu") == 1.5
    assert ledger.reserved("n1", "pods") == 1.0


def test_a_bound_pod_is_where_it_is_not_where_it_was_planned() -> None:
    assert node_of(pod(0, on="n2", planned="n1")) == "n2"
    assert node_of(pod(0, on=None, planned="n1")) == "n1"
    assert node_of(pod(0, on=None)) is None
