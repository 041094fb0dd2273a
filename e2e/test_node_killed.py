"""A node that dies: its tasks go elsewhere, and the old pods vanish when it comes back."""

from thalweg_testbed import eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.topologies import Topology


def test_tasks_of_a_dead_node_go_elsewhere(topology: Topology, kind: KindCluster) -> None:
    topology.apply({"read": 2, "count": 6})
    before = topology.settled(8)
    node = before["count-0"]["spec"]["nodeName"]
    stayed = {t: p for t, p in before.items() if p["spec"]["nodeName"] != node}
    kind.crash_node(node)
    eventually(lambda: node not in kind.ready_nodes(), timeout_s=120, what=f"{node} NotReady")
    moved = topology.until_gone_from(node, 8)
    for task, pod in stayed.items():
        assert moved[task]["metadata"]["uid"] == pod["metadata"]["uid"], task
    kind.start_node(node)
    # One pod a task and none left over, also of those that the dead node had.
    topology.settled(8)
