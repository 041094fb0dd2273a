"""Which tasks ought to be seen, and in which pods."""

from thalweg_operator.observe.expectation import expected, expected_topology
from thalweg_operator_worlds import node, pod, shared_pod, topology_spec

SPEC = topology_spec()


def test_every_task_of_a_shared_pod_is_expected() -> None:
    there = shared_pod(0, 2, "read-0", "split-0", "gone-0")
    found = expected_topology("shop", "word-count", SPEC, [there])
    by_vertex = {one["name"]: one["tasks"] for one in found["vertices"]}
    assert [(one["name"], one["pod"]) for one in by_vertex["read"]] == [("read-0", there.name)]
    assert [(one["name"], one["node"]) for one in by_vertex["split"]] == [("split-0", "n1")]


def test_a_pod_that_is_not_ready_is_not() -> None:
    pods = [shared_pod(0, 2, "read-0", ready=False), pod(0, ready=False)]
    found = expected_topology("shop", "word-count", SPEC, pods)
    assert [one["tasks"] for one in found["vertices"]] == [[], []]


def test_what_nodes_have_is_told() -> None:
    found = expected([], [node("n2", cpu=2.0), node("n1"), node("n3", ready=False)])
    assert found["nodes"] == ["n1", "n2"]
    assert {name: each["cpu"] for name, each in found["allocatable"].items()} == {
        "n1": 4.0,
        "n2": 2.0,
    }
