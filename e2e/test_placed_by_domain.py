"""A topology of real pods: each runs on the node that was planned, spread over the domains."""

from collections import Counter

from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.topologies import Topology

PLANNED = "thalweg.dev/planned-node"


def test_pods_run_where_they_were_planned(topology: Topology, kind: KindCluster) -> None:
    topology.apply({"read": 2, "split": 4, "count": 2}, placement={"minDomains": 4})
    pods = topology.settled(8)
    assert sorted(pods) == [
        *("count-0", "count-1", "read-0", "read-1"),
        *("split-0", "split-1", "split-2", "split-3"),
    ]
    for pod in pods.values():
        assert pod["spec"]["nodeName"] == pod["metadata"]["annotations"][PLANNED]
    domains = Counter(kind.node(pod["spec"]["nodeName"]).domain for pod in pods.values())
    assert set(domains) == set(kind.domains)
    # They are alive: one answers another across the pod network.
    assert pods["count-1"]["metadata"]["name"] in topology.fetch(pods["read-0"], pods["count-1"])
