"""Domains that are cut off from each other, or from the control plane, and come together again."""

from datetime import datetime, timedelta

import pytest
from prometheus_client.parser import text_string_to_metric_families

from thalweg_testbed import CommandFailed, eventually
from thalweg_testbed.kind import CONTROL_DOMAIN, KindCluster
from thalweg_testbed.kind.installation import NAMESPACE
from thalweg_testbed.kind.pytest_plugin import OPERATOR_SETTINGS
from thalweg_testbed.kind.topologies import Topology

PASSES = 3


def heard_at(kind: KindCluster, name: str) -> datetime:
    """When a node was last heard of, by its own clock."""
    lease = kind.get("lease", name, "-n", "kube-node-lease")
    return datetime.fromisoformat(lease["spec"]["renewTime"])


def passes(kind: KindCluster) -> float:
    """How many passes the operator's pods have made."""
    found = 0.0
    selector = "app.kubernetes.io/name=thalweg"
    for pod in kind.get("pods", "-n", NAMESPACE, "-l", selector)["items"]:
        path = f"/api/v1/namespaces/{NAMESPACE}/pods/{pod['metadata']['name']}:8080/proxy/metrics"
        for family in text_string_to_metric_families(kind.kubectl("get", "--raw", path)):
            for sample in family.samples:
                is_good = sample.labels.get("outcome") == "ok"
                if sample.name == "thalweg_operator_passes_total" and is_good:
                    found += sample.value
    return found


def let_the_operator_look(kind: KindCluster, name: str) -> None:
    """Wait until it would have replaced tasks of a silent node, and has looked again and again."""
    begun = heard_at(kind, name)
    patience = timedelta(seconds=OPERATOR_SETTINGS["replace_after_not_ready_s"])
    eventually(
        lambda: heard_at(kind, name) - begun > patience,
        timeout_s=180,
        every_s=1.0,
        what=f"{name} heard of for {patience}",
    )
    before = passes(kind)
    eventually(
        lambda: passes(kind) >= before + PASSES,
        timeout_s=180,
        every_s=1.0,
        what=f"{PASSES} passes",
    )


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
    let_the_operator_look(kind, in_a["spec"]["nodeName"])
    assert {n.name for n in kind.nodes} <= kind.ready_nodes()
    with pytest.raises(CommandFailed):
        topology.fetch(in_a, in_b)
    during = topology.settled(8)
    assert {t: p["metadata"]["uid"] for t, p in during.items()} == {
        t: p["metadata"]["uid"] for t, p in before.items()
    }
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
