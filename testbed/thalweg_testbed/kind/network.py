"""The pod network: pods of a node over point-to-point links, nodes by routes to each other.

It needs nothing but what every node image has, and packets keep their pods' addresses on the way
from one node to another, so that latency and partitions can be told apart by domain. A node that
was restarted keeps its CNI file but not its routes: all of this can be applied again at any time.
"""

import json
from collections.abc import Sequence

from thalweg_testbed.kind.shape import POD_SUBNET
from thalweg_testbed.latency.endpoints import Node

__all__ = ["network_script"]

_CONFLIST = "/etc/cni/net.d/10-pods.conflist"
_IPV6 = "/proc/sys/net/ipv6/conf/eth0/disable_ipv6"


def network_script(node: Node, nodes: Sequence[Node]) -> str:
    """Return the shell script that connects one node to the others."""
    routes = [
        f"ip route replace {other.pods} via {other.address}" for other in nodes if other != node
    ]
    outside = f"POSTROUTING -s {POD_SUBNET} ! -d {POD_SUBNET} -j MASQUERADE"
    return "\n".join(
        [
            # kind's network has IPv6 too: a way round every latency and partition.
            f"if [ -e {_IPV6} ]; then echo 1 >{_IPV6}; fi",
            *routes,
            f"ip address replace {node.probe_address}/32 dev lo",
            f"iptables -w -t nat -C {outside} 2>/dev/null || iptables -w -t nat -A {outside}",
            # Last, and whole at once: with this file the node reports that it is ready.
            f"cat >{_CONFLIST}.new <<'END'",
            json.dumps(_conflist(node)),
            "END",
            f"mv {_CONFLIST}.new {_CONFLIST}",
            "",
        ]
    )


def _conflist(node: Node) -> dict[str, object]:
    addresses = {"subnet": str(node.pods), "rangeEnd": node.last_pod_address}
    return {
        "cniVersion": "0.4.0",
        "name": "pods",
        "plugins": [
            {
                "type": "ptp",
                "ipam": {
                    "type": "host-local",
                    # Not kept over a restart: the pods are not either.
                    "dataDir": "/run/cni-ipam",
                    "ranges": [[addresses]],
                    "routes": [{"dst": "0.0.0.0/0"}],
                },
            },
            {"type": "portmap", "capabilities": {"portMappings": True}},
        ],
    }
