"""A node that sleeps: a nap is waited for, a longer sleep is not, and no task runs twice after."""

from thalweg_testbed import CommandFailed, eventually
from thalweg_testbed.kind import KindCluster
from thalweg_testbed.kind.topologies import Topology
from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.latency.means import PORT


def connects(kind: KindCluster, source: Node, address: str) -> bool:
    """Tell whether a connection from another node is accepted, which a kernel does by itself."""
    # A connection of its own: not UDP, which a frozen program would not answer anyway.
    words = ("exec", source.name, "timeout", "3", "bash", "-c")
    try:
        kind.engine.run(*words, f"exec 3<>/dev/tcp/{address}/{PORT + 1}")
    except CommandFailed:
        return False
    return True


def test_the_network_of_a_sleeper_is_dead(whole: KindCluster) -> None:
    sleeper, other = whole.nodes_of("b")[0], whole.nodes_of("c")[0]
    addresses = (sleeper.address, sleeper.probe_address)
    assert [connects(whole, other, address) for address in addresses] == [True, True]
    whole.sleep_node(sleeper.name)
    assert [connects(whole, other, address) for address in addresses] == [False, False]
    whole.wake_node(sleeper.name)
    assert [connects(whole, other, address) for address in addresses] == [True, True]


def test_a_sleeper_is_replaced_and_its_old_pods_end(topology: Topology, kind: KindCluster) -> None:
    topology.apply({"read": 2, "count": 6})
    before = topology.settled(8)
    node = before["count-0"]["spec"]["nodeName"]
    kind.sleep_node(node)
    eventually(lambda: node not in kind.ready_nodes(), timeout_s=120, what=f"{node} NotReady")
    moved = topology.until_gone_from(node, 8)
    kind.wake_node(node)
    after = topology.settled(8)
    # Those that were made meanwhile stay; the ones that slept go.
    assert {t: p["metadata"]["uid"] for t, p in after.items()} == {
        t: p["metadata"]["uid"] for t, p in moved.items()
    }


def test_a_nap_changes_nothing(topology: Topology, kind: KindCluster) -> None:
    topology.apply({"read": 1, "count": 3})
    before = topology.settled(4)
    node = before["count-0"]["spec"]["nodeName"]
    kind.sleep_node(node)
    eventually(lambda: node not in kind.ready_nodes(), timeout_s=120, what=f"{node} NotReady")
    kind.wake_node(node)
    after = topology.settled(4)
    assert {t: p["metadata"]["uid"] for t, p in after.items()} == {
        t: p["metadata"]["uid"] for t, p in before.items()
    }
