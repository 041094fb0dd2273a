"""What a topology owns besides pods."""

import json
from typing import Any

import pytest

from thalweg_operator import naming
from thalweg_operator.act.structure import (
    budget_manifest,
    clamped,
    last_valid_manifest,
    owner_of,
    routes_manifest,
    vertex_manifest,
)
from thalweg_operator_worlds import (
    NAMESPACE,
    TOPOLOGY,
    owner,
    stream_vertex,
    topology,
    topology_spec,
    vertex_body,
)

(SPLIT,) = topology_spec(vertex_body("split", replicas=3)).vertices


def test_vertex() -> None:
    made = vertex_manifest(NAMESPACE, owner(), SPLIT, 5)
    assert made["metadata"]["name"] == "word-count-split"
    assert made["spec"] == {
        "topology": TOPOLOGY,
        "vertex": "split",
        "replicas": 5,
        "min": 1,
        "max": 8,
    }


def test_the_budget_matches_active_pods_only_and_lets_idle_ones_go() -> None:
    spec = budget_manifest(NAMESPACE, owner(), TOPOLOGY, "split")["spec"]
    assert spec == {
        "maxUnavailable": 1,
        "unhealthyPodEvictionPolicy": "AlwaysAllow",
        "selector": {
            "matchLabels": {
                naming.TOPOLOGY: TOPOLOGY,
                naming.VERTEX: "split",
                naming.STATE: naming.ACTIVE,
            }
        },
    }


def test_last_valid_spec_can_be_read_back() -> None:
    spec = {"vertices": [{"name": "split"}], "strategy": "Even"}
    made = last_valid_manifest(NAMESPACE, owner(), spec, 7)
    assert made["metadata"]["name"] == "word-count-last-valid"
    assert json.loads(made["data"]["spec.json"]) == spec
    assert made["data"]["generation"] == "7"


ALL = (
    vertex_manifest(NAMESPACE, owner(), SPLIT, 1),
    budget_manifest(NAMESPACE, owner(), TOPOLOGY, "split"),
    routes_manifest(NAMESPACE, owner(), TOPOLOGY, "split", "{}"),
    last_valid_manifest(NAMESPACE, owner(), {}, 1),
)


@pytest.mark.parametrize("made", ALL, ids=lambda made: made["metadata"]["name"])
def test_everything_is_labelled_and_owned(made: dict[str, Any]) -> None:
    metadata = made["metadata"]
    assert metadata["namespace"] == NAMESPACE
    assert naming.common_labels(TOPOLOGY).items() <= metadata["labels"].items()
    (reference,) = metadata["ownerReferences"]
    assert reference["controller"] is True
    assert reference["uid"] == "uid-topology"


@pytest.mark.parametrize(("replicas", "kept"), [(0, 1), (1, 1), (5, 5), (8, 8), (9, 8)])
def test_replicas_stay_within_the_bounds(replicas: int, kept: int) -> None:
    assert clamped(replicas, SPLIT) == kept


@pytest.mark.parametrize("body", [topology(), stream_vertex()], ids=["topology", "vertex"])
def test_owner(body: dict[str, Any]) -> None:
    reference = owner_of(body).reference()
    assert (reference["kind"], reference["uid"]) == (body["kind"], body["metadata"]["uid"])
