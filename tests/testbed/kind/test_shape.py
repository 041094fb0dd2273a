"""From a number of domains and nodes to kind's configuration, and back from API objects."""

import json
from typing import Any

import pytest

from thalweg_testbed.kind.network import network_script
from thalweg_testbed.kind.shape import CONTROL_DOMAIN, Shape, kind_configuration, parse_nodes


def api_node(name: str, number: int, zone: str | None) -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "labels": {"topology.kubernetes.io/zone": zone} if zone else {},
        },
        "spec": {"podCIDR": f"10.244.{number}.0/24"},
        "status": {
            "addresses": [
                {"type": "Hostname", "address": name},
                {"type": "InternalIP", "address": f"172.18.0.{number}"},
            ]
        },
    }


def test_workers_are_labelled_by_domain() -> None:
    configuration = json.loads(kind_configuration(Shape(domains=3, per_domain=2)))
    control, *workers = configuration["nodes"]
    assert control == {"role": "control-plane"}
    zones = [worker["labels"]["topology.kubernetes.io/zone"] for worker in workers]
    assert zones == ["a", "a", "b", "b", "c", "c"]
    assert workers[0]["labels"]["topology.kubernetes.io/region"] == "region-a"


def test_a_silent_node_is_noticed_as_soon_as_asked() -> None:
    configuration = json.loads(kind_configuration(Shape(not_ready_after_s=30)))
    patches = {
        patch["kind"]: patch
        for patch in (json.loads(text) for text in configuration["kubeadmConfigPatches"])
    }
    arguments = patches["ClusterConfiguration"]["controllerManager"]["extraArgs"]
    assert arguments == {"node-monitor-grace-period": "30s"}
    assert patches["KubeletConfiguration"]["nodeLeaseDurationSeconds"] == 15
    assert patches["KubeletConfiguration"]["failCgroupV1"] is False


@pytest.mark.parametrize("values", [(0, 1), (1, 0), (26, 10)])
def test_a_shape_that_cannot_be_is_refused(values: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match=r"at least one|do not fit"):
        Shape(domains=values[0], per_domain=values[1])


def test_nodes_are_read_with_their_domain_and_pod_network() -> None:
    items = [api_node("w2", 3, "b"), api_node("cp", 1, None), api_node("w1", 2, "a")]
    control, first, second = parse_nodes(items)
    assert (control.domain, first.domain, second.domain) == (CONTROL_DOMAIN, "a", "b")
    assert first.address == "172.18.0.2"
    assert (first.last_pod_address, first.probe_address) == ("10.244.2.253", "10.244.2.254")


def test_a_node_that_has_not_joined_yet_is_left_out() -> None:
    young = api_node("w1", 2, "a")
    del young["spec"]["podCIDR"]
    nameless = api_node("w2", 3, "a")
    nameless["status"] = {}
    assert parse_nodes([young, nameless]) == ()


def test_a_node_has_a_route_to_every_other_and_tells_last_that_it_is_ready() -> None:
    nodes = parse_nodes([api_node(f"w{n}", n, "a") for n in (1, 2, 3)])
    lines = network_script(nodes[1], nodes).splitlines()
    # Nothing goes by IPv6, which knows neither latency nor partitions.
    assert "echo 1 >/proc/sys/net/ipv6/conf/eth0/disable_ipv6" in lines[0]
    assert lines[1:4] == [
        "ip route replace 10.244.1.0/24 via 172.18.0.1",
        "ip route replace 10.244.3.0/24 via 172.18.0.3",
        "ip address replace 10.244.2.254/32 dev lo",
    ]
    conflist = json.loads(next(line for line in lines if line.startswith("{")))
    ((addresses,),) = conflist["plugins"][0]["ipam"]["ranges"]
    assert addresses == {"subnet": "10.244.2.0/24", "rangeEnd": "10.244.2.253"}
    assert lines[-1].startswith("mv /etc/cni/net.d/")


def test_nodes_are_in_the_order_of_their_numbers() -> None:
    names = ["x-worker", *(f"x-worker{n}" for n in range(2, 12))]
    items = [api_node(name, n, "a") for n, name in enumerate(names)]
    found = parse_nodes([*reversed(items), api_node("x-control-plane", 99, None)])
    assert [node.name for node in found] == ["x-control-plane", *names]
