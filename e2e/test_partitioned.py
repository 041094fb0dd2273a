"""Domains that are cut off from each other, or from the control plane, and come together again."""

import pytest

from thalweg_testbed import CommandFailed, eventually
from thalweg_testbed.kind import CONTROL_DOMAIN, KindCluster
from thalweg_testbed.kind.topologies import Topology


def test_two_domains_apart_move_nothing(topology: Topology, kind: KindCluster) -> None:
    topology.apply({"read": 2, "count": 6}, placement={"minDomains": 4})
    before = topology.settled(8)
    domain_of = {t: kind.node(p["spec"]["nodeName"]).domain for t, p in before.items()}
    in_a, in_b, in_c = (next(before[t] for t in before if domain_of[t] == d) for d in "abc")
    assert topology.fetch(in_a, in_b)
    kind.partition("a", "b")
    for one, other in ((in_a, in_b), (in_b, in_a)):
        with pytest.raises(CommandFailed):
            topology.fetch(one, other)
    assert topology.fetch(in_a, in_c)
    # The control plane sees all of them: nothing is lost, so nothing is done.
    assert {n.name for n in kind.nodes} <= kind.ready_nodes()
    kind.heal("a", "b")
    assert eventually(lambda: topology.fetch(in_a, in_b), what="a reaches b again")
    after = topology.settled(8)
    assert {t: p["metadata"]["uid"] for t, p in after.items()} == {
        t: p["metadata"]["uid"] for t, p in before.items()
    }


def test_a_domain_without_control_plane_is_replaced(topology: Topology, kind: KindCluster) -> None:
    topology.apply({"read": 2, "count": 6})
    before = topology.settled(8)
    lost = kind.node(before["count-0"]["spec"]["nodeName"]).domain
    names = {node.name for node in kind.nodes_of(lost)}
    kind.partition(lost, CONTROL_DOMAIN)
    eventually(
        lambda: not names & kind.ready_nodes(), timeout_s=120, what=f"domain {lost} NotReady"
    )
    for node in names:
        moved = topology.until_gone_from(node, 8)
    kind.heal()
    kind.wait_ready(*names)
    after = topology.settled(8)
    assert {t: p["metadata"]["uid"] for t, p in after.items()} == {
        t: p["metadata"]["uid"] for t, p in moved.items()
    }
