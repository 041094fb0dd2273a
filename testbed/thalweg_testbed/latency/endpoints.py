"""The nodes between which there is latency."""

from dataclasses import dataclass
from ipaddress import IPv4Network

__all__ = ["Node"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One node as the bed sees it. `name` is also its container's."""

    name: str
    domain: str
    address: str
    pods: IPv4Network

    @property
    def probe_address(self) -> str:
        """An address among those of the node's pods that no pod gets, to measure from and to."""
        return str(self.pods.broadcast_address - 1)

    @property
    def last_pod_address(self) -> str:
        """The last address that a pod may get."""
        return str(self.pods.broadcast_address - 2)
