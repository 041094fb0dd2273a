"""A pod that is killed comes back as a new incarnation, and no other pod is touched."""

from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.topologies import Topology

INCARNATION = "thalweg.dev/incarnation"


def test_a_killed_pod_comes_back(topology: Topology, kind: KindCluster, namespace: str) -> None:
    topology.apply({"read": 1, "count": 3})
    before = topology.settled(4)
    victim = before["count-1"]
    name = victim["metadata"]["name"]
    kind.kubectl("delete", "pod", name, "-n", namespace, "--grace-period=0", "--force")
    after = topology.settled(4)
    lost, found = (int(p["metadata"]["labels"][INCARNATION]) for p in (victim, after["count-1"]))
    assert found > lost
    others = set(before) - {"count-1"}
    assert all(before[t]["metadata"]["uid"] == after[t]["metadata"]["uid"] for t in others)
