"""Manifests of simulated nodes."""

from collections.abc import Mapping
from string import ascii_lowercase

from thalweg_testbed.servers import KWOK_AWAKE, KWOK_LABEL

__all__ = ["ZONE_LABEL", "domain_name", "node_manifest"]

ZONE_LABEL = "topology.kubernetes.io/zone"


def domain_name(index: int) -> str:
    """Return a, b, … z, aa, ab, … for 0, 1, …"""
    name = ""
    index += 1
    while index:
        index, letter = divmod(index - 1, len(ascii_lowercase))
        name = ascii_lowercase[letter] + name
    return name


def node_manifest(
    name: str,
    *,
    number: int,
    domain: str,
    capacity: Mapping[str, str],
    labels: Mapping[str, str] | None = None,
) -> dict[str, object]:
    """Return a Node that KWOK brings to life; `number` gives it an address of its own."""
    address = "10.64.{}.{}".format(*divmod(number, 250))
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
                ZONE_LABEL: domain,
                KWOK_LABEL: KWOK_AWAKE,
                **(labels or {}),
            },
        },
        "status": {
            "capacity": dict(capacity),
            "allocatable": dict(capacity),
            "addresses": [
                {"type": "InternalIP", "address": address},
                {"type": "Hostname", "address": name},
            ],
        },
    }
