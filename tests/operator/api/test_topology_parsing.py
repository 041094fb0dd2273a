"""A StreamTopology's spec becomes a value once, with the CRD's defaults."""

from typing import Any

import pytest

from thalweg_operator.api.fields import InvalidManifest
from thalweg_operator.api.topology import (
    Binding,
    BudgetSpec,
    EdgeSpec,
    GroupingSpec,
    MetricsSpec,
    Mode,
    PlacementSpec,
    Processes,
    ReplicasSpec,
    ScalingSpec,
    TopologySpec,
    VertexSpec,
    parse_topology,
)
from thalweg_scheduling.model.graph import GroupingType

TEMPLATE = {"spec": {"containers": [{"image": "a"}]}}
LEAST: dict[str, Any] = {"vertices": [{"name": "read", "template": TEMPLATE}]}

FULL: dict[str, Any] = {
    "strategy": "Even",
    "mode": "Auto",
    "suspend": True,
    "vertices": [
        {
            "name": "read",
            "replicas": {"min": 1, "max": 8, "initial": 2},
            "template": TEMPLATE,
            "rollout": {"maxSurge": 3},
        },
        {"name": "count", "template": TEMPLATE},
    ],
    "edges": [{"from": "read", "to": "count", "grouping": {"type": "Fields", "keys": ["a", "b"]}}],
    "placement": {
        "mode": "Approve",
        "binding": "Domain",
        "processes": "Shared",
        "domainLabel": "rack",
        "minDomains": 2,
        "maxSharePercent": 60,
        "minGainPercent": 0,
    },
    "scaling": {
        "mode": "Off",
        "targetUtilizationPercent": 80,
        "backlogSeconds": 30,
        "scaleDownAfterSeconds": 0,
        "cooldownSeconds": 0,
        "maxUpFactor": 2,
        "maxDownPercent": 50,
    },
    "grouping": {"mode": "Recommend"},
    "hibernation": {"mode": "Off"},
    "disruption": {
        "budgets": [
            {
                "maxMoves": 0,
                "schedule": "0 9 * * 1-5",
                "timeZone": "Europe/Berlin",
                "durationSeconds": 3600,
            }
        ]
    },
    "metrics": {"source": "prod", "preset": "flink", "staleAfterSeconds": 90},
}
FULL_VALUE = TopologySpec(
    strategy="Even",
    mode=Mode.AUTO,
    suspend=True,
    vertices=(
        VertexSpec(
            name="read",
            replicas=ReplicasSpec(min=1, max=8, initial=2),
            template=TEMPLATE,
            max_surge=3,
        ),
        VertexSpec(name="count", replicas=ReplicasSpec(), template=TEMPLATE),
    ),
    edges=(
        EdgeSpec(
            source="read",
            target="count",
            grouping=GroupingSpec(type=GroupingType.FIELDS, keys=("a", "b")),
        ),
    ),
    placement=PlacementSpec(
        mode=Mode.APPROVE,
        binding=Binding.DOMAIN,
        processes=Processes.SHARED,
        domain_label="rack",
        min_domains=2,
        max_share_percent=60,
        min_gain_percent=0,
    ),
    scaling=ScalingSpec(
        mode=Mode.OFF,
        target_utilization_percent=80,
        backlog_s=30,
        scale_down_after_s=0,
        cooldown_s=0,
        max_up_factor=2,
        max_down_percent=50,
    ),
    grouping_mode=Mode.RECOMMEND,
    hibernation_mode=Mode.OFF,
    budgets=(
        BudgetSpec(max_moves=0, schedule="0 9 * * 1-5", time_zone="Europe/Berlin", duration_s=3600),
    ),
    metrics=MetricsSpec(source="prod", preset="flink", stale_after_s=90),
)


def test_the_least_topology() -> None:
    assert parse_topology(LEAST) == TopologySpec(
        vertices=(VertexSpec(name="read", replicas=ReplicasSpec(), template=TEMPLATE),)
    )


def test_a_full_topology() -> None:
    assert parse_topology(FULL) == FULL_VALUE


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ({}, ReplicasSpec(min=1, max=1, initial=1)),
        ({"min": 3}, ReplicasSpec(min=3, max=3, initial=3)),
        ({"max": 8}, ReplicasSpec(min=1, max=8, initial=1)),
        ({"initial": 3}, ReplicasSpec(min=1, max=3, initial=3)),
        ({"min": 2, "max": 8, "initial": 4}, ReplicasSpec(min=2, max=8, initial=4)),
    ],
    ids=str,
)
def test_replicas_grow_only_where_the_user_says_so(
    written: dict[str, int], meant: ReplicasSpec
) -> None:
    vertex = {"name": "read", "template": TEMPLATE, "replicas": written}
    assert parse_topology({"vertices": [vertex]}).vertices[0].replicas == meant


@pytest.mark.parametrize("mode", list(Mode))
def test_parts_without_a_mode_follow_the_topology(mode: Mode) -> None:
    parsed = parse_topology({**LEAST, "mode": mode.value})
    modes = {
        parsed.mode,
        parsed.placement.mode,
        parsed.scaling.mode,
        parsed.grouping_mode,
        parsed.hibernation_mode,
    }
    assert modes == {mode}


def test_the_template_cannot_be_changed_by_accident() -> None:
    template = parse_topology(LEAST).vertices[0].template
    with pytest.raises(TypeError):
        template["spec"] = {}  # type: ignore[index]


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        ([], "spec must be an object"),
        ({"vertices": "read"}, "spec.vertices must be a list"),
        ({"vertices": ["read"]}, r"spec\.vertices\[0\] must be an object"),
        ({"vertices": [{"template": TEMPLATE}]}, r"spec\.vertices\[0\]\.name must be a string"),
        ({"vertices": [{"name": "a"}]}, r"spec\.vertices\[0\]\.template must be an object"),
        ({**LEAST, "suspend": "yes"}, "spec.suspend must be true or false"),
        ({**LEAST, "mode": "On"}, "spec.mode must be one of Off, Recommend, Approve, Auto, not"),
        ({**LEAST, "mode": False}, 'spec.mode must be one of .*; write "Off" in quotes'),
        ({**LEAST, "placement": {"binding": "Rack"}}, "spec.placement.binding must be one of"),
        ({**LEAST, "placement": {"minDomains": True}}, "minDomains must be a whole number"),
        ({**LEAST, "placement": {"minDomains": "2"}}, "minDomains must be a whole number"),
        ({**LEAST, "scaling": 3}, "spec.scaling must be an object"),
        ({**LEAST, "edges": [{"from": "a"}]}, r"spec\.edges\[0\]\.to must be a string"),
        (
            {**LEAST, "edges": [{"from": "a", "to": "b", "grouping": {"keys": "word"}}]},
            r"grouping\.keys must be a list of strings",
        ),
        (
            {**LEAST, "edges": [{"from": "a", "to": "b", "grouping": {"type": "Any"}}]},
            r"grouping\.type must be one of Shuffle, Fields",
        ),
        ({**LEAST, "disruption": {"budgets": [{}]}}, r"maxMoves must be a whole number"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_named(spec: Any, says: str) -> None:
    with pytest.raises(InvalidManifest, match=says):
        parse_topology(spec)
