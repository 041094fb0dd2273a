"""What is right is accepted, kept as written, and completed with the documented defaults."""

from typing import Any

import pytest

from thalweg_operator.api.topology import parse_topology
from thalweg_operator.api.validation import Offer, find_problems
from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import STREAM_TOPOLOGIES
from thalweg_testbed.cluster import Cluster
from thalweg_testbed.errors import CommandFailed

pytestmark = pytest.mark.control_plane

Manifest = dict[str, Any]
IMAGE = "ghcr.io/thalweg/worker:0.1.0"


def vertex(name: str) -> Manifest:
    return {"name": name, "template": {"spec": {"containers": [{"image": IMAGE}]}}}


def topology(namespace: str, name: str, spec: Manifest) -> Manifest:
    return {
        "apiVersion": "thalweg.dev/v1alpha1",
        "kind": "StreamTopology",
        "metadata": {"name": name, "namespace": namespace},
        "spec": spec,
    }


def test_the_least_topology_gets_every_default(api: Client, namespace: str) -> None:
    made = api.create(
        STREAM_TOPOLOGIES, topology(namespace, "least", {"vertices": [vertex("read")]})
    )
    assert made["spec"] == {
        "strategy": "Auto",
        "mode": "Recommend",
        "suspend": False,
        "vertices": [
            {
                "name": "read",
                "replicas": {"min": 1},
                "rollout": {"maxSurge": 1},
                "template": {"spec": {"containers": [{"name": "worker", "image": IMAGE}]}},
            }
        ],
        "edges": [],
        "placement": {
            "processes": "Separate",
            "domainLabel": "topology.kubernetes.io/zone",
            "minDomains": 1,
            "maxSharePercent": 100,
            "minGainPercent": 5,
        },
        "scaling": {
            "targetUtilizationPercent": 70,
            "backlogSeconds": 180,
            "scaleDownAfterSeconds": 600,
            "cooldownSeconds": 60,
            "maxUpFactor": 4,
            "maxDownPercent": 100,
        },
        "grouping": {},
        "hibernation": {},
        "disruption": {"budgets": [{"maxMoves": 2}]},
        "metrics": {"source": "default", "preset": "thalweg", "staleAfterSeconds": 45},
    }


def test_what_is_written_is_kept(api: Client, namespace: str, right_topology: Manifest) -> None:
    right_topology["metadata"]["namespace"] = namespace
    made = api.create(STREAM_TOPOLOGIES, right_topology)
    written, kept = right_topology["spec"], made["spec"]
    # Defaults the server adds inside what was written.
    written["vertices"][0]["template"]["spec"]["containers"][0]["ports"][0]["protocol"] = "TCP"
    for position in (1, 2):
        container = written["vertices"][position]["template"]["spec"]["containers"][0]
        container["name"] = "worker"
    for position in range(3):
        written["vertices"][position]["rollout"] = {"maxSurge": 1}
    assert kept["vertices"] == written["vertices"]
    assert kept["edges"] == written["edges"]
    assert kept["disruption"] == written["disruption"]


@pytest.mark.parametrize("grouping", ["Fields", "PartialKey", "WChoices"])
def test_groupings_with_keys(api: Client, namespace: str, grouping: str) -> None:
    edge = {"from": "a", "to": "b", "grouping": {"type": grouping, "keys": ["word", "user"]}}
    spec = {"vertices": [vertex("a"), vertex("b")], "edges": [edge]}
    made = api.create(STREAM_TOPOLOGIES, topology(namespace, grouping.lower(), spec))
    assert made["spec"]["edges"] == [edge]


@pytest.mark.parametrize(
    "grouping", ["Shuffle", "Weighted", "NearSource", "LoadAwareLocal", "Broadcast", "Global"]
)
def test_groupings_without_keys(api: Client, namespace: str, grouping: str) -> None:
    edge = {"from": "a", "to": "b", "grouping": {"type": grouping}}
    spec = {"vertices": [vertex("a"), vertex("b")], "edges": [edge]}
    made = api.create(STREAM_TOPOLOGIES, topology(namespace, grouping.lower(), spec))
    assert made["spec"]["edges"] == [edge]


@pytest.mark.parametrize(
    ("replicas", "kept"),
    [
        ({}, {"min": 1}),
        ({"max": 8}, {"min": 1, "max": 8}),
        ({"initial": 3}, {"min": 1, "initial": 3}),
        ({"min": 1024}, {"min": 1024}),
        ({"min": 2, "max": 2, "initial": 2}, {"min": 2, "max": 2, "initial": 2}),
    ],
)
def test_replicas_that_fit(api: Client, namespace: str, replicas: Manifest, kept: Manifest) -> None:
    spec = {"vertices": [{**vertex("a"), "replicas": replicas}]}
    made = api.create(STREAM_TOPOLOGIES, topology(namespace, "replicas", spec))
    assert made["spec"]["vertices"][0]["replicas"] == kept


def largest() -> Manifest:
    """64 vertices and 256 edges, all names as long as allowed, the last name in most edges."""
    names = [f"v{number:019d}" for number in range(64)]
    pairs = [(a, b) for a in range(64) for b in range(63, a, -1)][:256]
    edges = [
        {"from": names[a], "to": names[b], "grouping": {"type": "Fields", "keys": ["k" * 63]}}
        for a, b in pairs
    ]
    full = {
        "template": {
            "spec": {
                "containers": [
                    {
                        "image": IMAGE,
                        "env": [{"name": f"NAME_{n}", "value": "x" * 20} for n in range(32)],
                        "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                    }
                ]
            }
        },
        "replicas": {"min": 1, "max": 1024, "initial": 1024},
    }
    return {"vertices": [{"name": name, **full} for name in names], "edges": edges}


def test_the_largest_topology(api: Client, namespace: str) -> None:
    spec = largest()
    made = api.create(STREAM_TOPOLOGIES, topology(namespace, "t" * 30, spec))
    assert (len(made["spec"]["vertices"]), len(made["spec"]["edges"])) == (64, 256)
    parsed = parse_topology(made["spec"])
    assert find_problems(parsed, Offer(strategies=["Auto"])) == ()
    # An update runs the rules again, with the old object beside the new one.
    changed = api.merge(
        STREAM_TOPOLOGIES, namespace, "t" * 30, {"spec": {"placement": {"minDomains": 2}}}
    )
    assert changed["spec"]["placement"]["minDomains"] == 2


def test_a_field_that_does_not_exist_is_not_lost_in_silence(
    control_plane: Cluster, namespace: str, right_topology: Manifest
) -> None:
    right_topology["metadata"]["namespace"] = namespace
    right_topology["spec"]["vertices"][0]["template"]["spec"]["containers"][0]["imag"] = "typo"
    with pytest.raises(CommandFailed, match="imag"):
        control_plane.apply(right_topology)


def test_the_status_is_apart_from_the_spec(api: Client, namespace: str) -> None:
    body = topology(namespace, "apart", {"vertices": [vertex("read")]})
    made = api.create(STREAM_TOPOLOGIES, {**body, "status": {"tasks": {"summary": "1/1"}}})
    assert "status" not in made
    reported = api.merge(
        STREAM_TOPOLOGIES,
        namespace,
        "apart",
        {"status": {"tasks": {"summary": "1/1"}}, "spec": {"suspend": True}},
        subresource="status",
    )
    assert reported["status"] == {"tasks": {"summary": "1/1"}}
    assert reported["spec"]["suspend"] is False
    assert reported["metadata"]["generation"] == made["metadata"]["generation"]
