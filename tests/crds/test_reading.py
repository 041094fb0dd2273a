"""What people see of the API: tables, categories, short names, explanations."""

from typing import Any

import pytest

from thalweg_operator.cluster.client import Client
from thalweg_operator.cluster.resources import STREAM_TOPOLOGIES
from thalweg_testbed.cluster import Cluster

pytestmark = pytest.mark.control_plane

Manifest = dict[str, Any]


def test_the_table_of_topologies(
    control_plane: Cluster, api: Client, namespace: str, right_topology: Manifest
) -> None:
    right_topology["metadata"]["namespace"] = namespace
    api.create(STREAM_TOPOLOGIES, right_topology)
    status = {
        "conditions": [
            {
                "type": "Ready",
                "status": "True",
                "reason": "AllTasksReady",
                "message": "14 of 14 tasks are ready",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
        "tasks": {"ready": 14, "desired": 14, "summary": "14/14"},
        "measured": {"latency": "18ms", "crossDomain": "6%", "awake": "7/12"},
        "lastDecision": {
            "at": "2026-01-01T00:00:00Z",
            "reason": "ScaledUp",
            "message": "split 4→6: busy 0.91",
        },
    }
    api.merge(STREAM_TOPOLOGIES, namespace, "word-count", {"status": status}, subresource="status")
    heading, row = control_plane.kubectl("get", "stopo", "-n", namespace).splitlines()
    columns = ["NAME", "STRATEGY", "MODE", "READY", "TASKS", "LATENCY", "X-DOMAIN", "AWAKE"]
    assert heading.split() == [*columns, "LAST", "DECISION", "AGE"]
    cells = ["word-count", "Even", "Auto", "True", "14/14", "18ms", "6%", "7/12"]
    assert row.split()[:8] == cells
    assert "split 4→6: busy 0.91" in row


def test_all_and_thalweg_list_topologies(
    control_plane: Cluster, api: Client, namespace: str, right_topology: Manifest
) -> None:
    right_topology["metadata"]["namespace"] = namespace
    api.create(STREAM_TOPOLOGIES, right_topology)
    for category in ("all", "thalweg"):
        listed = control_plane.kubectl("get", category, "-n", namespace, "-o", "name")
        assert "streamtopology.thalweg.dev/word-count" in listed.splitlines()


@pytest.mark.parametrize(
    ("field", "says"),
    [
        ("stopo", "A stream topology: vertices, the edges between them"),
        ("stopo.spec.mode", "How far Thalweg may go in changing a running topology"),
        ("stopo.spec.vertices.replicas.max", "Never more tasks than this"),
        ("stopo.spec.edges.grouping.type", "the same keys always to the same task"),
        ("stopo.spec.disruption.budgets.schedule", "as the five fields of cron"),
        ("stopo.status.lastValidGeneration", "The generation of the spec that is in force"),
        ("svtx.spec.replicas", "How many tasks should run"),
        ("splan.spec.approved", "Set to true to have the plan carried out"),
        ("nhib.spec.desired", "Whether the node should sleep"),
    ],
)
def test_explain(control_plane: Cluster, field: str, says: str) -> None:
    explained = " ".join(control_plane.kubectl("explain", field).split())
    assert says in explained
