"""The CRD, the parser and the planner say the same, each in its own place."""

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from crds.schema import Schema
from crds.topology import GROUPINGS, STRATEGIES, topology
from crds.topology_policy import MODES
from thalweg_operator.api.topology import Mode, parse_topology
from thalweg_scheduling.model.graph import GroupingType
from thalweg_scheduling.model.limits import PlacementLimits, ScalingLimits, Trust
from thalweg_scheduling.strategies import STRATEGIES as AVAILABLE

TEMPLATE = {"spec": {"containers": [{"image": "a"}]}}
SPEC: Schema = topology()["properties"]["spec"]
PARTS = ("placement", "scaling", "grouping", "hibernation", "metrics")


def with_defaults(value: Any, schema: Schema) -> Any:
    """What the API server makes of a value; null stands for missing."""
    if isinstance(value, list):
        return [with_defaults(item, schema["items"]) for item in value]
    if not isinstance(value, dict):
        return value
    filled = dict(value)
    for name, inner in schema.get("properties", {}).items():
        if name not in filled and "default" in inner:
            filled[name] = copy.deepcopy(inner["default"])
        if name in filled:
            filled[name] = with_defaults(filled[name], inner)
    return filled


def scalars(schema: Schema) -> st.SearchStrategy[Any]:
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    if schema["type"] == "integer":
        return st.integers(schema["minimum"], schema["maximum"])
    return st.sampled_from(["a", "b-1"])


def records(schema: Schema) -> st.SearchStrategy[dict[str, Any]]:
    fields = {name: scalars(inner) for name, inner in schema["properties"].items()}
    return st.fixed_dictionaries({}, optional=fields)


@settings(max_examples=50)
@given(
    parts=st.fixed_dictionaries(
        {}, optional={name: records(SPEC["properties"][name]) for name in PARTS}
    ),
    replicas=records(SPEC["properties"]["vertices"]["items"]["properties"]["replicas"]),
    top=st.fixed_dictionaries(
        {},
        optional={
            "mode": scalars(SPEC["properties"]["mode"]),
            "strategy": scalars(SPEC["properties"]["strategy"]),
            "suspend": st.booleans(),
        },
    ),
)
def test_a_file_means_what_it_means_in_a_cluster(
    parts: dict[str, Any], replicas: dict[str, int], top: dict[str, Any]
) -> None:
    spec = {
        **top,
        **parts,
        "vertices": [
            {"name": "a", "template": TEMPLATE, "replicas": replicas},
            {"name": "b", "template": TEMPLATE},
        ],
        "edges": [{"from": "a", "to": "b"}],
    }
    in_cluster = with_defaults(spec, SPEC)
    # The container's default name is for the API server alone; the template is passed on as it is.
    for vertex in in_cluster["vertices"]:
        vertex["template"] = TEMPLATE
    assert parse_topology(spec) == parse_topology(in_cluster)


def test_groupings_are_the_planners() -> None:
    assert tuple(GroupingType) == GROUPINGS


def test_modes_are_the_parsers() -> None:
    assert tuple(Mode) == MODES


def test_every_strategy_of_the_planner_can_be_named() -> None:
    assert set(AVAILABLE) <= set(STRATEGIES)


def test_limits_default_as_the_planners_do() -> None:
    spec = parse_topology({"vertices": [{"name": "a", "template": TEMPLATE}]})
    placement, scaling = PlacementLimits(), ScalingLimits()
    assert (
        spec.placement.min_domains,
        spec.placement.max_share_percent,
        spec.placement.min_gain_percent,
    ) == (placement.min_domains, placement.max_share_percent, placement.min_gain_percent)
    assert spec.scaling.target_utilization_percent / 100 == pytest.approx(
        scaling.target_utilization
    )
    assert (
        spec.scaling.max_up_factor,
        spec.scaling.max_down_percent / 100,
        spec.scaling.backlog_s,
        spec.scaling.scale_down_after_s,
        spec.scaling.cooldown_s,
    ) == (
        scaling.max_step_up,
        scaling.max_down_share,
        scaling.backlog_seconds,
        scaling.scale_down_after_s,
        scaling.cool_down_s,
    )
    assert spec.metrics.stale_after_s == Trust().stale_after_s
