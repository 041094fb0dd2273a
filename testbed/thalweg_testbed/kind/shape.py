"""What a kind cluster looks like, and the configuration that kind makes it from. Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network

from thalweg_testbed.latency.endpoints import Node
from thalweg_testbed.nodes import ZONE_LABEL, domain_name

__all__ = ["CONTROL_DOMAIN", "POD_SUBNET", "Shape", "kind_configuration", "parse_nodes"]

REGION_LABEL = "topology.kubernetes.io/region"
CONTROL_DOMAIN = "control-plane"
"""Stands for the control plane's node where a domain is named: it has no domain label."""

POD_SUBNET = "10.244.0.0/16"


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """How many domains of how many nodes, and how soon a silent node is noticed."""

    domains: int = 4
    per_domain: int = 2
    not_ready_after_s: int = 16
    """The grace period. Kubernetes has 50 s, too long for a test. A kubelet reports every 2 s here,
    but the controller looks every 5 s, and counts from when it saw the last report."""

    def __post_init__(self) -> None:
        if self.domains < 1 or self.per_domain < 1:
            raise ValueError("a cluster has at least one domain of one node")
        # Each pod network is a /24 of the pod subnet.
        if self.domains * self.per_domain > 250:
            raise ValueError("more than 250 nodes do not fit into the pod subnet")

    @property
    def domain_names(self) -> tuple[str, ...]:
        """The domains a, b, …"""
        return tuple(domain_name(index) for index in range(self.domains))

    @property
    def node_count(self) -> int:
        """All nodes, the control plane's included."""
        return 1 + self.domains * self.per_domain


def kind_configuration(shape: Shape) -> str:
    """Return kind's configuration. JSON is YAML."""
    workers = [
        {"role": "worker", "labels": {ZONE_LABEL: domain, REGION_LABEL: f"region-{domain}"}}
        for domain in shape.domain_names
        for _ in range(shape.per_domain)
    ]
    configuration = {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": {"disableDefaultCNI": True, "podSubnet": POD_SUBNET},
        "nodes": [{"role": "control-plane"}, *workers],
        "kubeadmConfigPatches": [json.dumps(patch) for patch in _patches(shape)],
    }
    return json.dumps(configuration, indent=1)


def _patches(shape: Shape) -> list[Mapping[str, object]]:
    # A map, not a list of pairs: kind writes kubeadm's v1beta3.
    grace = {"node-monitor-grace-period": f"{shape.not_ready_after_s}s"}
    return [
        # Its checks are for real machines; what matters here is checked afterwards.
        {"kind": "InitConfiguration", "skipPhases": ["preflight"]},
        {"kind": "ClusterConfiguration", "controllerManager": {"extraArgs": grace}},
        {
            "kind": "KubeletConfiguration",
            # Later releases refuse control groups of version 1 unless told otherwise.
            "failCgroupV1": False,
            "nodeStatusUpdateFrequency": "2s",
            "nodeLeaseDurationSeconds": max(4, shape.not_ready_after_s // 2),
        },
    ]


def parse_nodes(items: Sequence[Mapping[str, object]]) -> tuple[Node, ...]:
    """Return the nodes among API objects that have an address and a pod network, by name."""
    nodes = (_parse_node(item) for item in items)
    return tuple(sorted((node for node in nodes if node), key=_place))


def _place(node: Node) -> tuple[int, str]:
    """worker2 before worker10; the control plane's node has the longest name and comes first."""
    return (node.domain != CONTROL_DOMAIN) * len(node.name), node.name


def _parse_node(item: Mapping[str, object]) -> Node | None:
    metadata, spec, status = (_section(item, key) for key in ("metadata", "spec", "status"))
    labels = _section(metadata, "labels")
    addresses = status.get("addresses")
    internal = [
        str(entry["address"])
        for entry in (addresses if isinstance(addresses, list) else [])
        if entry["type"] == "InternalIP"
    ]
    if not internal or "podCIDR" not in spec:
        return None
    return Node(
        name=str(metadata["name"]),
        domain=str(labels.get(ZONE_LABEL, CONTROL_DOMAIN)),
        address=internal[0],
        pods=IPv4Network(str(spec["podCIDR"])),
    )


def _section(item: Mapping[str, object], key: str) -> Mapping[str, object]:
    value = item.get(key)
    return value if isinstance(value, Mapping) else {}
